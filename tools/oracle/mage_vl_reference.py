"""Mage-VL for still pictures in plain PyTorch: float32, no kernels, one stage after another.

Written from the model's published description, not from the engine, so that the two can be held
against each other. The decoder is transformers' own Qwen3. `MageVlReference.stages` names its
results as `mlxcel dump` does.

    reference = MageVlReference.load("Mage-VL")
    prompt = reference.prepare(messages, [Image.open("cat.png")])
    stages = reference.stages(prompt)             # {"vision.patch_embed": [patches, hidden], ...}
    tokens, gaps = reference.greedy(prompt, 32)   # gaps: by how much each token won
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx
import numpy as np
import torch
import torch.nn.functional as F
from jinja2.sandbox import ImmutableSandboxedEnvironment
from PIL import Image
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import Qwen3Config, Qwen3ForCausalLM

MAX_ASPECT_RATIO = 200
MLX_NAMES = [
    ("vision_tower.", "model.visual."),
    ("language_model.model.", "model.language_model."),
    ("language_model.lm_head.", "lm_head."),
]


# ---- weights -------------------------------------------------------------------------------------


def _dequantize(weight, scales, biases, bits, group_size):
    """MLX affine groups as float32, whatever the element type of the scales."""
    as_mx = lambda t: mx.array(t.numpy())
    values = mx.dequantize(
        as_mx(weight), as_mx(scales.float()), as_mx(biases.float()), group_size, bits
    )
    return torch.from_numpy(np.array(values))


def read_weights(folder):
    """All tensors of a checkpoint in float32 under their hub names, quantised ones expanded."""
    folder = Path(folder)
    quantization = json.loads((folder / "config.json").read_text()).get("quantization", {})
    raw = {}
    for file in sorted(folder.glob("*.safetensors")):
        raw.update(load_file(file))
    weights = {}
    for name, value in raw.items():
        module = name.rsplit(".", 1)[0]
        if name.endswith((".scales", ".biases")):
            continue
        if module + ".scales" in raw:
            spec = quantization.get(module, quantization)
            value = _dequantize(
                value,
                raw[module + ".scales"],
                raw[module + ".biases"],
                spec["bits"],
                spec["group_size"],
            )
        for theirs, ours in MLX_NAMES:
            if name.startswith(theirs):
                name = ours + name[len(theirs) :]
                if name.endswith("patch_embedding.weight"):
                    value = value.permute(0, 3, 1, 2)  # channels last -> [out, channels, y, x]
                break
        weights[name] = value.float().contiguous()
    return weights


# ---- pictures ------------------------------------------------------------------------------------


def smart_resize(height, width, factor, min_pixels, max_pixels):
    """The size in multiples of `factor` whose area lies within the bounds."""
    if max(height, width) / min(height, width) > MAX_ASPECT_RATIO:
        raise ValueError(f"aspect ratio of {width}x{height} is above {MAX_ASPECT_RATIO}")
    new_height = round(height / factor) * factor  # Python rounds halves to even, and so it must be
    new_width = round(width / factor) * factor
    if new_height * new_width > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        new_height = max(factor, math.floor(height / shrink / factor) * factor)
        new_width = max(factor, math.floor(width / shrink / factor) * factor)
    elif new_height * new_width < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        new_height = math.ceil(height * grow / factor) * factor
        new_width = math.ceil(width * grow / factor) * factor
    return new_height, new_width


def merge_order(grid, merge):
    """(t, row, column) of each patch: the patches of one merge window follow one another."""
    t, h, w = grid
    return [
        (frame, block_row * merge + row, block_column * merge + column)
        for frame in range(t)
        for block_row in range(h // merge)
        for block_column in range(w // merge)
        for row in range(merge)
        for column in range(merge)
    ]


def preprocess(picture, settings):
    """A picture as patch rows [patches, channels * y * x] and its grid (t, h, w) in patches."""
    patch, merge = settings["patch_size"], settings["merge_size"]
    picture = picture.convert("RGB")
    width, height = picture.size
    size = smart_resize(
        height, width, patch * merge, settings["min_pixels"], settings["max_pixels"]
    )
    if size != (height, width):
        picture = picture.resize((size[1], size[0]), Image.BICUBIC)
    pixels = np.asarray(picture, np.float32) * np.float32(settings["rescale_factor"])
    mean = np.asarray(settings["image_mean"], np.float32)
    std = np.asarray(settings["image_std"], np.float32)
    pixels = (pixels - mean) / std
    grid = (1, size[0] // patch, size[1] // patch)
    rows = []
    for _, row, column in merge_order(grid, merge):
        y, x = row * patch, column * patch
        rows.append(pixels[y : y + patch, x : x + patch].transpose(2, 0, 1).reshape(-1))
    return torch.from_numpy(np.stack(rows)), grid


# ---- the tower -----------------------------------------------------------------------------------


class MageVision:
    """Mage-ViT and its merger: patch rows -> one row for each window of 2 x 2 patches."""

    def __init__(self, config, weights):
        refused = config["use_patch_position_encoding"] or config["use_head"]
        if refused or config["layer_norm_type"] != "layer_norm" or config["hidden_act"] != "gelu":
            raise ValueError("not the published Mage-ViT")
        prefix = "model.visual."
        self.config = config
        self.weights = {k[len(prefix) :]: v for k, v in weights.items() if k.startswith(prefix)}

    def _norm(self, x, name):
        weight, bias = self.weights[name + ".weight"], self.weights[name + ".bias"]
        return F.layer_norm(x, x.shape[-1:], weight, bias, self.config["layer_norm_eps"])

    def _linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def _angles(self, positions):
        """[patches, head_dim]: t, h and w share half of it as 4 : 6 : 6; the half stands twice."""
        head_dim = self.config["hidden_size"] // self.config["num_attention_heads"]
        unit = head_dim // 2 // 16
        parts = []
        for axis, size in enumerate((4 * unit, 6 * unit, 6 * unit)):
            exponent = torch.arange(size, dtype=torch.float32) / size
            frequency = torch.tensor(self.config["rope_theta"], dtype=torch.float32) ** -exponent
            parts.append(positions[:, axis : axis + 1].float() * frequency)
        half = torch.cat(parts, -1)
        return torch.cat([half, half], -1)

    def _mask(self, grids):
        """0 where two patches see each other: same picture, same window of frames; else -inf."""
        window = self.config["frame_windows_size"]
        sizes = []
        for t, h, w in grids:
            sizes += [min(window, t - first) * h * w for first in range(0, t, window)]
        block = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        return torch.where(block[:, None] == block[None], 0.0, float("-inf"))

    def __call__(self, rows, grids, stages):
        hidden, heads = self.config["hidden_size"], self.config["num_attention_heads"]
        count, head_dim, merge = len(rows), hidden // heads, self.config["spatial_merge_size"]
        positions = torch.tensor([p for grid in grids for p in merge_order(grid, merge)])
        angles = self._angles(positions)
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        mask = self._mask(grids)

        def rotate(x):  # adjacent lanes are a pair: (-x2, x1, -x4, x3, ...)
            turned = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
            return x * cos + turned * sin

        stages["pixel_values"] = rows
        stages["vision.position_ids"] = positions
        x = F.linear(rows, self.weights["embeddings.patch_embedding.weight"].reshape(hidden, -1))
        stages["vision.patch_embed"] = x
        x = self._norm(x, "layernorm_pre")
        stages["vision.layernorm_pre"] = x
        for i in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layers.{i}."
            qkv = self._linear(self._norm(x, layer + "layer_norm1"), layer + "self_attn.qkv")
            q, k, v = qkv.reshape(count, 3, heads, head_dim).unbind(1)
            q, k, v = rotate(q).transpose(0, 1), rotate(k).transpose(0, 1), v.transpose(0, 1)
            weights = (q @ k.transpose(1, 2) * head_dim**-0.5 + mask).softmax(-1)
            attended = (weights @ v).transpose(0, 1).reshape(count, hidden)
            x = x + self._linear(attended, layer + "self_attn.proj")
            inner = self._linear(self._norm(x, layer + "layer_norm2"), layer + "mlp.fc1")
            x = x + self._linear(F.gelu(inner), layer + "mlp.fc2")
            stages[f"vision.block.{i}"] = x
        folded = self._norm(x, "merger.ln_q").reshape(count // merge**2, merge**2 * hidden)
        merged = self._linear(F.gelu(self._linear(folded, "merger.mlp.0")), "merger.mlp.2")
        stages["vision.merger"] = merged
        return merged


# ---- the decoder ---------------------------------------------------------------------------------


def decoder_stages(model, embeds, stages):
    """Runs a Qwen3ForCausalLM on embeddings [tokens, hidden]; records what `mlxcel dump` does."""

    def keep(name):
        def hook(_, args):
            stages[name] = args[0][0]

        return hook

    layers = list(model.model.layers)
    hooks = [
        module.register_forward_pre_hook(keep(f"decoder.hidden.{i}"))
        for i, module in enumerate(layers + [model.model.norm])
    ]
    hooks.append(model.lm_head.register_forward_pre_hook(keep("decoder.norm")))
    stages["inputs_embeds"] = embeds
    stages["logits"] = model(inputs_embeds=embeds[None]).logits[0]
    for hook in hooks:
        hook.remove()


def greedy(model, embeds, count):
    """`count` greedy tokens after embeddings [tokens, hidden]: no end, nothing suppressed. Yields
    each token and the distance of its logit from the next best."""
    step = model(inputs_embeds=embeds[None], use_cache=True)
    for _ in range(count):
        best = step.logits[0, -1].topk(2)
        token = best.indices[:1]
        yield token.item(), (best.values[0] - best.values[1]).item()
        step = model(input_ids=token[None], cache=step.cache, use_cache=True)


def qwen3(config, weights):
    """transformers' Qwen3ForCausalLM from a text config and weights named as it names them."""
    config = {k: v for k, v in config.items() if k != "dtype"}
    model = Qwen3ForCausalLM(Qwen3Config(**config, attn_implementation="eager")).float().eval()
    found = model.model.rotary_emb.config.rope_parameters["rope_theta"]
    if found != config["rope_parameters"]["rope_theta"]:
        raise ValueError(f"the rope base was lost: {found}")
    model.load_state_dict(weights, strict=not config["tie_word_embeddings"])
    return model


