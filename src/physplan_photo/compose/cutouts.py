"""Objects cut out of the photograph: a matted edge in the object's own colours, and affine placement."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from scipy import ndimage

Array = np.ndarray[Any, np.dtype[Any]]

BOX_PADDING = 0.3  # of the box on each side: room for what bends, splits or spreads
MATTED_EDGE = 0.004  # of the height: half the width of the edge that is matted
FRINGES = (0.013, 0.016, 0.022, 0.03, 0.038)  # of the height: reaches of a rim, from a hard edge to fur
SHADE_SCALE = 0.06  # of a round thing's size: what is smoother is light and shade, not pattern
TIP_REACH = 0.03  # of the height: how far thin ends are looked for
TIP_DIFFERENCE = 0.08  # what they differ from their ground, of 1
MIN_ELLIPSE_IOU = 0.88  # of the union: what an outline shares with its ellipse
MIN_COLOUR_DISTANCE = 0.08  # object and background must differ so much for their mixture to be measured


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cutout:
    """Colours [h, w, 3] and opacity [h, w] in a window of the picture; `centre` is in its pixels."""

    colour: Array
    alpha: Array
    left: int
    top: int
    centre: tuple[float, float]
    size: tuple[float, float]  # of the object's box

    @property
    def foot(self) -> float:
        return self.centre[1] + self.size[1] / 2

    def looking(self, colour: Array, alpha: Array) -> Cutout:
        return replace(self, colour=colour, alpha=alpha)


def box_of(mask: Array) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def fringe(image: Array, mask: Array) -> float:
    """How far hair, leaves or blur reach beyond an outline, in heights: as far as the picture is rougher
    there than farther out."""
    light, outside, sigma = image.mean(-1), (~mask).astype(np.float32), max(1.0, 0.006 * len(image))
    weight = np.maximum(cv2.GaussianBlur(outside, (0, 0), sigma), 1e-3)
    # The outline's own edge is no fringe: the blur looks at what is outside.
    fine = np.abs(light - cv2.GaussianBlur(light * outside, (0, 0), sigma) / weight)
    away = ndimage.distance_transform_edt(~mask) / len(image)
    far = fine[(away > 0.045) & (away < 0.09)]
    limit = 1.6 * float(np.mean(far)) + 0.004 if far.size > 50 else 1.0
    reach = FRINGES[0]
    for near, end in pairwise(FRINGES):
        beside = fine[(away > near) & (away <= end)]
        if beside.size < 20 or float(np.mean(beside)) < limit:
            break
        reach = end
    return reach


def tips(image: Array, hole: Array) -> Array:
    """Thin ends of an object that its outline misses: small parts beside a hole that differ from the ground
    around them [H, W]."""
    height = len(image)
    reach, sigma = max(3, round(TIP_REACH * height)), max(2.0, TIP_REACH * height)
    kernel = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    ring = (cv2.dilate(hole.astype(np.uint8), kernel) > 0) & ~hole
    outside = (~hole).astype(np.float32)
    weight = np.maximum(cv2.GaussianBlur(outside, (0, 0), sigma), 1e-3)[..., None]
    ground = cv2.GaussianBlur(image * outside[..., None], (0, 0), sigma) / weight
    labels, _ = ndimage.label((np.abs(image - ground).max(-1) > TIP_DIFFERENCE) & ring, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel())
    beside = np.unique(labels[cv2.dilate(hole.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0])
    found = np.isin(labels, [k for k in beside if k and sizes[k] < (0.7 * reach) ** 2])
    return np.asarray(ndimage.binary_dilation(found, iterations=3) & ring)


def cut_out(image: Array, mask: Array, plate: Array) -> Cutout:
    """The object of `mask` [H, W]; `plate` is the picture without it."""
    left, top, right, bottom = box_of(mask)
    x, y = round(BOX_PADDING * (right - left)) + 8, round(BOX_PADDING * (bottom - top)) + 8
    window = (top - y, bottom + y, left - x, right + x)
    own, inside, behind = _crop(image, window), _crop(mask, window), _crop(plate, window)
    colour, alpha = matte(own, inside, behind, max(1.0, MATTED_EDGE * len(image)))
    return Cutout(
        colour=colour,
        alpha=alpha,
        left=left - x,
        top=top - y,
        centre=((left + right) / 2, (top + bottom) / 2),
        size=(float(right - left), float(bottom - top)),
    )


def _crop(values: Array, window: tuple[int, int, int, int]) -> Array:
    """A window that may reach beyond the picture: masks end there, colours continue."""
    top, bottom, left, right = window
    height, width = values.shape[:2]
    around = ((max(0, -top), max(0, bottom - height)), (max(0, -left), max(0, right - width)))
    inside = values[max(0, top) : min(height, bottom), max(0, left) : min(width, right)]
    if values.ndim == 2:
        return np.pad(inside, around)
    return np.pad(inside, (*around, (0, 0)), mode="edge")


def matte(image: Array, mask: Array, behind: Array, band: float) -> tuple[Array, Array]:
    """Colours and opacity: I = a F + (1 - a) B solved for a in the edge, F continued from inside."""
    within = ndimage.distance_transform_edt(mask) - ndimage.distance_transform_edt(~mask)
    core = within > band + 0.5
    if not core.any():
        core = within >= within.max() - 0.5
    nearest = ndimage.distance_transform_edt(~core, return_distances=False, return_indices=True)
    own = cv2.GaussianBlur(image[nearest[0], nearest[1]], (0, 0), max(0.8, band / 2))
    soft = np.clip(0.5 + within / (2 * band), 0, 1).astype(np.float32)
    across = own - behind
    length = (across**2).sum(-1)
    measured = np.clip(((image - behind) * across).sum(-1) / np.maximum(length, 1e-6), 0, 1)
    sure = np.clip(np.sqrt(length) / MIN_COLOUR_DISTANCE - 1, 0, 1) * 0.7
    alpha = np.where(
        np.abs(within) <= band + 0.5, soft * (1 - sure) + np.minimum(soft * 1.4, measured) * sure, soft
    )
    alpha = np.where(within < -band, 0, np.where(within > band, 1, alpha)).astype(np.float32)
    share = np.clip((within - 0.5 * band) / (1.5 * band), 0, 1)[..., None]
    colour = (image * share + own * (1 - share)).astype(np.float32)
    return colour, alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the centre of a cutout is (pixels), how it is turned (degrees clockwise) and scaled.

    `scale` is about the middle of the lower edge where `standing`, else about the middle.
    """

    place: tuple[float, float]
    angle: float = 0.0
    scale: tuple[float, float] = (1.0, 1.0)
    standing: bool = False

    def matrix(self, cut: Cutout) -> Array:
        """Of a pixel of the cutout to a pixel of the picture [2, 3]."""
        cosine, sine = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        turn = np.array([[cosine, -sine], [sine, cosine]])
        turn = turn @ np.diag(self.scale)
        middle = np.array([cut.centre[0] - cut.left, cut.centre[1] - cut.top])
        place = np.array(self.place, dtype=float)
        if self.standing:
            place = place + np.array([0.0, cut.size[1] / 2 * (1 - self.scale[1])])
        return np.concatenate([turn, (place - turn @ middle)[:, None]], axis=1)


