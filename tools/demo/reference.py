"""Answers questions with an exported checkpoint folder in PyTorch, to score it without the engine.

Reads the published layout and the MLX affine layout (whose groups it expands again).
"""

import json
import os

import torch
from PIL import Image
from safetensors.torch import load_file

import numpy as np
from batches import Renderer
from geometry import MERGE, PATCH, patch_rows, smart_resize
from model import Dims, MageVl


def _expand(weight, scales, biases, bits):
    """MLX affine groups -> float32: value = scale * code + bias, codes from the low bits up."""
    codes = weight.view(torch.int32).unsqueeze(-1) >> torch.arange(0, 32, bits, dtype=torch.int32)
    codes = (codes & ((1 << bits) - 1)).flatten(1).float()
    groups = scales.shape[1]
    codes = codes.view(codes.shape[0], groups, -1)
    return (codes * scales.float()[..., None] + biases.float()[..., None]).flatten(1)


def _plain_tensors(folder, config):
    raw = load_file(os.path.join(folder, "model.safetensors"))
    renames = {
        "vision_tower.": "visual.",
        "model.visual.": "visual.",
        "language_model.lm_head.": "lm_head.",
        "language_model.model.": "language_model.",
        "model.language_model.": "language_model.",
    }
    mlx, result = any(n.startswith("vision_tower.") for n in raw), {}
    for name, value in raw.items():
        stem = name.rsplit(".", 1)[0]
        if name.endswith((".scales", ".biases")):
            continue
        if stem + ".scales" in raw:
            bits = config["quantization"]["bits"]
            value = _expand(value, raw[stem + ".scales"], raw[stem + ".biases"], bits)
        if name.endswith("patch_embedding.weight"):
            value = (value.permute(0, 3, 1, 2) if mlx else value).reshape(value.shape[0], -1)
        for old, new in renames.items():
            if name.startswith(old):
                name = new + name[len(old) :]
                break
        result[name] = value.float()
    return result


def load(folder):
    """(model, renderer, preprocessor settings) of a checkpoint folder."""
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    with open(os.path.join(folder, "preprocessor_config.json")) as f:
        preprocessor = json.load(f)
    t, v = config["text_config"], config["vision_config"]
    dims = Dims(
        v["hidden_size"], v["num_hidden_layers"], v["num_attention_heads"], v["intermediate_size"],
        t["hidden_size"], t["num_hidden_layers"], t["num_attention_heads"],
        t["num_key_value_heads"], t["head_dim"], t["intermediate_size"], t["vocab_size"],
        v["rope_theta"], t["rope_parameters"]["rope_theta"], t["rms_norm_eps"],
    )  # fmt: skip
    model = MageVl(dims).eval()
    missing, unexpected = model.load_state_dict(_plain_tensors(folder, config), strict=False)
    if unexpected or any(not name.startswith("aux_") for name in missing):
        raise ValueError(f"{folder}: missing {missing}, unexpected {unexpected}")
    return model, Renderer(os.path.join(folder, "tokenizer.json")), preprocessor


def read_picture(path, preprocessor):
    image = Image.open(path).convert("RGB")
    low, high = preprocessor["min_pixels"], preprocessor["max_pixels"]
    height, width = smart_resize(image.height, image.width, PATCH * MERGE, low, high)
    if image.size != (width, height):
        image = image.resize((width, height), Image.BICUBIC)
    return np.asarray(image)


@torch.no_grad()
def answer_all(folder, items, limit=24):
    """Greedy answers to items [(picture path, question)], batched where sizes and lengths agree."""
    model, renderer, preprocessor = load(folder)
    groups, answers = {}, [None] * len(items)
    for i, (path, question) in enumerate(items):
        pixels, tokens = read_picture(path, preprocessor), renderer.ids(question) + renderer.ask
        groups.setdefault((pixels.shape, len(tokens)), []).append((i, pixels, tokens))
    for (shape, _), members in groups.items():
        grid = (shape[0] // PATCH, shape[1] // PATCH)
        rows = torch.from_numpy(patch_rows(np.stack([m[1] for m in members])))
        visual = model.visual(rows, grid)
        prefix = renderer.prefix(visual.shape[1])
        ids = torch.tensor([prefix + m[2] for m in members])
        begin, ended = ids.shape[1], torch.zeros(len(members), dtype=torch.bool)
        for _ in range(limit):
            n = ids.shape[1]
            embeds = model.embed(ids, visual, len(renderer.start))
            mask = torch.ones(n, n, dtype=torch.bool).tril()[None, None]
            select = torch.zeros(ids.shape, dtype=torch.bool)
            select[:, -1] = True
            following = model.decode(embeds, torch.arange(n)[None], mask, select).argmax(-1)
            ids = torch.cat([ids, following[:, None]], 1)
            ended |= following == renderer.end
            if ended.all():
                break
        for (i, _, _), row in zip(members, ids[:, begin:].tolist()):
            stop = row.index(renderer.end) if renderer.end in row else len(row)
            answers[i] = renderer.text(row[:stop])
    return answers
