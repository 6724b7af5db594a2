"""MobileSAM: a picture is encoded once (seconds), then each box or click gives a mask (milliseconds).

The encoder is TinyViT; prompt encoder and mask decoder are SAM's own, by the classes of transformers.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import SamConfig
from transformers.models.sam.modeling_sam import SamMaskDecoder, SamPromptEncoder

from physplan.perception.images import IMAGENET, normalise
from physplan.pictures import to_tensor
from physplan.weights import WeightsError
from physplan_photo.mobile_sam.tiny_vit import TinyViT, fold_batch_norms
from physplan_photo.objects import Box, Mask, Point

SIDE, GRID = 1024, 64
KEPT_PICTURES = 4  # encoded pictures that stay in memory, 4 MB each


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """`embedding` [1, 256, 64, 64] of a picture of `size` (width, height), scaled to `fitted`."""

    embedding: Tensor
    size: tuple[int, int]
    fitted: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """Mask logits [256, 256] over the padded square, and the IoU that the decoder expects of them."""

    logits: Tensor
    score: float


def fit(size: tuple[int, int]) -> tuple[int, int]:
    """Width and height with the longer side at 1024, rounded as SAM rounds."""
    scale = SIDE / max(size)
    return max(1, int(size[0] * scale + 0.5)), max(1, int(size[1] * scale + 0.5))


def full_size(logits: Tensor, encoded: Encoded) -> Tensor:
    """Logits [256, 256] at the picture's own size [H, W]."""
    width, height = encoded.fitted
    square = F.interpolate(logits[None, None], (SIDE, SIDE), mode="bilinear", align_corners=False)
    inner = square[..., :height, :width]
    return F.interpolate(inner, encoded.size[::-1], mode="bilinear", align_corners=False)[0, 0]


class MobileSAM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        # The authors' decoder keeps torch's own epsilon, transformers' default is a tenth of it.
        config = SamConfig(mask_decoder_config={"layer_norm_eps": 1e-5})
        config.mask_decoder_config._attn_implementation = "sdpa"
        self.image_encoder = TinyViT()
        self.prompt_encoder = SamPromptEncoder(config)
        self.mask_decoder = SamMaskDecoder(config.mask_decoder_config)
        self._kept: OrderedDict[bytes, Encoded] = OrderedDict()
        self._latest: tuple[Image.Image, Encoded] | None = None  # the same object needs no checksum

    @classmethod
    def load(cls, path: Path) -> MobileSAM:
        try:
            stored = torch.load(path, map_location="cpu", weights_only=True)
            model = cls()
            model.load_state_dict(named_as_here(stored))
        except (OSError, RuntimeError, KeyError, AttributeError, ValueError) as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise WeightsError(
                f"{path} does not hold MobileSAM's weights ({first}): remove it and run"
                " `physplan models get photo`."
            ) from error
        return model.eval().requires_grad_(False)

    @torch.no_grad()
    def encode(self, picture: Image.Image) -> Encoded:
        """Encode a picture, or take what is kept of it. A picture is not changed in place afterwards."""
        if self._latest is not None and self._latest[0] is picture:
            return self._latest[1]
        rgb = picture.convert("RGB")
        fitted = fit(rgb.size)
        small = rgb.resize(fitted, Image.Resampling.BILINEAR)
        key = hashlib.sha256(repr(rgb.size).encode() + small.tobytes()).digest()
        if key not in self._kept:
            pixels = normalise(to_tensor(small)[None], IMAGENET)
            padded = F.pad(pixels, (0, SIDE - fitted[0], 0, SIDE - fitted[1]))
            self._kept[key] = Encoded(self.image_encoder(padded), rgb.size, fitted)
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_PICTURES:
            self._kept.popitem(last=False)
        self._latest = picture, self._kept[key]
        return self._kept[key]

    @torch.no_grad()
    def guesses(
        self, encoded: Encoded, *, box: Box | None = None, points: Sequence[Point] = ()
    ) -> list[Guess]:
        """One guess for a box or several clicks; three (part, whole, group) for a single click."""
        scale = torch.tensor([kept / own for kept, own in zip(encoded.fitted, encoded.size, strict=True)])
        clicks = labels = boxes = None
        if points:
            clicks = (torch.tensor([[p.x, p.y] for p in points]) * scale)[None, None]
            labels = torch.tensor([int(p.inside) for p in points])[None, None]
        if box is not None:
            boxes = (torch.tensor(box.tuple()) * scale.repeat(2))[None, None]
        sparse, dense = self.prompt_encoder(clicks, labels, boxes, None)
        logits, scores = self.mask_decoder(
            image_embeddings=encoded.embedding,
            image_positional_embeddings=self._positions(),
            sparse_prompt_embeddings=sparse,
            dense_prompt_embeddings=dense,
            multimask_output=box is None and len(points) == 1,
        )
        pairs = zip(logits[0, 0], scores[0, 0].tolist(), strict=True)
        return [Guess(mask, score) for mask, score in pairs]

    def mask(
        self, picture: Image.Image, *, box: Box | None = None, points: Sequence[Point] = ()
    ) -> tuple[Mask, float]:
        """The best mask [H, W] of a prompt and its expected IoU."""
        encoded = self.encode(picture)
        best = max(self.guesses(encoded, box=box, points=points), key=lambda guess: guess.score)
        mask: Mask = (full_size(best.logits, encoded) > 0).numpy()
        return mask, best.score

    def _positions(self) -> Tensor:
        steps = (torch.arange(GRID, dtype=torch.float32) + 0.5) / GRID
        grid = torch.stack(torch.meshgrid(steps, steps, indexing="xy"), dim=-1)
        return self.prompt_encoder.shared_embedding(grid).permute(2, 0, 1)[None]