def rolled(cut: Cutout, angle: float, oval: Array) -> Cutout:
    """A round thing turned clockwise by degrees: its pattern turns, its outline, light and shade stay.

    `oval` [2, 2] makes of a circle its outline, which is seen obliquely.
    """
    middle = np.array([cut.centre[0] - cut.left - 0.5, cut.centre[1] - cut.top - 0.5])
    shade = 0.05 + cv2.GaussianBlur(cut.colour, (0, 0), max(1.0, SHADE_SCALE * min(cut.size)))
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    turn = oval @ np.array([[cosine, -sine], [sine, cosine]]) @ np.linalg.inv(oval)
    matrix = np.concatenate([turn, (middle - turn @ middle)[:, None]], axis=1)
    size = (cut.alpha.shape[1], cut.alpha.shape[0])
    pattern = cv2.warpAffine(cut.colour / shade, matrix, size, borderMode=cv2.BORDER_REPLICATE)
    return cut.looking(np.clip(pattern * shade, 0, 1).astype(np.float32), cut.alpha)


def is_round(mask: Array) -> bool:
    """Whether an outline's box is about a square."""
    left, top, right, bottom = box_of(mask)
    return 0.85 < (right - left) / (bottom - top) < 1.18


def oval_of(mask: Array) -> Array | None:
    """[2, 2]: what makes of a circle the ellipse that an outline is; None where it is none."""
    ys, xs = np.nonzero(mask)
    if len(xs) < 50:
        return None
    points = np.stack([xs - xs.mean(), ys - ys.mean()])
    spread = 4 * np.cov(points)
    values, axes = np.linalg.eigh(spread)
    if values[0] < 1:
        return None
    found: Array = axes @ np.diag(np.sqrt(values)) @ axes.T
    down, across = np.mgrid[0 : mask.shape[0], 0 : mask.shape[1]]
    away = np.einsum("kij,kl,lij->ij", *(lambda d: (d, np.linalg.inv(spread), d))(
        np.stack([across - xs.mean(), down - ys.mean()])))  # fmt: skip
    ellipse = away <= 1
    return found if (ellipse & mask).sum() > MIN_ELLIPSE_IOU * (ellipse | mask).sum() else None


