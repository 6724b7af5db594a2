"""A camera that moves in: two layers, what acts and the photograph behind it, with parallax between them."""

from __future__ import annotations

from collections.abc import Collection

import cv2
import numpy as np

from physplan_photo.compose.cutouts import Array


def moved_in(
    canvas: Array, far: Array, alphas: dict[str, Array], acting: Collection[str], *, share: float, near: float
) -> Array:
    """The frame [H, W, 3] with the back larger by `share` and what acts by `near`.

    `far` is the frame without what acts; the opacities in `alphas` move along.
    """
    fronts = [alpha for id, alpha in alphas.items() if id in acting]
    front = np.clip(np.max(fronts, axis=0), 0, 1) if fronts else np.zeros(canvas.shape[:2], np.float32)
    own = np.where(front[..., None] > 0, np.maximum(canvas - far * (1 - front[..., None]), 0), 0)
    layer = zoomed(np.dstack([own, front]), near)  # without what shines through it
    behind = zoomed(np.where(front[..., None] > 0, far, canvas), share)
    for id, alpha in alphas.items():
        alphas[id] = zoomed(alpha, near if id in acting else share)
    done: Array = behind * (1 - layer[..., 3:]) + layer[..., :3]
    return done


def zoomed(values: Array, share: float) -> Array:
    """Larger by a share, about the middle."""
    height, width = values.shape[:2]
    matrix = np.array([[1 + share, 0, -share * width / 2], [0, 1 + share, -share * height / 2]])
    done: Array = cv2.warpAffine(
        values, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return done
