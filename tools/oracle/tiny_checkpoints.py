"""Small random checkpoints in the published layouts: Mage-VL (hub, MLX, MLX quantised) and Qwen3.

The weights are rounded to bfloat16 and stored as such. Widened again they are exact, so a reference
and an engine that both compute in float32 start from the same numbers.
"""

import copy
import json
import math
import shutil

import mlx.core as mx
import torch
from safetensors.torch import load_file, save_file

import tiny_tokenizer

VOCAB = 640  # more than the tokeniser has, as in the published checkpoints
TEXT = dict(hidden=128, layers=3, heads=4, kv_heads=2, head_dim=64, ffn=192)
VISION = dict(hidden=64, layers=3, heads=2, ffn=128, patch=16)
# Larger than in the published checkpoints, so that a wrong one shows in the results.
RMS_NORM_EPS = 2e-3
LAYER_NORM_EPS = 1e-3
MAGE_SEED = 7
QWEN3_SEED = 11

# What mlx-vlm writes for a mixed recipe: a default, and modules that differ.
MIXED = {
    "group_size": 64,
    "bits": 4,
    "mode": "affine",
    "language_model.model.embed_tokens": {"group_size": 64, "bits": 8},
    "language_model.lm_head": {"group_size": 32, "bits": 8},
    "language_model.model.layers.0.self_attn.v_proj": {"group_size": 64, "bits": 8},
    "language_model.model.layers.0.mlp.down_proj": {"group_size": 64, "bits": 8},
    "language_model.model.layers.1.self_attn.q_proj": {"group_size": 32, "bits": 4},
    "language_model.model.layers.1.self_attn.k_proj": {"group_size": 32, "bits": 4},
    "language_model.model.layers.1.mlp.up_proj": {"group_size": 32, "bits": 4},
    "language_model.model.layers.2.self_attn.o_proj": {"group_size": 32, "bits": 8},
    "language_model.model.layers.2.mlp.gate_proj": False,
}
QUANTISED = {
    "8bit": {"group_size": 64, "bits": 8, "mode": "affine"},
    "4bit": {"group_size": 64, "bits": 4, "mode": "affine"},
    "mixed": MIXED,
}


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def save(tensors, path, format):
    save_file({k: v.contiguous() for k, v in tensors.items()}, path, metadata={"format": format})
    path.chmod(0o644)


# ---- random weights ------------------------------------------------------------------------------


