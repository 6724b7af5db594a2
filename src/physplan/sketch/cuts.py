"""Things cut out of the first frame and the keyframes, and where they are in each."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from physplan.sketch.pixels import Patch, Point, Pose, box, grow, parts, placed_patch, soften, window

EDGE_SOFTNESS = 0.005  # softness of an outline, of the frame's height
RIM_WIDTH = 0.02  # what is taken with a thing while it lies still: its outline's blend with the background
SHADOW_REACH = 0.08  # how far its shadow reaches
COLOUR_DISTANCE = 0.3  # so far is another colour from a thing's own, on average
MIN_SHADOW = 0.04  # how much darker or lighter a shadow makes a pixel


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """The look of one object: its colours with its soft outline, and the middle of its box there."""

    layer: Tensor  # [4, H, W]: colours times opacity, opacity
    mask: Tensor  # bool [H, W]
    centre: Point  # (x, y) in pixels
    size: Point  # of its box
    rows: slice  # where the layer is not clear
    columns: slice

    def posed(self, place: Point, *, angle: float = 0.0, scale: Point = (1.0, 1.0)) -> Patch | None:
        """The layer with its middle at `place`, where it is then seen."""
        pose = Pose(centre=self.centre, place=place, angle=angle, scale=scale)
        return placed_patch(self.layer, self.rows, self.columns, pose)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posed:
    """An object in one state: its look, where it is, and what around it belongs to that place only."""

    cut: Cut
    place: Point  # of its middle
    seen: Tensor  # bool [H, W]: where the state's own picture shows it
    halo: Tensor  # bool [H, W]: rim and shadow
    around: Tensor  # [3, H, W]: the picture of the halo
    nearness: float


def cut_out(image: Tensor, mask: Tensor) -> Cut:
    left, top, right, bottom = box(mask)
    # From the outline inwards: the outermost pixels are half background, and would frame it elsewhere.
    opacity = (3 * soften(mask, max(EDGE_SOFTNESS * mask.shape[0], 1.0)) - 1.2).clamp(0, 1)
    rows, columns = window(opacity > 0)
    return Cut(
        layer=torch.cat([image * opacity, opacity[None]]),
        rows=rows,
        columns=columns,
        mask=mask,
        centre=((left + right) / 2, (top + bottom) / 2),
        size=(right - left, bottom - top),
    )


def halo(image: Tensor, mask: Tensor, empty: Tensor, others: Tensor, slip: float = 0.0) -> Tensor:
    """Rim and shadow: pixels beside an object that differ from the empty scene, of no other object.

    In a picture that differs by `slip` everywhere, only what differs by more is the thing's doing.
    """
    height = mask.shape[0]
    rim = grow(mask, reach(RIM_WIDTH, height))
    changed = (image - empty).abs().amax(0) > max(MIN_SHADOW, slip)
    return (rim | (grow(mask, reach(SHADOW_REACH, height)) & changed)) & ~(others & ~mask)


def reach(share: float, height: int) -> int:
    return max(1, round(share * height))


def parts_alike(look: Cut, image: Tensor, mask: Tensor) -> Tensor:
    """The parts of a mask that may be a thing which kept its look: of another colour, it is another thing."""
    colour = look.layer[:3].sum((1, 2)) / look.layer[3].sum().clamp_min(1e-6)
    alike = torch.zeros_like(mask)
    for part in parts(mask):
        if float((image[:, part].mean(1) - colour).abs().max()) < COLOUR_DISTANCE:
            alike |= part
    return alike


def rigid_shift(before: Tensor, after: Tensor, hiding: Tensor) -> tuple[int, int]:
    """How far a thing of unchanged shape went: the shift of mask `before` that explains `after` best.

    Every pixel of `after` should be covered, and what is covered but not seen must be hidden: in `hiding`.
    """
    height, width = before.shape
    size = (2 * height, 2 * width)
    wanted = 2 * after.float() + (after | hiding).float()
    spectrum = torch.fft.rfft2(wanted, s=size) * torch.fft.rfft2(before.float(), s=size).conj()
    score = torch.fft.irfft2(spectrum, s=size).round()
    dy, dx = divmod(int(score.flatten().argmax()), size[1])
    return (dx - size[1] if dx >= width else dx), (dy - size[0] if dy >= height else dy)


def foot(mask: Tensor, *, right: bool) -> Point:
    """The lowest corner on one side: what a tipping thing turns about."""
    bottom = box(mask)[3]
    lowest = mask[max(0, int(bottom) - 2) : int(bottom)]
    columns = torch.nonzero(lowest.any(0)).flatten()
    return float(columns[-1] + 1 if right else columns[0]), bottom


def overlap(one: Tensor, two: Tensor) -> float:
    """Intersection over union of two masks."""
    return float((one & two).sum() / (one | two).sum().clamp_min(1))
