"""The shadow at an object's foot: measured in the photograph where there is one, soft by default."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from scipy import ndimage

from physplan_photo.compose.cutouts import Array, box_of

SHADOW_REACH = 0.4  # of the object's larger side: how far beside it a shadow is looked for
SOFT_SHADOW_HEIGHT = 0.35  # of its height, from its foot: where a soft shadow counts
DARKER, DEEP, DARKEST = 0.9, 0.72, 0.04  # of the ground's brightness
PENUMBRA_LIGHT = 0.95  # of the ground's brightness: how light a found shadow's own edge may be
MAX_WIDENING = 1.6  # of the found shadow's area: how large it may be with this edge
MIN_REMAINING_LIGHT = 0.12  # what a shadow leaves of the ground's brightness at least
HUE_TOLERANCE = 0.05  # of a channel's share: what a shadow's hue may differ from the ground's
SEAM_WIDTH = 0.015  # of the height: bright seams between an object and its shadow are closed
MAX_SPREAD = 0.17  # spread of the share within a shadow: more of it is a thing or a pattern
NO_SHADOW_HEIGHT = 0.12  # heights of the frame above the ground at which it is gone
LEAST, MOST = 0.02, 0.9  # of the object's area
MAX_BEYOND = 1.0  # of a shadow's area: as dark, and continues farther away


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shadow:
    """What the ground's brightness is multiplied by [h, w] in a window; 1 without shadow."""

    factor: Array
    left: int
    top: int

    def onto(self, canvas: Array, shift: tuple[float, float], weight: float) -> None:
        if weight <= 0.01:
            return
        height, width = canvas.shape[:2]
        matrix = np.array([[1, 0, self.left + shift[0]], [0, 1, self.top + shift[1]]], dtype=float)
        left, top = max(0, int(matrix[0, 2]) - 1), max(0, int(matrix[1, 2]) - 1)
        right = min(width, int(matrix[0, 2]) + self.factor.shape[1] + 2)
        bottom = min(height, int(matrix[1, 2]) + self.factor.shape[0] + 2)
        if left >= right or top >= bottom:
            return
        matrix[:, 2] -= (left, top)
        dark = cv2.warpAffine(1 - self.factor, matrix, (right - left, bottom - top), flags=cv2.INTER_LINEAR)
        canvas[top:bottom, left:right] *= (1 - weight * dark)[..., None]


