"""What a picture of the world is made of: sprites, each with a place, a size and a look for every frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Value = Any  # a number, or an array with one number per frame; a colour, or one per frame

#: Colours by the names that the state graph uses.
PALETTE: dict[str, tuple[float, float, float]] = {
    "red": (0.84, 0.22, 0.20),
    "orange": (0.93, 0.52, 0.16),
    "yellow": (0.95, 0.80, 0.25),
    "green": (0.28, 0.62, 0.33),
    "teal": (0.16, 0.58, 0.60),
    "blue": (0.22, 0.42, 0.80),
    "purple": (0.52, 0.32, 0.70),
    "pink": (0.92, 0.52, 0.64),
    "white": (0.94, 0.93, 0.90),
    "grey": (0.58, 0.60, 0.63),
    "brown": (0.56, 0.37, 0.22),
    "dark": (0.20, 0.20, 0.24),
}


TIMED = ("x", "y", "w", "h", "angle", "alpha", "level")


@dataclass(frozen=True, kw_only=True)
class Sprite:
    """One drawn thing. Every number is a scalar, or an array with one value per frame.

    `y` is the centre, growing downwards; `near` orders the drawing and is the depth (1 = at the camera).
    Sprites that share an `object` are parts of one object.
    """

    object: str
    category: str
    kind: str
    x: Value
    y: Value
    w: Value
    h: Value
    near: float
    color: Value = (0.5, 0.5, 0.5)
    angle: Value = 0.0
    alpha: Value = 1.0
    level: Value = 0.0  # kind-specific: how full, how wet, how lit
    order: float = 0.0  # breaks ties of `near` between parts and contents
    grounded: bool = True  # casts a contact shadow on the table
    foot: float | None = None  # where on the table that shadow lies, when not where `near` says
    look: dict[str, Any] = field(default_factory=dict)

    def moved(self, **changes: Any) -> Sprite:
        return replace(self, **changes)

    def at(self, frames: Sequence[int]) -> Sprite:
        """The sprite in these frames only."""
        chosen = list(frames)
        changes: dict[str, Any] = {
            k: np.asarray(getattr(self, k))[chosen] for k in TIMED if np.ndim(getattr(self, k)) == 1
        }
        if np.ndim(self.color) == 2:
            changes["color"] = np.asarray(self.color)[chosen]
        return replace(self, **changes)


def over_time(value: Value, frames: int) -> Array:
    """[T, 1, 1], or [1, 1, 1] for what does not change."""
    array = np.asarray(value, dtype=np.float32)
    if array.ndim == 0:
        return array.reshape(1, 1, 1)
    if array.shape[0] != frames:
        raise ValueError(f"a sprite's value has {array.shape[0]} frames, the clip has {frames}")
    return array.reshape(frames, 1, 1)


def color_over_time(value: Value, frames: int) -> Array:
    """[T, 1, 1, 3] or [1, 1, 1, 3]."""
    array = np.asarray(value, dtype=np.float32)
    return array.reshape(1, 1, 1, 3) if array.ndim == 1 else array.reshape(frames, 1, 1, 3)


def ramp(times: Array, start: float, end: float) -> Array:
    """0 until time `start`, 1 from time `end`, smooth between."""
    t = np.clip((times - start) / max(end - start, 1e-3), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def mix(a: Value, b: Value, t: Value) -> Array:
    """a at t = 0, b at t = 1; colours mix per channel."""
    first, second, t = (np.asarray(v, dtype=np.float32) for v in (a, b, t))
    if first.ndim == 1 and t.ndim == 1 and first.shape[0] == 3:
        t = t[:, None]
    return first + (second - first) * t