# ---- the whole -----------------------------------------------------------------------------------


@dataclass
class Prompt:
    token_ids: list  # placeholders expanded
    rows: torch.Tensor  # of all pictures, or None
    grids: list  # (t, h, w) of each picture


class MageVlReference:
    def __init__(self, config, weights, settings, tokenizer, chat_template):
        self.config, self.settings, self.tokenizer = config, settings, tokenizer
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        self.chat_template = environment.from_string(chat_template)
        self.vision = MageVision(config["vision_config"], weights)
        prefix = "model.language_model."
        self.model = qwen3(
            config["text_config"],
            {
                ("model." + k[len(prefix) :] if k.startswith(prefix) else k): v
                for k, v in weights.items()
                if not k.startswith("model.visual.")
            },
        )

    @classmethod
    def load(cls, folder, rope_theta=None):
        """`rope_theta` replaces the decoder's, to show what a wrong one does."""
        folder = Path(folder)
        config = json.loads((folder / "config.json").read_text())
        if rope_theta is not None:
            config["text_config"]["rope_parameters"]["rope_theta"] = rope_theta
        return cls(
            config,
            read_weights(folder),
            json.loads((folder / "preprocessor_config.json").read_text()),
            Tokenizer.from_file(str(folder / "tokenizer.json")),
            (folder / "chat_template.jinja").read_text(),
        )

    def prepare(self, messages, pictures):
        """Messages as chat templates take them; one picture for each {"type": "image"}."""
        text = self.chat_template.render(messages=messages, add_generation_prompt=True)
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        cut = [preprocess(picture, self.settings) for picture in pictures]
        grids = [grid for _, grid in cut]
        remaining, expanded = iter(grids), []
        for token in ids:
            copies = 1
            if token == self.config["image_token_id"]:
                copies = math.prod(next(remaining)) // self.settings["merge_size"] ** 2
            expanded += [token] * copies
        if next(remaining, None) is not None:
            raise ValueError("more pictures than placeholders")
        return Prompt(expanded, torch.cat([rows for rows, _ in cut]) if cut else None, grids)

    def embed(self, prompt, stages=None):
        """The decoder's input [tokens, hidden], the rows of the pictures in place."""
        stages = {} if stages is None else stages
        ids = torch.tensor(prompt.token_ids)
        embeds = self.model.get_input_embeddings()(ids)
        if prompt.grids:
            embeds[ids == self.config["image_token_id"]] = self.vision(
                prompt.rows, prompt.grids, stages
            )
        return embeds

    @torch.no_grad()
    def stages(self, prompt):
        stages = {
            "input_ids": torch.tensor(prompt.token_ids),
            "position_ids": torch.arange(len(prompt.token_ids)),
        }
        if prompt.grids:
            stages["grid_thw"] = torch.tensor(prompt.grids)
        decoder_stages(self.model, self.embed(prompt, stages), stages)
        return stages

    @torch.no_grad()
    def greedy(self, prompt, count):
        tokens, gaps = zip(*greedy(self.model, self.embed(prompt), count))
        return list(tokens), list(gaps)