def measured_region(image: Array, mask: Array, others: Array) -> Array | None:
    """Where the photograph shows a shadow beside an object; None where none is plain.

    Beside its lower part a soft one counts; elsewhere only a deep, even one in the ground's own hue.
    """
    left, top, right, bottom = box_of(mask)
    reach = max(4, round(SHADOW_REACH * max(right - left, bottom - top)))
    near = grown(mask, reach) & ~mask & ~others
    ring = grown(near, reach) & ~mask & ~others & ~near
    if near.sum() < 50 or ring.sum() < 50:
        return None
    share = light_share(image, ring)
    low = near.copy()
    low[: round(bottom - SOFT_SHADOW_HEIGHT * (bottom - top))] = False
    soft = low & (share < DARKER) & (share > DARKEST)
    deep = near & (share < DEEP) & (share > DARKEST) & _same_hue(image, ring)
    found = [part for part in (_touching(soft, mask, low), _touching(deep, mask, near)) if part is not None]
    found = [part for part in found if share[part].std() < MAX_SPREAD and _ends(part, share, mask, near)]
    if not found:
        return None
    # What lies between the shadow and the object, its black parts and its pinholes belong to it.
    whole = np.any(found, axis=0)
    edge = near & (share < PENUMBRA_LIGHT) & (share > DARKEST) & grown(whole, reach // 2)
    wider = ndimage.binary_propagation(whole, mask=edge | whole)
    whole = wider if wider.sum() < MAX_WIDENING * whole.sum() else whole
    whole |= _beside(near & (share <= DARKEST), whole, 0.5)
    reach = max(3, round(SEAM_WIDTH * len(image)))
    wide = np.pad(whole | mask, reach, mode="edge").astype(np.uint8)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    closed = cv2.morphologyEx(wide, cv2.MORPH_CLOSE, kernel)[reach:-reach, reach:-reach] > 0
    holes = _beside(ndimage.binary_fill_holes(closed) & ~closed, whole, 0.2)
    return ((closed & grown(whole, 2 * reach)) | holes) & ~mask & ~others


def _ends(part: Array, share: Array, mask: Array, near: Array) -> bool:
    """Whether a dark part ends near its object: a tree or a wall continues beyond."""
    dark = (share < DARKER) & ~mask
    labels, _ = ndimage.label(dark)
    own = np.bincount(labels[part], minlength=2)[1:].argmax() + 1
    return bool(((labels == own) & ~near).sum() < MAX_BEYOND * part.sum())


def _beside(parts: Array, whole: Array, most: float) -> Array:
    """The parts that touch `whole` and have at most a share of its size."""
    labels, count = ndimage.label(parts)
    if not count:
        return parts
    sizes = np.bincount(labels.ravel())
    touching = np.unique(labels[grown(whole, 2)])
    return np.isin(labels, [k for k in touching if k and sizes[k] < most * whole.sum()])


def light_share(image: Array, ring: Array) -> Array:
    """Brightness over the ground's [H, W]: a plane through the brighter part of `ring`, so that a gradient
    (a sky, a lit table) is no shadow."""
    light = cv2.GaussianBlur(image.mean(-1), (0, 0), 2)
    ys, xs = np.nonzero(ring)
    every = max(1, len(xs) // 4000)
    ys, xs = ys[::every], xs[::every]
    values, size = light[ys, xs], float(max(light.shape))
    kept = values >= np.percentile(values, 35)
    terms = np.stack([xs / size, ys / size, np.ones(len(xs))], 1)
    plane = np.linalg.lstsq(terms[kept], values[kept], rcond=None)[0]
    down, across = np.mgrid[0 : light.shape[0], 0 : light.shape[1]].astype(np.float32) / size
    ground = np.clip(plane[0] * across + plane[1] * down + plane[2], values.min() * 0.8, values.max())
    return (light / np.maximum(ground, 0.02)).astype(np.float32)


def _same_hue(image: Array, ring: Array) -> Array:
    """Whether a pixel has the ground's hue, or is too dark to have one."""
    smooth = cv2.GaussianBlur(image, (0, 0), 2)
    hue = smooth / np.maximum(smooth.sum(-1, keepdims=True), 0.02)
    return (np.abs(hue - np.median(hue[ring], 0)).max(-1) < HUE_TOLERANCE) | (smooth.mean(-1) < 0.12)


def _touching(dark: Array, mask: Array, within: Array) -> Array | None:
    """The parts of `dark` that touch the object, where they are of a shadow's size."""
    dark = ndimage.binary_opening(dark, iterations=2)
    labels, count = ndimage.label(dark)
    beside = np.unique(labels[grown(mask, 4)])
    found = np.isin(labels, beside[beside > 0]) if count else dark
    area = found.sum() / max(mask.sum(), 1)
    return found if LEAST < area < MOST and found.sum() < 0.75 * within.sum() else None


def grown(mask: Array, reach: int) -> Array:
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    return cv2.dilate(mask.astype(np.uint8), kernel) > 0


def shadow_of(image: Array, mask: Array, others: Array, region: Array | None) -> Shadow:
    """Smooth, as dark as the photograph's inside `region`, else a soft ellipse under the object's foot."""
    if region is None:
        return _default(mask)
    reach = max(4, round(SHADOW_REACH * max(np.ptp(np.nonzero(mask), axis=1))))
    ring = grown(region | mask, reach) & ~mask & ~others & ~region
    if ring.sum() < 50:
        return _default(mask)
    sigma = max(2.0, 0.012 * len(image))
    weight = region.astype(np.float32)
    depth = np.clip(1 - light_share(image, ring), 0, 1 - MIN_REMAINING_LIGHT) * weight
    # It continues under the object's edge, so that no light shows between them.
    spread = cv2.GaussianBlur(depth, (0, 0), sigma) / np.maximum(
        cv2.GaussianBlur(weight, (0, 0), sigma), 1e-3
    )
    under = grown(region, round(3 * sigma)) & mask
    edge = cv2.GaussianBlur((region | under).astype(np.float32), (0, 0), max(1.2, sigma / 4))
    factor = 1 - spread * edge
    left, top, right, bottom = box_of(region | under)
    pad = round(2 * sigma)
    left, top = max(0, left - pad), max(0, top - pad)
    return Shadow(
        factor=np.ascontiguousarray(factor[top : bottom + pad, left : right + pad], dtype=np.float32),
        left=left,
        top=top,
    )


def _default(mask: Array) -> Shadow:
    _left, top, _right, bottom = box_of(mask)
    foot = mask[max(top, bottom - max(2, (bottom - top) // 12)) : bottom].any(0)
    columns = np.flatnonzero(foot)
    middle, half = (columns[0] + columns[-1]) / 2, max(3.0, (columns[-1] - columns[0]) / 2)
    tall = max(3.0, 0.16 * half)
    ys, xs = np.mgrid[0 : int(6 * tall), 0 : int(4 * half)].astype(np.float32)
    away = ((xs - 2 * half) / (1.12 * half)) ** 2 + ((ys - 3 * tall) / tall) ** 2
    factor = (1 - 0.38 * np.exp(-0.9 * away)).astype(np.float32)
    return Shadow(factor=factor, left=round(middle - 2 * half), top=round(bottom - 3.4 * tall))


def grounded(y: float, start: float, end: float, height: int) -> float:
    """How plain the shadow is while an object's foot is at `y`: whole on the ground, gone in the air."""
    lift = min(abs(y - start), abs(y - end)) / (NO_SHADOW_HEIGHT * height)
    return max(0.0, 1 - lift)