def random_weights(shapes, seed, tied=False):
    """Gains are such that attention is sharp, pictures matter, and greedy answers vary."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name in sorted(shapes):
        shape = shapes[name]
        noise = torch.randn(shape, generator=generator)
        if "q_norm" in name:
            value = 1.8 + 0.2 * noise
        elif len(shape) == 1 and name.endswith("weight"):
            value = 1 + 0.15 * noise
        elif len(shape) == 1:
            value = 0.1 * noise
        elif "embed_tokens" in name:
            value = noise * (4 / math.sqrt(shape[1]) if tied else 1)
        elif "lm_head" in name:
            value = noise * 4 / math.sqrt(shape[1])
        else:
            gain = 1.0
            if any(part in name for part in ("q_proj", "k_proj", "qkv")):
                gain = 1.6
            elif "mlp.down_proj" in name:
                gain = 2.5
            value = noise * gain / math.sqrt(math.prod(shape[1:]))
        weights[name] = value.to(torch.bfloat16)
    return weights


def qwen3_shapes(prefix, c):
    q, kv = c["heads"] * c["head_dim"], c["kv_heads"] * c["head_dim"]
    shapes = {prefix + "embed_tokens.weight": (VOCAB, c["hidden"])}
    for i in range(c["layers"]):
        layer = f"{prefix}layers.{i}."
        shapes |= {
            layer + "input_layernorm.weight": (c["hidden"],),
            layer + "self_attn.q_proj.weight": (q, c["hidden"]),
            layer + "self_attn.k_proj.weight": (kv, c["hidden"]),
            layer + "self_attn.v_proj.weight": (kv, c["hidden"]),
            layer + "self_attn.o_proj.weight": (c["hidden"], q),
            layer + "self_attn.q_norm.weight": (c["head_dim"],),
            layer + "self_attn.k_norm.weight": (c["head_dim"],),
            layer + "post_attention_layernorm.weight": (c["hidden"],),
            layer + "mlp.gate_proj.weight": (c["ffn"], c["hidden"]),
            layer + "mlp.up_proj.weight": (c["ffn"], c["hidden"]),
            layer + "mlp.down_proj.weight": (c["hidden"], c["ffn"]),
        }
    shapes[prefix + "norm.weight"] = (c["hidden"],)
    return shapes


def vision_shapes(prefix, c, text_hidden):
    hidden, ffn, folded = c["hidden"], c["ffn"], 4 * c["hidden"]

    def norm(name):
        return {f"{prefix}{name}.{part}": (hidden,) for part in ("weight", "bias")}

    def linear(name, rows, columns):
        return {f"{prefix}{name}.weight": (rows, columns), f"{prefix}{name}.bias": (rows,)}

    kernel = (hidden, 3, c["patch"], c["patch"])
    shapes = {prefix + "embeddings.patch_embedding.weight": kernel}
    shapes |= norm("layernorm_pre")
    for i in range(c["layers"]):
        layer = f"encoder.layers.{i}."
        shapes |= norm(layer + "layer_norm1") | norm(layer + "layer_norm2")
        shapes |= linear(layer + "self_attn.qkv", 3 * hidden, hidden)
        shapes |= linear(layer + "self_attn.proj", hidden, hidden)
        shapes |= linear(layer + "mlp.fc1", ffn, hidden)
        shapes |= linear(layer + "mlp.fc2", hidden, ffn)
    shapes |= norm("merger.ln_q")
    shapes |= linear("merger.mlp.0", folded, folded)
    shapes |= linear("merger.mlp.2", text_hidden, folded)
    return shapes


# ---- configs -------------------------------------------------------------------------------------


def text_config(c, tied):
    return {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "dtype": "bfloat16",
        "head_dim": c["head_dim"],
        "hidden_act": "silu",
        "hidden_size": c["hidden"],
        "intermediate_size": c["ffn"],
        "max_position_embeddings": 262144,
        "model_type": "qwen3",
        "num_attention_heads": c["heads"],
        "num_hidden_layers": c["layers"],
        "num_key_value_heads": c["kv_heads"],
        "rms_norm_eps": RMS_NORM_EPS,
        "rope_parameters": {"rope_theta": 5000000, "rope_type": "default"},
        "tie_word_embeddings": tied,
        "use_cache": True,
        "vocab_size": VOCAB,
    }


def mage_config(ids):
    return {
        "architectures": ["MageVLForConditionalGeneration"],
        "bos_token_id": ids["<|endoftext|>"],
        "dtype": "bfloat16",
        "eos_token_id": ids["<|im_end|>"],
        "image_token_id": ids["<|image_pad|>"],
        "model_type": "mage_vl",
        "text_config": text_config(TEXT, tied=False),
        "tie_word_embeddings": False,
        "video_token_id": ids["<|video_pad|>"],
        "vision_config": {
            "attention_dropout": 0.0,
            "dtype": "bfloat16",
            "frame_windows_size": 4,
            "hidden_act": "gelu",
            "hidden_size": VISION["hidden"],
            "image_size": 448,
            "intermediate_size": VISION["ffn"],
            "layer_norm_eps": LAYER_NORM_EPS,
            "layer_norm_type": "layer_norm",
            "max_position_embeddings": 8192,
            "model_type": "mage_vl_vision",
            "num_attention_heads": VISION["heads"],
            "num_channels": 3,
            "num_hidden_layers": VISION["layers"],
            "out_hidden_size": TEXT["hidden"],
            "patch_size": VISION["patch"],
            "rope_theta": 10000.0,
            "spatial_merge_size": 2,
            "temporal_patch_size": 1,
            "text_hidden_size": TEXT["hidden"],
            "use_head": False,
            "use_patch_position_encoding": False,
        },
        "vision_end_token_id": ids["<|vision_end|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
    }


PREPROCESSOR = {
    "codec": {"enabled": True},  # for videos; still pictures must not mind it
    "do_convert_rgb": True,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_processor_type": "Qwen2VLImageProcessor",
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "max_pixels": 4000000,
    "merge_size": 2,
    "min_pixels": 3136,
    "patch_size": 16,
    "processor_class": "MageVLProcessor",
    "resample": 3,
    "rescale_factor": 0.00392156862745098,
    "temporal_patch_size": 1,
}


def generation_config(ids):
    return {
        "bos_token_id": ids["<|endoftext|>"],
        "do_sample": True,
        "eos_token_id": [ids["<|im_end|>"], ids["<|endoftext|>"]],
        "pad_token_id": ids["<|endoftext|>"],
        "temperature": 0.7,
        "top_k": 20,
        "top_p": 0.8,
    }


# ---- checkpoints ---------------------------------------------------------------------------------


def write_mage_hub(folder, seed=MAGE_SEED):
    ids = tiny_tokenizer.special_ids()
    shapes = qwen3_shapes("model.language_model.", TEXT)
    shapes |= vision_shapes("model.visual.", VISION, TEXT["hidden"])
    shapes["lm_head.weight"] = (VOCAB, TEXT["hidden"])
    fresh(folder)
    save(random_weights(shapes, seed), folder / "model.safetensors", "pt")
    write_json(folder / "config.json", mage_config(ids))
    write_json(folder / "preprocessor_config.json", PREPROCESSOR)
    write_json(folder / "generation_config.json", generation_config(ids))
    tiny_tokenizer.write(folder, tiny_tokenizer.VISION_TEMPLATE)


def _mlx_name(name):
    for hub, mlx in (
        ("model.language_model.", "language_model.model."),
        ("model.visual.", "vision_tower."),
        ("lm_head.", "language_model.lm_head."),
    ):
        if name.startswith(hub):
            return mlx + name[len(hub) :]
    raise KeyError(name)


def _to_mlx(value):
    """A bfloat16 tensor, by way of float32, which holds it exactly."""
    return mx.array(value.float().numpy()).astype(mx.bfloat16)


def _quantised(name, value, quantization):
    """The tensors that stand for one matrix of the language model."""
    module = name.removesuffix(".weight")
    spec = quantization.get(module, quantization)
    if spec is False:
        return {name: _to_mlx(value)}
    codes, scales, biases = mx.quantize(_to_mlx(value), spec["group_size"], spec["bits"])
    return {name: codes, module + ".scales": scales, module + ".biases": biases}


def write_mage_mlx(hub, folder, quantization=None):
    """The conversion that mlx-vlm makes: its names, channels-last patch kernel, and in the language
    model every matrix quantised."""
    fresh(folder)
    tensors = {}
    for name, value in load_file(hub / "model.safetensors").items():
        name = _mlx_name(name)
        if name.endswith("patch_embedding.weight"):
            value = value.permute(0, 2, 3, 1)
        if quantization and name.startswith("language_model.") and value.ndim == 2:
            tensors |= _quantised(name, value, quantization)
        else:
            tensors[name] = _to_mlx(value)
    mx.save_safetensors(str(folder / "model.safetensors"), tensors, metadata={"format": "mlx"})
    (folder / "model.safetensors").chmod(0o644)
    write_json(
        folder / "model.safetensors.index.json",
        {
            "metadata": {"total_size": sum(value.nbytes for value in tensors.values())},
            "weight_map": {name: "model.safetensors" for name in sorted(tensors)},
        },
    )
    config = json.loads((hub / "config.json").read_text())
    generation = json.loads((hub / "generation_config.json").read_text())
    config |= {"eos_token_id": generation["eos_token_id"], "generation_config": generation}
    if quantization:
        config["quantization"] = config["quantization_config"] = copy.deepcopy(quantization)
    write_json(folder / "config.json", dict(sorted(config.items())))
    for name in (
        "chat_template.jinja",
        "generation_config.json",
        "preprocessor_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ):
        shutil.copyfile(hub / name, folder / name)


QWEN3 = dict(hidden=64, layers=2, heads=4, kv_heads=2, head_dim=32, ffn=128)


def write_qwen3(folder, seed=QWEN3_SEED):
    """A text model with tied embeddings, in two shards."""
    ids = tiny_tokenizer.special_ids()
    fresh(folder)
    weights = random_weights(qwen3_shapes("model.", QWEN3), seed, tied=True)
    half = sum(v.nbytes for v in weights.values()) // 2
    shards, filled = [{}, {}], 0
    for name, value in weights.items():
        shards[filled >= half][name] = value
        filled += value.nbytes
    names = [f"model-0000{i + 1}-of-00002.safetensors" for i in range(2)]
    for name, tensors in zip(names, shards):
        save(tensors, folder / name, "pt")
    write_json(
        folder / "model.safetensors.index.json",
        {
            "metadata": {"total_size": filled},
            "weight_map": {t: name for name, shard in zip(names, shards) for t in shard},
        },
    )
    config = {"architectures": ["Qwen3ForCausalLM"], "bos_token_id": ids["<|endoftext|>"]}
    config |= {"eos_token_id": ids["<|im_end|>"]} | text_config(QWEN3, tied=True)
    # As transformers 4 wrote it; the other fixtures have the nested form.
    config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
    config["rope_scaling"] = None
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", generation_config(ids))
    tiny_tokenizer.write(folder, tiny_tokenizer.TEXT_TEMPLATE)
