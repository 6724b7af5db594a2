"""Evidence as pictures a person can check: masks over the image, with names, beside the depth map."""

from __future__ import annotations

import colorsys
import os
from pathlib import Path

import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor
from torch.nn import functional as F

from physplan.files import atomic_path
from physplan.perception.assignment import centroid
from physplan.perception.evidence import Evidence, KeyframeEvidence
from physplan.pictures import to_picture

MIN_PREVIEW_SIDE = 320  # pixels: smaller pictures are enlarged until their labels can be read


def overlay(frame: KeyframeEvidence) -> Image.Image:
    """The picture with every node's mask in its colour and its name on it; missing nodes are listed below."""
    factor = max(1, round(MIN_PREVIEW_SIDE / max(frame.depth.shape)))
    image = _enlarge(frame.image.float(), factor)
    for number, mask in enumerate(frame.masks.values()):
        # Steps of the golden ratio keep neighbouring numbers far apart on the colour wheel.
        colour = colorsys.hsv_to_rgb(number * 0.618 % 1, 0.75, 1.0)
        image = _tint(image, _enlarge(mask[None].float(), factor)[0] > 0.5, colour)
    picture = to_picture(image)
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=max(11, picture.height // 32))
    for node, mask in frame.masks.items():
        x, y = centroid(mask) * (picture.width, picture.height)
        _label(draw, (float(x), float(y)), node, font, anchor="mm")
    if frame.missing:
        text = "not found: " + ", ".join(frame.missing)
        _label(draw, (4, picture.height - 4), text, font, anchor="ls")
    return picture


def side_by_side(frame: KeyframeEvidence) -> Image.Image:
    """The overlay and the depth map, near in white."""
    left = overlay(frame)
    right = to_picture(frame.depth[None].expand(3, -1, -1)).resize(left.size)
    both = Image.new("RGB", (left.width * 2, left.height))
    both.paste(left, (0, 0))
    both.paste(right, (left.width, 0))
    return both


def save_previews(evidence: Evidence, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """`first.png` and `keyframe-1.png`, ... in `folder`."""
    names = ["first", *(f"keyframe-{number}" for number in range(1, len(evidence.keyframes) + 1))]
    paths = tuple(Path(folder) / f"{name}.png" for name in names)
    for path, frame in zip(paths, (evidence.first, *evidence.keyframes), strict=True):
        with atomic_path(path) as temporary:
            side_by_side(frame).save(temporary)
    return paths


def _tint(image: Tensor, mask: Tensor, colour: tuple[float, float, float]) -> Tensor:
    """Half-transparent inside, opaque on the outline."""
    inside = -F.max_pool2d(-mask[None].float(), 5, stride=1, padding=2)[0]
    strength = torch.where(mask, torch.where(inside > 0, 0.4, 1.0), 0.0)
    return image * (1 - strength) + strength * image.new_tensor(colour)[:, None, None]


def _enlarge(image: Tensor, factor: int) -> Tensor:
    return image.repeat_interleave(factor, -1).repeat_interleave(factor, -2)


def _label(
    draw: ImageDraw.ImageDraw,
    at: tuple[float, float],
    text: str,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    anchor: str,
) -> None:
    draw.text(at, text, font=font, anchor=anchor, fill="white", stroke_width=2, stroke_fill="black")
