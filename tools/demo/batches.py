"""Turns scenes and questions into training batches.

All conversations about one picture share its prefix (system turn and visual tokens); a segment mask
lets each of them see the prefix and itself only, exactly as if it stood alone.
"""

from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer

from draw import cell_labels, make_scene, render_for_model
from geometry import CELL, MERGE, patch_rows, smart_resize
from questions import conversation_set
from tokenizer import SYSTEM

IGNORE = -100


class Renderer:
    """Token ids of prompts, rendered as the chat template renders them."""

    def __init__(self, path):
        self.tok = Tokenizer.from_file(path)
        start = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n<|vision_start|>"
        self.start = self.ids(start)
        self.image = self.tok.token_to_id("<|image_pad|>")
        self.vision_end = self.tok.token_to_id("<|vision_end|>")
        self.end = self.tok.token_to_id("<|im_end|>")
        self.ask = self.ids("<|im_end|>\n<|im_start|>assistant\n")
        self.again = self.ids("<|im_end|>\n<|im_start|>user\n")[1:]  # <|im_end|> closes the answer

    def ids(self, text):
        return self.tok.encode(text).ids

    def prefix(self, visual_tokens):
        return self.start + [self.image] * visual_tokens + [self.vision_end]

    def conversation(self, turns):
        """(ids, labels): labels[i] is the token that has to follow ids[i], or IGNORE."""
        ids, labels = [], []
        for i, turn in enumerate(turns):
            question = (self.again if i else []) + self.ids(turn.question) + self.ask
            answer = self.ids(turn.answer) + [self.end]
            labels += [IGNORE] * (len(question) - 1) + answer + [IGNORE]
            ids += question + answer
        return ids, labels

    def text(self, ids):
        return self.tok.decode(ids)


@dataclass
class Batch:
    rows: torch.Tensor  # [B, patches, 768]
    grid: tuple  # in patches
    kind: torch.Tensor  # [B, cells]
    color: torch.Tensor  # [B, cells]
    box: torch.Tensor  # [B, cells, 4]
    ids: torch.Tensor = None  # [B, n]
    positions: torch.Tensor = None  # [B, n]
    labels: torch.Tensor = None  # [B, n]
    mask: torch.Tensor = None  # [B, 1, n, n], True where attention is allowed
    segments: torch.Tensor = None  # [B, n]: 0 prefix, 1.. conversations, -1 padding
    tasks: list = None  # per picture, per conversation: its task names
    start: int = 0  # where the visual tokens begin


def vision_batch(scenes, rng, exact_share=0.25):
    pixels = []
    for scene in scenes:
        image = render_for_model(scene, rng.random() < exact_share)
        if rng.random() < 0.2:  # what lossy compression and cameras leave behind
            generator = np.random.default_rng(rng.getrandbits(32))
            noise = generator.normal(0, rng.uniform(1, 5), image.shape)
            image = np.clip(image + noise, 0, 255).astype(np.uint8)
        pixels.append(image)
    height, width = smart_resize(scenes[0].height, scenes[0].width)
    kind, color, box = (torch.from_numpy(np.stack(x)) for x in zip(*map(cell_labels, scenes)))
    rows = torch.from_numpy(patch_rows(np.stack(pixels)))
    return Batch(rows, (height // CELL * MERGE, width // CELL * MERGE), kind, color, box)


def add_text(batch, renderer, conversations):
    """Adds the token side of a batch; `conversations` holds a list of them for each picture."""
    cells = batch.kind.shape[1]
    columns = {"ids": [], "positions": [], "labels": [], "segments": []}
    for picture in conversations:
        ids = renderer.prefix(cells)
        shared = len(ids)
        positions, labels, segments = list(range(shared)), [IGNORE] * shared, [0] * shared
        for number, turns in enumerate(picture):
            more, wanted = renderer.conversation(turns)
            ids += more
            labels += wanted
            positions += range(shared, shared + len(more))
            segments += [number + 1] * len(more)
        for name, values in zip(columns, (ids, positions, labels, segments)):
            columns[name].append(values)
    longest = max(map(len, columns["ids"]))
    fill = {"ids": 0, "positions": 0, "labels": IGNORE, "segments": -1}
    for name, lists in columns.items():
        padded = [v + [fill[name]] * (longest - len(v)) for v in lists]
        setattr(batch, name, torch.tensor(padded))
    seg = batch.segments
    visible = (seg[:, None] == 0) | (seg[:, None] == seg[:, :, None])
    batch.mask = (visible & torch.ones(longest, longest, dtype=torch.bool).tril())[:, None]
    batch.tasks = [[[t.task for t in turns] for turns in picture] for picture in conversations]
    batch.start = len(renderer.start)
    return batch


def random_scenes(rng, sizes, how_many, cache, **options):
    grid = rng.choice(list(sizes))
    options["cache"] = cache
    return [make_scene(rng, rng.choice(sizes[grid]), **options) for _ in range(how_many)]


def training_batch(rng, sizes, renderer, how_many, cache):
    scenes = random_scenes(rng, sizes, how_many, cache)
    batch = vision_batch(scenes, rng)
    return add_text(batch, renderer, [conversation_set(rng, s, 5) for s in scenes])
