"""What image processors do, as tensor code that gradients pass through, without torchvision.

Values are not clamped after a resize, unlike in 8-bit processors: a clamp would stop the gradient there.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
HALF = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))

Size = tuple[int, int]  # height, width


def size_of(images: Tensor) -> Size:
    height, width = images.shape[-2:]
    return height, width


def resize(images: Tensor, size: Size, mode: str = "bicubic") -> Tensor:
    """[B, C, H, W] to [B, C, *size], antialiased as PIL does."""
    if images.shape[-2:] == size:
        return images
    return F.interpolate(images.float(), size=size, mode=mode, align_corners=False, antialias=True)


def normalise(images: Tensor, statistics: tuple[tuple[float, ...], tuple[float, ...]] = IMAGENET) -> Tensor:
    """Per-channel (x - mean) / std of [B, 3, H, W]."""
    mean, std = (images.new_tensor(values)[:, None, None] for values in statistics)
    return (images - mean) / std


def patch_grid(size: Size, patch: int, long_side: int | None = None) -> Size:
    """Rows and columns of patches nearest to `size`, first scaled so that its longer side is `long_side`."""
    scale = 1.0 if long_side is None else long_side / max(size)
    rows, columns = (max(1, round(side * scale / patch)) for side in size)
    return rows, columns


def fit_both(size: Size, target: int, multiple: int) -> Size:
    """DPT's rule: keep the aspect ratio, bring the side that needs less scaling near `target`."""
    scale = min((target / side for side in size), key=lambda ratio: abs(1 - ratio))
    height, width = (max(1, round(side * scale / multiple)) * multiple for side in size)
    return height, width


def fit_edges(size: Size, shortest: int, longest: int) -> Size:
    """DETR's rule: the shorter side becomes `shortest`, or less where the longer one would pass `longest`."""
    short, long = min(size), max(size)
    target = min(float(shortest), longest * short / long)
    edge, other = round(target), int(target * long / short)
    if short == edge:
        return size
    return (edge, other) if size[0] <= size[1] else (other, edge)


def masks_from_logits(logits: Tensor, size: Size) -> Tensor:
    """Bool masks [N, *size] of mask logits [N, h, w]."""
    scaled = F.interpolate(logits[None].float(), size=size, mode="bilinear", align_corners=False)[0]
    return scaled > 0