_NAMES = {
    "pe_layer.positional_encoding_gaussian_matrix": "shared_embedding.positional_embedding",
    "point_embeddings": "point_embed",
    "mask_downscaling.0": "mask_embed.conv1",
    "mask_downscaling.1": "mask_embed.layer_norm1",
    "mask_downscaling.3": "mask_embed.conv2",
    "mask_downscaling.4": "mask_embed.layer_norm2",
    "mask_downscaling.6": "mask_embed.conv3",
    "output_upscaling.0": "upscale_conv1",
    "output_upscaling.1": "upscale_layer_norm",
    "output_upscaling.3": "upscale_conv2",
    ".norm_final_attn": ".layer_norm_final_attn",
    ".norm": ".layer_norm",
}
_HEADS = {"layers.0": "proj_in", "layers.1": "layers.0", "layers.2": "proj_out"}


def named_as_here(stored: Mapping[str, Any]) -> dict[str, Tensor]:
    """The authors' names as those of transformers; batch norms folded into convolutions."""
    prefix = "image_encoder."
    encoder = {key.removeprefix(prefix): value for key, value in stored.items() if key.startswith(prefix)}
    found = {prefix + key: value for key, value in fold_batch_norms(encoder).items()}
    for key, value in stored.items():
        if key.startswith(prefix):
            continue
        table = _HEADS if "_mlps." in key or "iou_prediction_head" in key else _NAMES
        old = next((old for old in table if old in key), None)
        found[key if old is None else key.replace(old, table[old])] = value
    return found


@cache
def mobile_sam() -> MobileSAM:
    """The one of this process, loaded when first asked for."""
    from physplan_photo.weights import find

    return MobileSAM.load(find("mobile_sam.pt"))


def tidy(mask: Mask, *, smallest: float = 0.02) -> Mask:
    """Without fringes, specks and pinholes: parts and holes below `smallest` of the mask's area go."""
    from scipy import ndimage

    solid = ndimage.binary_dilation(ndimage.binary_opening(mask, iterations=2), iterations=3)
    mask = mask & solid if solid.any() else mask
    area = mask.sum() * smallest
    for value in (True, False):
        parts, _ = ndimage.label(mask == value)
        sizes = np.bincount(parts.ravel())
        small = np.flatnonzero(sizes < area)
        mask = np.where(np.isin(parts, small[small > 0]), not value, mask)
    return mask