def premultiplied(cut: Cutout, opacity: float = 1.0) -> Array:
    alpha = cut.alpha * opacity
    return np.dstack([cut.colour * alpha[..., None], alpha]).astype(np.float32)


def placed(layer: Array, matrix: Array, size: tuple[int, int]) -> tuple[Array, int, int] | None:
    """A layer [h, w, 4] in the picture: its pixels there, and their left and top; None out of sight."""
    height, width = layer.shape[:2]
    corners = matrix @ np.array([[0, width, 0, width], [0, 0, height, height], [1, 1, 1, 1]], dtype=float)
    left, top = (max(0, math.floor(v.min()) - 1) for v in corners)
    right, bottom = (min(limit, math.ceil(v.max()) + 1) for v, limit in zip(corners, size, strict=True))
    if left >= right or top >= bottom:
        return None
    moved = matrix.copy()
    moved[:, 2] -= (left, top)
    shrunk = max(abs(np.linalg.det(matrix[:, :2])), 1e-6) ** 0.5
    source = cv2.GaussianBlur(layer, (0, 0), 0.4 / shrunk) if shrunk < 0.7 else layer
    done = cv2.warpAffine(source, moved, (right - left, bottom - top), flags=cv2.INTER_LINEAR)
    return done, left, top


def over(canvas: Array, layer: Array, left: int, top: int) -> None:
    """A premultiplied layer drawn over the canvas, in place."""
    under = canvas[top : top + layer.shape[0], left : left + layer.shape[1]]
    under *= 1 - layer[..., 3:]
    under += layer[..., :3]


def mean_of(layers: list[tuple[Array, int, int]], count: int) -> tuple[Array, int, int]:
    """Placed layers averaged over `count` times; one that is out of sight counts as clear."""
    left, top = min(x for _, x, _ in layers), min(y for _, _, y in layers)
    right = max(x + layer.shape[1] for layer, x, _ in layers)
    bottom = max(y + layer.shape[0] for layer, _, y in layers)
    total = np.zeros((bottom - top, right - left, 4), np.float32)
    for layer, x, y in layers:
        total[y - top : y - top + layer.shape[0], x - left : x - left + layer.shape[1]] += layer / count
    return total, left, top
