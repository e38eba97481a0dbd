"""A batched, trainable Mage-VL, small enough for two CPU cores.

Module names follow the published tensor names, so the state dict needs only a prefix when it is
exported. The auxiliary heads exist for training alone and are never exported.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn as nn
import torch.nn.functional as F

from draw import COLOR_NAMES, KINDS
from geometry import MERGE, PATCH


@dataclass(frozen=True)
class Dims:
    vision_width: int = 128
    vision_layers: int = 5
    vision_heads: int = 2
    vision_mlp: int = 512
    width: int = 192
    layers: int = 4
    heads: int = 6
    kv_heads: int = 3
    head_dim: int = 32
    mlp: int = 512
    vocab: int = 768
    vision_theta: float = 10000.0
    theta: float = 1e6
    eps: float = 1e-6


@lru_cache(maxsize=None)
def tower_rope(rows, cols, head_dim, theta):
    """cos and sin [patches, head_dim]; axes t, h, w share the half in 4 : 6 : 6."""
    positions = [
        (0, r * MERGE + dr, c * MERGE + dc)
        for r in range(rows // MERGE)
        for c in range(cols // MERGE)
        for dr in range(MERGE)
        for dc in range(MERGE)
    ]
    pos, unit, parts = torch.tensor(positions).float(), head_dim // 2 // 16, []
    for axis, size in enumerate((4 * unit, 6 * unit, 6 * unit)):
        inverse = torch.tensor(theta) ** (-torch.arange(size).float() / size)
        parts.append(pos[:, axis : axis + 1] * inverse)
    angles = torch.cat(parts * 2, -1)
    return angles.cos(), angles.sin()


def attend(q, k, v, bias=None):
    """Softmax attention written out: on CPUs the fused kernel's bfloat16 backward is slower."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    return scores.softmax(-1, dtype=torch.float32).to(v.dtype) @ v


class TowerAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.heads = d.vision_heads
        self.qkv = nn.Linear(d.vision_width, 3 * d.vision_width)
        self.proj = nn.Linear(d.vision_width, d.vision_width)

    def forward(self, x, cos, sin):
        b, n, width = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)

        def rotate(t):
            turned = torch.stack([-t[..., 1::2], t[..., 0::2]], -1).flatten(-2)
            return t * cos + turned * sin

        y = attend(rotate(q), rotate(k), v)
        return self.proj(y.transpose(1, 2).reshape(b, n, width))


