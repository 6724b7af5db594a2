"""TinyViT-5M as MobileSAM uses it: an image [1, 3, 1024, 1024] becomes an embedding [1, 256, 64, 64].

Four stages: convolutions at stride 4, then windowed attention with a 3 x 3 convolution after it, at strides
8, 16 and 16. Parameter names are those of mobile_sam.pt; batch norms are folded into their convolutions.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

DIMS, DEPTHS = (64, 128, 160, 320), (2, 2, 6, 2)
HEADS, WINDOWS, STRIDES = (2, 4, 5, 10), (7, 7, 14, 7), (2, 2, 1)
EPS = 1e-5  # of the batch norms


def conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups)


class InvertedBottleneck(nn.Module):
    """MBConv: wide, depthwise, narrow, with a residual before the last activation."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.conv1, self.conv3 = conv(dim, 4 * dim), conv(4 * dim, dim)
        self.conv2 = conv(4 * dim, 4 * dim, 3, groups=4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x + self.conv3(F.gelu(self.conv2(F.gelu(self.conv1(x))))))


class Downsample(nn.Module):
    def __init__(self, dim: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.conv3 = conv(dim, out), conv(out, out)
        self.conv2 = conv(out, out, 3, stride, groups=out)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv3(F.gelu(self.conv2(F.gelu(self.conv1(x)))))


class Attention(nn.Module):
    """Attention within windows [N, side * side, dim], with a bias per head and distance."""

    distance: Tensor

    def __init__(self, dim: int, heads: int, side: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.proj = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.attention_biases = nn.Parameter(torch.zeros(heads, side * side))
        rows = torch.arange(side).repeat_interleave(side)
        columns = torch.arange(side).repeat(side)
        distance = (rows[:, None] - rows).abs() * side + (columns[:, None] - columns).abs()
        self.register_buffer("distance", distance, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        count, length, dim = x.shape
        mixed = self.qkv(self.norm(x)).view(count, length, self.heads, 3, -1)
        query, key, value = mixed.permute(3, 0, 2, 1, 4)
        bias = self.attention_biases[:, self.distance]
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        return self.proj(out.transpose(1, 2).reshape(count, length, dim))


class MLP(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm, self.fc1, self.fc2 = nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(self.norm(x))))


class Block(nn.Module):
    def __init__(self, dim: int, heads: int, side: int) -> None:
        super().__init__()
        self.side = side
        self.attn, self.mlp = Attention(dim, heads, side), MLP(dim)
        self.local_conv = conv(dim, dim, 3, groups=dim)

    def forward(self, x: Tensor) -> Tensor:
        x = self.local_conv(x + self._windowed(x))
        return x + self.mlp(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    def _windowed(self, x: Tensor) -> Tensor:
        """Attention in windows of `side`; the last ones are padded with zeros."""
        side, (batch, dim, height, width) = self.side, x.shape
        x = F.pad(x, (0, -width % side, 0, -height % side))
        rows, columns = x.shape[2] // side, x.shape[3] // side
        windows = x.view(batch, dim, rows, side, columns, side).permute(0, 2, 4, 3, 5, 1)
        seen = self.attn(windows.reshape(-1, side * side, dim))
        seen = seen.view(batch, rows, columns, side, side, dim).permute(0, 5, 1, 3, 2, 4)
        return seen.reshape(batch, dim, rows * side, columns * side)[:, :, :height, :width]


class Stage(nn.Module):
    def __init__(self, number: int) -> None:
        super().__init__()
        dim, heads, side = DIMS[number], HEADS[number], WINDOWS[number]
        blocks = [
            Block(dim, heads, side) if number else InvertedBottleneck(dim) for _ in range(DEPTHS[number])
        ]
        self.blocks = nn.ModuleList(blocks)
        last = number == len(DIMS) - 1
        self.downsample = None if last else Downsample(dim, DIMS[number + 1], STRIDES[number])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x if self.downsample is None else self.downsample(x)


class ChannelNorm(nn.LayerNorm):
    """Layer norm over the channels of [B, C, H, W]."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class PatchEmbedding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seq = nn.Sequential(conv(3, 32, 3, 2), nn.GELU(), conv(32, 64, 3, 2))


class TinyViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = PatchEmbedding()
        self.layers = nn.ModuleList(Stage(number) for number in range(len(DIMS)))
        neck = [nn.Conv2d(DIMS[-1], 256, 1, bias=False), ChannelNorm(256, eps=1e-6)]
        self.neck = nn.Sequential(
            *neck, nn.Conv2d(256, 256, 3, padding=1, bias=False), ChannelNorm(256, eps=1e-6)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch_embed.seq(x)
        for layer in self.layers:
            x = layer(x)
        return self.neck(x)


def fold_batch_norms(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """`a.c.weight` and `a.bn.*` become `a.weight` and `a.bias` of one convolution; the classifier is dropped.

    The rows of each qkv are ordered by head, then by query, key and value, as `Attention` reads them.
    """
    folded = {}
    for key, value in state.items():
        if key.startswith(("head.", "norm_head.")) or ".bn." in key:
            continue
        if not key.endswith(".c.weight"):
            folded[key] = value
            continue
        name = key.removesuffix(".c.weight")
        gain = state[f"{name}.bn.weight"] / (state[f"{name}.bn.running_var"] + EPS).sqrt()
        folded[f"{name}.weight"] = value * gain[:, None, None, None]
        folded[f"{name}.bias"] = state[f"{name}.bn.bias"] - state[f"{name}.bn.running_mean"] * gain
    return folded
