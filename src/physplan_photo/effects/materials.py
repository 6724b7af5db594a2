"""Which material a spawned category is made of, and drawing it at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from physplan_photo.effects.flame import Tongue, draw_flames
from physplan_photo.effects.liquid import draw_drops, draw_liquid, draw_sparks, puddle_shape
from physplan_photo.effects.noise import Array
from physplan_photo.effects.puffs import DUST, EXHAUST, SMOKE, draw_puffs, tinted
from physplan_photo.effects.wisps import draw_wisps

WORDS = {
    "flame": ("flame", "fire", "blaze", "jet", "exhaust"),
    "steam": ("steam", "vapour", "vapor", "mist", "fog"),
    "smoke": ("smoke", "fume"),
    "dust": ("dust", "debris", "sand", "powder", "snow", "cloud"),
    "sparks": ("spark", "ember"),
    "drops": ("drop", "rain", "drip", "splash", "spray"),
    "liquid": (
        "puddle", "water", "liquid", "pool", "coffee", "tea", "milk", "wine", "juice", "oil", "paint", "lava",
        "blood", "juice", "soup", "melt",
    ),
}  # fmt: skip
MATERIALS = tuple(WORDS)


def material_of(category: str, phase: str = "") -> str | None:
    """The material of a new object, by its name, else by its phase; None for a solid thing."""
    found = next(
        (name for name, words in WORDS.items() if any(w in category.casefold() for w in words)), None
    )
    return found or {"liquid": "liquid", "gas": "smoke"}.get(phase)


@dataclass(frozen=True, kw_only=True, eq=False)
class Emitter:
    """A material that comes from a source. Times are in seconds since it began; places in pixels."""

    material: str
    category: str
    seed: int
    source: Callable[[float], tuple[float, float, float, float]]  # left, top, right, bottom at a time
    stops: float  # when the source gives off no more
    jet: bool = False  # the flame of something that it drives upwards
    inside: Array | None = None  # bool [H, W] of the vessel that a liquid fills
    ground: Array | None = None  # bool [H, W] of what a liquid lies on
    outline: Array | None = None  # bool [H, W] of the source in the first frame: where it burns
    colour: tuple[float, float, float] | None = None  # of the source, which its dust and pieces have

    def draw(self, canvas: Array, now: float, strength: float) -> Array:
        """Onto the canvas [H, W, 3] in [0, 1]; returns the opacity [H, W]."""
        left, top, right, bottom = self.source(now)
        middle, half = (left + right) / 2, max(2.0, (right - left) / 2)
        if self.material == "flame":
            return self._flame(canvas, (left, top, right, bottom), now, strength)
        if self.material == "steam":
            return draw_wisps(canvas, self._top(now, len(canvas)), now, self.seed, strength)
        if self.material in ("smoke", "dust"):
            kind = SMOKE if self.material == "smoke" else tinted(DUST, self.colour)
            where = partial(self._top, height=len(canvas))
            return draw_puffs(canvas, kind, where, now, self.stops, self.seed, min(1.0, strength))
        if self.material == "drops":
            return draw_drops(
                canvas, (middle, bottom, 0.7 * half), 2.0 * len(canvas), now, self.seed, self.category
            )
        if self.material == "sparks":
            return draw_sparks(canvas, (middle, (top + bottom) / 2, half), now, self.seed, strength)
        return self._liquid(canvas, (left, top, right, bottom), now, strength)

    def _flame(
        self, canvas: Array, box: tuple[float, float, float, float], now: float, strength: float
    ) -> Array:
        left, top, right, bottom = box
        middle, half = (left + right) / 2, (right - left) / 2
        if self.jet:
            smoke = draw_puffs(canvas, EXHAUST, self._below, now, self.stops, self.seed + 1, 1.0)
            tongue = Tongue(
                x=middle, y=bottom, half=0.62 * half, length=max(4.2 * half, 0.17 * len(canvas)), down=True
            )
            return np.maximum(smoke, draw_flames(canvas, [tongue], now, self.seed, strength))
        wide, tall = right - left, bottom - top
        young = 0.3 + 0.7 * min(1.0, strength)  # a fire begins narrow as well as low
        tongues = [
            Tongue(
                x=left + across * wide, y=top + down * tall, half=0.42 * size * min(wide, tall) * young,
                length=size * min(1.15 * tall, 1.6 * wide),
            )
            for across, down, size in self._hearths
        ]  # fmt: skip
        return draw_flames(canvas, tongues, now, self.seed, strength)

    @cached_property
    def _hearths(self) -> tuple[tuple[float, float, float], ...]:
        """Where it burns, in shares of the source's box, and the flame's size: along the upper outline, and
        smaller on the body below. The upper ones are farther away and come first."""
        random = np.random.default_rng(self.seed + 5)
        if self.outline is None or not self.outline.any():
            return ((0.28, 0.5, 0.35), (0.72, 0.5, 0.38), (0.5, 0.55, 0.5))
        rows, columns = np.flatnonzero(self.outline.any(1)), np.flatnonzero(self.outline.any(0))
        tall, wide = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
        count = int(np.clip(round(10 + 10 * wide / tall), 12, 30))
        places = []
        for k in range(count):
            across = (k + 0.5 + 0.5 * (random.random() - 0.5)) / count
            column = np.flatnonzero(self.outline[:, columns[0] + min(wide - 1, int(across * wide))])
            if not len(column):
                continue
            top, high = (column[0] - rows[0]) / tall, len(column) / tall
            places.append((across, float(top + min(0.1, 0.4 * high)), 0.15 + 0.15 * random.random()))
            if high > 0.3 and k % 4 == 1:
                inside = float(top + high * (0.45 + 0.35 * random.random()))
                places.append((across, inside, 0.1 + 0.06 * random.random()))
        return tuple(sorted(places, key=lambda place: place[1]))

    def _top(self, now: float, height: int) -> tuple[float, float, float]:
        """Steam leaves the surface inside a vessel's rim; near the frame's upper edge it starts lower."""
        left, top, right, bottom = self.source(now)
        middle, tall = (left + right) / 2, bottom - top
        if self.material == "dust":
            return middle, (top + bottom) / 2, 0.4 * (right - left)
        deep, wide = (0.4, 0.38) if self.material == "steam" else (0.12, 0.22)
        return middle, max(top + deep * tall, min(0.3 * height, top + 0.45 * tall)), wide * (right - left)

    def _below(self, now: float) -> tuple[float, float, float]:
        left, _, right, bottom = self.source(now)
        return (left + right) / 2, bottom + 0.9 * (right - left), 0.3 * (right - left)

    def _liquid(
        self, canvas: Array, box: tuple[float, float, float, float], now: float, strength: float
    ) -> Array:
        left, _top, right, bottom = box
        height, width = canvas.shape[:2]
        if self.inside is not None:
            rows = np.flatnonzero(self.inside.any(1))
            level = rows[-1] - strength * 0.7 * (rows[-1] - rows[0])
            shape = self.inside.astype(np.float32) * (np.arange(height) >= level)[:, None]
        else:
            radius = max(0.06 * height, 0.75 * (right - left)) * strength
            centre = ((left + right) / 2, bottom - 0.02 * height + 0.1 * radius)
            shape = puddle_shape((height, width), centre, (radius, 0.27 * radius), self.seed)
            if self.ground is not None:
                shape = shape * self.ground
        return draw_liquid(canvas, shape * min(1.0, 4 * strength), self.category, now, self.seed)