class TowerMlp(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc1 = nn.Linear(d.vision_width, d.vision_mlp)
        self.fc2 = nn.Linear(d.vision_mlp, d.vision_width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class TowerBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(d.vision_width, d.eps)
        self.layer_norm2 = nn.LayerNorm(d.vision_width, d.eps)
        self.self_attn = TowerAttention(d)
        self.mlp = TowerMlp(d)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.layer_norm1(x), cos, sin)
        return x + self.mlp(self.layer_norm2(x))


class Tower(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        width, folded = d.vision_width, MERGE * MERGE * d.vision_width
        self.embeddings = nn.ModuleDict(
            {"patch_embedding": nn.Linear(3 * PATCH * PATCH, width, bias=False)}
        )
        self.layernorm_pre = nn.LayerNorm(width, d.eps)
        self.encoder = nn.ModuleDict(
            {"layers": nn.ModuleList(TowerBlock(d) for _ in range(d.vision_layers))}
        )
        mlp = nn.Sequential(nn.Linear(folded, folded), nn.GELU(), nn.Linear(folded, d.width))
        self.merger = nn.ModuleDict({"ln_q": nn.LayerNorm(width, d.eps), "mlp": mlp})

    def forward(self, rows, grid):
        """rows [B, patches, 768], grid in patches -> [B, patches / 4, width]."""
        head_dim = self.d.vision_width // self.d.vision_heads
        cos, sin = tower_rope(*grid, head_dim, self.d.vision_theta)
        x = self.layernorm_pre(self.embeddings["patch_embedding"](rows))
        cos, sin = cos.to(x.dtype), sin.to(x.dtype)
        for block in self.encoder["layers"]:
            x = block(x, cos, sin)
        x = self.merger["ln_q"](x)
        return self.merger["mlp"](x.reshape(x.shape[0], -1, MERGE * MERGE * self.d.vision_width))


class RmsNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight.to(x.dtype), self.eps)


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.q_proj = nn.Linear(d.width, d.heads * d.head_dim, bias=False)
        self.k_proj = nn.Linear(d.width, d.kv_heads * d.head_dim, bias=False)
        self.v_proj = nn.Linear(d.width, d.kv_heads * d.head_dim, bias=False)
        self.o_proj = nn.Linear(d.heads * d.head_dim, d.width, bias=False)
        self.q_norm = RmsNorm(d.head_dim, d.eps)
        self.k_norm = RmsNorm(d.head_dim, d.eps)

    def forward(self, x, cos, sin, mask):
        b, n, _ = x.shape
        d, half = self.d, self.d.head_dim // 2

        def rotate(t):
            return t * cos + torch.cat([-t[..., half:], t[..., :half]], -1) * sin

        q = self.q_norm(self.q_proj(x).view(b, n, d.heads, d.head_dim)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(b, n, d.kv_heads, d.head_dim)).transpose(1, 2)
        v = self.v_proj(x).view(b, n, d.kv_heads, d.head_dim).transpose(1, 2)
        q, k = rotate(q), rotate(k)
        k, v = (t.repeat_interleave(d.heads // d.kv_heads, 1) for t in (k, v))
        y = attend(q, k, v, mask)
        return self.o_proj(y.transpose(1, 2).reshape(b, n, -1))


class Mlp(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gate_proj = nn.Linear(d.width, d.mlp, bias=False)
        self.up_proj = nn.Linear(d.width, d.mlp, bias=False)
        self.down_proj = nn.Linear(d.mlp, d.width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.input_layernorm = RmsNorm(d.width, d.eps)
        self.self_attn = Attention(d)
        self.post_attention_layernorm = RmsNorm(d.width, d.eps)
        self.mlp = Mlp(d)

    def forward(self, x, cos, sin, mask):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.embed_tokens = nn.Embedding(d.vocab, d.width)
        self.layers = nn.ModuleList(Block(d) for _ in range(d.layers))
        self.norm = RmsNorm(d.width, d.eps)


class MageVl(nn.Module):
    def __init__(self, dims=Dims()):
        super().__init__()
        self.dims = dims
        self.visual = Tower(dims)
        self.language_model = Decoder(dims)
        self.lm_head = nn.Linear(dims.width, dims.vocab, bias=False)
        # Training only: what each visual token shows.
        self.aux_kind = nn.Linear(dims.width, 1 + len(KINDS))
        self.aux_color = nn.Linear(dims.width, len(COLOR_NAMES))
        self.aux_box = nn.Linear(dims.width, 4)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                std = p.shape[1] ** -0.5
                if any(k in name for k in ("o_proj", "down_proj", ".proj.", "fc2")):
                    std /= math.sqrt(8)
                if "embed_tokens" in name:
                    std = 0.5
                if "lm_head" in name:
                    std = 0.02
                nn.init.normal_(p, 0, std)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def decode(self, embeds, positions, mask, select=None):
        """embeds [B, n, width] -> logits of every (or of the selected) positions."""
        d = self.dims
        inverse = d.theta ** (-torch.arange(0, d.head_dim, 2).float() / d.head_dim)
        angles = positions[:, None, :, None].float() * inverse
        angles = torch.cat([angles, angles], -1)
        mask = torch.zeros(mask.shape).masked_fill(~mask, -1e4)
        x, cos, sin = embeds, angles.cos().to(embeds.dtype), angles.sin().to(embeds.dtype)
        for block in self.language_model.layers:
            x = block(x, cos, sin, mask)
        if select is not None:
            x = x[select]
        return self.lm_head(self.language_model.norm(x))

    def embed(self, ids, visual, start):
        """Token embeddings with `visual` in place of the placeholders, which begin at `start`."""
        e = self.language_model.embed_tokens(ids).to(visual.dtype)
        return torch.cat([e[:, :start], visual, e[:, start + visual.shape[1] :]], 1)
