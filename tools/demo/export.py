"""Writes a training state as a Mage-VL checkpoint folder, in the published layout or as MLX 8-bit.

Every file is replaced atomically, so a folder that is in use stays readable.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import save_file

from geometry import MAX_PIXELS, MEAN, MERGE, MIN_PIXELS, PATCH, STD
from model import Dims, MageVl

PREFIX = {
    "visual.": "model.visual.",
    "language_model.": "model.language_model.",
    "lm_head.": "lm_head.",
}
SHIPPED = [
    "config.json", "generation_config.json", "preprocessor_config.json", "tokenizer.json",
    "tokenizer_config.json", "chat_template.jinja", "model.safetensors",
]  # fmt: skip


def tensors(model, dtype):
    result = {}
    for name, value in model.state_dict().items():
        for old, new in PREFIX.items():
            if name.startswith(old):
                value = value.detach().to(dtype).contiguous()
                if name.endswith("patch_embedding.weight"):
                    value = value.reshape(-1, 3, PATCH, PATCH).contiguous()
                result[new + name[len(old) :]] = value
    return result


def configs(d, ids, dtype):
    """The contents of config.json, preprocessor_config.json and generation_config.json."""
    text = {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "dtype": dtype,
        "head_dim": d.head_dim,
        "hidden_act": "silu",
        "hidden_size": d.width,
        "intermediate_size": d.mlp,
        "max_position_embeddings": 4096,
        "model_type": "qwen3",
        "num_attention_heads": d.heads,
        "num_hidden_layers": d.layers,
        "num_key_value_heads": d.kv_heads,
        "rms_norm_eps": d.eps,
        "rope_parameters": {"rope_theta": d.theta, "rope_type": "default"},
        "tie_word_embeddings": False,
        "use_cache": True,
        "vocab_size": d.vocab,
    }
    vision = {
        "attention_dropout": 0.0,
        "dtype": dtype,
        "frame_windows_size": 4,
        "hidden_act": "gelu",
        "hidden_size": d.vision_width,
        "image_size": 448,
        "intermediate_size": d.vision_mlp,
        "layer_norm_eps": d.eps,
        "layer_norm_type": "layer_norm",
        "max_position_embeddings": 8192,
        "model_type": "mage_vl_vision",
        "num_attention_heads": d.vision_heads,
        "num_channels": 3,
        "num_hidden_layers": d.vision_layers,
        "out_hidden_size": d.width,
        "patch_size": PATCH,
        "rope_theta": d.vision_theta,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": 1,
        "text_hidden_size": d.width,
        "use_head": False,
        "use_patch_position_encoding": False,
    }
    config = {
        "architectures": ["MageVLForConditionalGeneration"],
        "auto_map": {
            "AutoConfig": "configuration_mage_vl.MageVLConfig",
            "AutoModelForCausalLM": "modeling_mage_vl.MageVLForConditionalGeneration",
        },
        "bos_token_id": ids["<|endoftext|>"],
        "eos_token_id": ids["<|im_end|>"],
        "dtype": dtype,
        "image_token_id": ids["<|image_pad|>"],
        "model_type": "mage_vl",
        "text_config": text,
        "tie_word_embeddings": False,
        "video_token_id": ids["<|video_pad|>"],
        "vision_end_token_id": ids["<|vision_end|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
        "vision_config": vision,
    }
    preprocessor = {
        "image_processor_type": "Qwen2VLImageProcessor",
        "processor_class": "MageVLProcessor",
        "auto_map": {"AutoProcessor": "processing_mage_vl.MageVLProcessor"},
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [float(str(x)) for x in MEAN],
        "image_std": [float(str(x)) for x in STD],
        "max_pixels": MAX_PIXELS,
        "min_pixels": MIN_PIXELS,
        "merge_size": MERGE,
        "patch_size": PATCH,
        "resample": 3,
        "rescale_factor": 0.00392156862745098,
        "temporal_patch_size": 1,
    }
    generation = {
        "bos_token_id": ids["<|endoftext|>"],
        "eos_token_id": [ids["<|im_end|>"], ids["<|endoftext|>"]],
        "pad_token_id": ids["<|endoftext|>"],
        "do_sample": False,
    }
    return config, preprocessor, generation


def write_hub(run, folder, dtype):
    """The published layout: one model.safetensors beside the configuration and the tokenizer."""
    from tokenizers import Tokenizer

    state = torch.load(os.path.join(run, "state.pt"), map_location="cpu")["model"]
    vocab = state["language_model.embed_tokens.weight"].shape[0]
    model = MageVl(Dims(vocab=vocab))
    model.load_state_dict(state)
    os.makedirs(folder, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(os.path.join(run, name), os.path.join(folder, name))
    ids = Tokenizer.from_file(os.path.join(folder, "tokenizer.json")).get_vocab(True)
    names = ("config.json", "preprocessor_config.json", "generation_config.json")
    for name, content in zip(names, configs(model.dims, ids, dtype)):
        with open(os.path.join(folder, name), "w") as f:
            json.dump(content, f, indent=2)
            f.write("\n")
    weights = tensors(model, getattr(torch, dtype))
    save_file(weights, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})


def convert_to_mlx(source, target, bits):
    """mlx-vlm's converter: the decoder in affine groups of 64, the tower in bfloat16."""
    command = [sys.executable, "-m", "mlx_vlm", "convert"]
    command += ["--hf-path", source, "--mlx-path", target]
    command += ["-q", "--q-bits", str(bits), "--q-group-size", "64", "--dtype", "bfloat16"]
    subprocess.run(command, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, help="the --out folder of train.py")
    parser.add_argument("--to", required=True, help="the checkpoint folder")
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--mlx-bits", type=int, default=0, help="8: MLX affine layout instead")
    options = parser.parse_args()
    os.makedirs(options.to, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.join(scratch, "hub")
        # The converter rounds by itself, once, from the trained values.
        write_hub(options.run, made, "float32" if options.mlx_bits else options.dtype)
        if options.mlx_bits:
            hub, made = made, os.path.join(scratch, "mlx")
            convert_to_mlx(hub, made, options.mlx_bits)
            for name in ("tokenizer.json", "tokenizer_config.json", "preprocessor_config.json"):
                shutil.copy(os.path.join(hub, name), os.path.join(made, name))
        for name in SHIPPED:
            part = os.path.join(options.to, name + ".part")
            shutil.copyfile(os.path.join(made, name), part)
            os.replace(part, os.path.join(options.to, name))
    total = sum(os.path.getsize(os.path.join(options.to, name)) for name in SHIPPED)
    print(f"{options.to}: {total / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
