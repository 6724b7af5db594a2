"""Changes of shape: cracks, halves, pieces, melting, bending and crumpling of a cutout."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import cv2
import numpy as np
from scipy.spatial import cKDTree

from physplan_photo.compose.cutouts import Array, Cutout
from physplan_photo.effects.noise import fitted

PIECE_COUNT = 13


def _box(cut: Cutout) -> tuple[float, float, float, float]:
    """Left, top, width and height of the object within the cutout."""
    width, height = cut.size
    return cut.centre[0] - cut.left - width / 2, cut.centre[1] - cut.top - height / 2, width, height


def _read(cut: Cutout, x: Array, y: Array) -> Cutout:
    """Each pixel from (x, y) of the cutout."""
    x, y = x.astype(np.float32), y.astype(np.float32)
    colour = cv2.remap(cut.colour, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    alpha = cv2.remap(cut.alpha, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    return cut.looking(colour, alpha)


def _grid(cut: Cutout) -> tuple[Array, Array]:
    ys, xs = np.mgrid[0 : cut.alpha.shape[0], 0 : cut.alpha.shape[1]].astype(np.float32)
    return xs, ys


@lru_cache(maxsize=8)
def _pieces(
    height: int, width: int, box: tuple[float, float, float, float], seed: int
) -> tuple[Array, Array, Array]:
    """Voronoi labels [h, w], how near each pixel is to a border between pieces, and the sites."""
    random = np.random.default_rng(seed)
    left, top, wide, tall = box
    sites = np.stack([left + wide * random.random(PIECE_COUNT), top + tall * random.random(PIECE_COUNT)], 1)
    ys, xs = np.mgrid[0:height, 0:width]
    one, two = (
        0.12 * max(wide, tall) * (fitted(seed % 997 + k, (height, width), 2, slope=2.3) - 0.5) for k in (1, 2)
    )
    distance, label = cKDTree(sites).query(np.stack([xs + one, ys + two], -1).reshape(-1, 2), k=2)
    border = (distance[:, 1] - distance[:, 0]).reshape(height, width).astype(np.float32)
    return label[:, 0].reshape(height, width), border, sites


def cracked(cut: Cutout, amount: float, seed: int) -> Cutout:
    height, width = cut.alpha.shape
    _, border, sites = _pieces(height, width, _box(cut), seed)
    xs, ys = _grid(cut)
    away = np.hypot(xs - sites[0, 0], ys - sites[0, 1]) / max(cut.size)
    thick = max(1.0, 0.004 * max(cut.size))
    line = np.clip(1.2 - border / thick, 0, 1) * np.clip((1.3 * amount - away) * 6, 0, 1)
    light = np.clip(1.2 - np.roll(border, (1, 1), (0, 1)) / thick, 0, 1) * np.clip(
        (1.3 * amount - away) * 6, 0, 1
    )
    colour = cut.colour * (1 - 0.8 * line[..., None]) + 0.12 * np.clip(light - line, 0, 1)[..., None]
    return cut.looking(np.clip(colour, 0, 1).astype(np.float32), cut.alpha)


def shattered(cut: Cutout, amount: float, seed: int) -> Cutout:
    """Pieces that come apart, turn and sink to the foot."""
    if amount < 0.12:
        return cracked(cut, amount / 0.12, seed)
    height, width = cut.alpha.shape
    labels, _, sites = _pieces(height, width, _box(cut), seed)
    left, top, wide, tall = _box(cut)
    middle, go = np.array([left + wide / 2, top + tall * 0.6]), (amount - 0.12) / 0.88
    whole = np.dstack([cut.colour * cut.alpha[..., None], cut.alpha])
    made = np.zeros_like(whole)
    random = np.random.default_rng(seed + 1)
    for k in np.argsort(sites[:, 1]):
        spin, jitter = random.normal() * 55, random.normal(size=2) * 0.06 * wide
        piece = whole * (labels == k)[..., None]
        if not piece[..., 3].any():
            continue
        out = (sites[k] - middle) * 0.42 * go + jitter * go
        floor = top + tall - sites[k][1] - 0.1 * tall * random.random()
        out[1] = out[1] * (1 - go) + max(0.0, floor) * go**2 - 0.12 * tall * 4 * go * (1 - go)
        matrix = cv2.getRotationMatrix2D((float(sites[k][0]), float(sites[k][1])), float(spin * go), 1.0)
        matrix[:, 2] += out
        moved = cv2.warpAffine(piece, matrix, (width, height), flags=cv2.INTER_LINEAR)
        made = made * (1 - moved[..., 3:]) + moved
    alpha = made[..., 3]
    return cut.looking((made[..., :3] / np.maximum(alpha, 1e-4)[..., None]).astype(np.float32), alpha)


def split(cut: Cutout, amount: float, seed: int) -> Cutout:
    """Two halves that lean apart along an uneven cut."""
    left, top, wide, tall = _box(cut)
    height, width = cut.alpha.shape
    xs, _ys = _grid(cut)
    jag = 0.05 * wide * (fitted(seed % 997, (height, width), 4) - 0.5)
    right_half = xs + jag > left + wide / 2
    whole = np.dstack([cut.colour * cut.alpha[..., None], cut.alpha])
    made = np.zeros_like(whole)
    for side, part in ((-1, ~right_half), (1, right_half)):
        pivot = (left + wide / 2 + side * 0.45 * wide, top + tall)
        matrix = cv2.getRotationMatrix2D(pivot, -side * 13 * amount, 1.0)
        matrix[0, 2] += side * 0.06 * wide * amount
        moved = cv2.warpAffine(whole * part[..., None], matrix, (width, height), flags=cv2.INTER_LINEAR)
        made = made * (1 - moved[..., 3:]) + moved
    alpha = made[..., 3]
    return cut.looking((made[..., :3] / np.maximum(alpha, 1e-4)[..., None]).astype(np.float32), alpha)


def melted(cut: Cutout, amount: float, seed: int, low: float = 0.22, wide_by: float = 0.45) -> Cutout:
    """Sinks to its foot, and its lower part runs out to the sides."""
    left, top, wide, tall = _box(cut)
    xs, ys = _grid(cut)
    foot, middle = top + tall, left + wide / 2
    squash = 1 - (1 - low) * amount
    up = (foot - ys) / max(squash, 0.05)
    share = np.clip(1 - up / tall, 0, 1) ** 2
    runs = 0.12 * amount * tall * (fitted(seed % 997, cut.alpha.shape, 3) - 0.5)
    return _read(cut, middle + (xs - middle) / (1 + wide_by * amount * share), foot - up + runs * (1 - share))


def softened(cut: Cutout, amount: float, seed: int) -> Cutout:
    return melted(cut, amount, seed, low=0.8, wide_by=0.35)


def bent(side: int) -> Callable[[Cutout, float, int], Cutout]:
    def look(cut: Cutout, amount: float, seed: int) -> Cutout:
        _left, top, _wide, tall = _box(cut)
        xs, ys = _grid(cut)
        up = np.clip((top + tall - ys) / tall, 0, 1.4)
        return _read(cut, xs - side * 0.32 * amount * tall * up**2, ys - 0.1 * amount * tall * up**3)

    return look


def crumpled(cut: Cutout, amount: float, seed: int) -> Cutout:
    _left, top, wide, tall = _box(cut)
    xs, ys = _grid(cut)
    shape = cut.alpha.shape
    one, two = fitted(seed % 997, shape, 3) - 0.5, fitted(seed % 997 + 1, shape, 3) - 0.5
    foot, squash = top + tall, 1 - 0.32 * amount
    folded = _read(
        cut, xs + 0.16 * amount * wide * one, foot - (foot - ys) / squash + 0.16 * amount * tall * two
    )
    slope = cv2.Sobel(one, cv2.CV_32F, 1, 0, ksize=5)
    shade = 1 - np.clip(slope * 2.2, -0.35, 0.35) * amount
    return cut.looking(np.clip(folded.colour * shade[..., None], 0, 1).astype(np.float32), folded.alpha)


def dented(cut: Cutout, amount: float, seed: int) -> Cutout:
    left, top, wide, tall = _box(cut)
    xs, ys = _grid(cut)
    x, y, radius = left + 0.6 * wide, top + 0.45 * tall, 0.25 * min(wide, tall)
    dx, dy = (xs - x) / radius, (ys - y) / radius
    pit = np.exp(-(dx**2 + dy**2)) * amount
    pressed = _read(cut, xs + dx * radius * 0.5 * pit, ys + dy * radius * 0.5 * pit)
    shade = 1 + 0.45 * pit * (dy * 0.8 + dx * 0.4)
    return cut.looking(np.clip(pressed.colour * shade[..., None], 0, 1).astype(np.float32), pressed.alpha)


def torn(cut: Cutout, amount: float, seed: int) -> Cutout:
    """A gap that opens from the upper edge downwards."""
    left, top, wide, tall = _box(cut)
    xs, ys = _grid(cut)
    down = (ys - top) / tall
    jag = 0.09 * wide * (fitted(seed % 997, cut.alpha.shape, 6) - 0.5)
    gap = 0.11 * wide * np.clip(0.75 * amount - down, 0, 1)
    open_ = np.clip(gap - np.abs(xs - (left + 0.55 * wide) + jag) + 0.5, 0, 1)
    return cut.looking(cut.colour, (cut.alpha * (1 - open_)).astype(np.float32))
