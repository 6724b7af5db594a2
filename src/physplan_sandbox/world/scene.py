"""A scene: one phenomenon in one layout, from which every outcome can be played and rendered."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from physplan_sandbox.world.physics import Poses
from physplan_sandbox.world.render import FRAME_BEATS, FRAMES, WORLD_SIZE, Backdrop, Clip, nearness, render
from physplan_sandbox.world.sprites import PALETTE, Sprite, mix, ramp

#: Scenes of different splits come from different random streams.
SPLITS = {"train": 11, "validation": 23, "test": 37}


@dataclass(frozen=True, kw_only=True)
class Thing:
    """An object of the first frame, as the state graph will name it."""

    category: str
    color: str = "clear"
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where things are and how they look: everything that is random about a scene except the distractors."""

    ground: float  # picture height of the line on which the main objects stand
    near: float
    values: Mapping[str, float]
    colors: Mapping[str, str]

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def rgb(self, name: str) -> tuple[float, float, float]:
        return PALETTE[self.colors[name]]


class Phenomenon(Protocol):
    """One thing that can happen. `variants` maps each kind of scene to its outcomes, the plausible one
    first."""

    @property
    def name(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def prompts(self) -> tuple[str, ...]: ...
    @property
    def variants(self) -> Mapping[str, tuple[str, ...]]: ...

    def values(self, variant: str, rng: np.random.Generator) -> dict[str, float]: ...
    def colors(self, variant: str, rng: np.random.Generator) -> dict[str, str]: ...
    def things(self, variant: str, layout: Layout) -> dict[str, Thing]: ...
    def relations(self, variant: str) -> tuple[tuple[str, str, str], ...]: ...
    def occupied(self, variant: str, layout: Layout) -> Sequence[tuple[float, float]]: ...
    def play(self, variant: str, outcome: str, layout: Layout, take: Take) -> list[Sprite]: ...


T = TypeVar("T")
Spot = tuple[float, float]  # where a distractor may stand: across, and the picture height of its foot


@runtime_checkable
class Spotted(Protocol):
    """A phenomenon that says itself where there is room for distractors."""

    def spots(self, layout: Layout, horizon: float) -> Sequence[Spot]: ...


@dataclass(frozen=True, kw_only=True)
class Take:
    """Small differences between two runs of the same physics."""

    pace: float = 1.0
    nudge: float = 0.0

    @classmethod
    def numbered(cls, take: int, rng: np.random.Generator) -> Take:
        if take == 0:
            return cls()
        return cls(pace=float(rng.uniform(0.93, 1.07)), nudge=float(rng.uniform(-1, 1)))

    def ramp(self, start: float, end: float) -> np.ndarray:
        """0 until beat `start`, 1 from beat `end`."""
        return ramp(FRAME_BEATS, start * self.pace, end * self.pace)


@dataclass(frozen=True, kw_only=True)
class Scene:
    split: str
    index: int
    phenomenon: Phenomenon
    variant: str
    prompt: str
    layout: Layout
    backdrop: Backdrop
    things: Mapping[str, Thing]
    distractors: Mapping[str, Sprite]

    @property
    def outcomes(self) -> tuple[str, ...]:
        return self.phenomenon.variants[self.variant]

    @property
    def plausible(self) -> str:
        return self.outcomes[0]

    @property
    def name(self) -> str:
        return f"{self.split}-{self.index:04d}-{self.phenomenon.name}-{self.variant}"

    def take(self, number: int) -> Take:
        rng = np.random.default_rng([SPLITS[self.split], self.index, number, zlib.crc32(b"take")])
        return Take.numbered(number, rng)

    def sprites(
        self, outcome: str | None = None, *, take: int = 0, change: DistractorChange | None = None
    ) -> list[Sprite]:
        played = self.phenomenon.play(self.variant, outcome or self.plausible, self.layout, self.take(take))
        others = [change.of(s) if change and change.target == k else s for k, s in self.distractors.items()]
        return played + others

    def render(
        self,
        outcome: str | None = None,
        *,
        take: int = 0,
        size: int = 96,
        change: DistractorChange | None = None,
        only: Sequence[int] | None = None,
    ) -> Clip:
        """The clip, or `only` some of its frames."""
        sprites = self.sprites(outcome, take=take, change=change)
        if only is not None:
            sprites = [s.at(only) for s in sprites]
        return render(sprites, self.backdrop, size=size, frames=FRAMES if only is None else len(only))


@dataclass(frozen=True, kw_only=True)
class DistractorChange:
    """An uninvolved object changes for no reason, as large generators let it: only in training clips."""

    target: str
    kind: str  # recolour, drift, vanish, grow
    color: tuple[float, float, float] = (0.5, 0.5, 0.5)
    start: float = 4.0
    amount: float = 1.0

    KINDS = ("recolour", "drift", "vanish", "grow")

    @classmethod
    def sample(cls, targets: Sequence[str], rng: np.random.Generator) -> DistractorChange:
        color = PALETTE[str(rng.choice(list(PALETTE)))]
        return cls(
            target=str(rng.choice(list(targets))),
            kind=str(rng.choice(cls.KINDS)),
            color=color,
            start=float(rng.uniform(2, 8)),
            amount=float(rng.choice([-1.0, 1.0])),
        )

    def of(self, sprite: Sprite) -> Sprite:
        t = ramp(FRAME_BEATS, self.start, self.start + 9)
        if self.kind == "recolour":
            return sprite.moved(color=mix(sprite.color, self.color, t))
        if self.kind == "drift":
            return sprite.moved(x=sprite.x + 9.0 * self.amount * t)
        if self.kind == "vanish":
            return sprite.moved(alpha=1.0 - t)
        grown = 1.0 + 0.45 * t
        return sprite.moved(
            w=sprite.w * grown, h=sprite.h * grown, y=sprite.y - 0.5 * sprite.h * (grown - 1.0)
        )


DISTRACTORS: dict[str, tuple[float, float, tuple[str, ...]]] = {
    "cup": (14.5, 12.5, ("red", "orange", "teal", "purple", "pink", "white", "yellow")),
    "bottle": (9.5, 22.0, ("green", "teal", "purple", "brown", "dark")),
    "plant": (15.0, 22.0, ("orange", "brown", "white", "pink", "dark")),
    "apple": (12.5, 12.0, ("red", "green", "yellow", "orange")),
}

WALLS = ((0.80, 0.84, 0.86), (0.87, 0.83, 0.74), (0.74, 0.80, 0.74), (0.84, 0.78, 0.80), (0.70, 0.76, 0.84))
TABLES = ((0.66, 0.48, 0.33), (0.52, 0.40, 0.33), (0.74, 0.62, 0.46), (0.50, 0.54, 0.56), (0.60, 0.44, 0.40))


def build_scene(
    phenomenon: Phenomenon,
    *,
    split: str,
    index: int,
    variant: str | None = None,
    distractors: int | None = None,
) -> Scene:
    """The scene with this number: the same arguments always give the same scene."""
    seed = [SPLITS[split], index, zlib.crc32(phenomenon.name.encode())]
    rng = np.random.default_rng(seed)
    drawn = str(rng.choice(list(phenomenon.variants)))
    variant = variant or drawn
    horizon = float(rng.uniform(42, 47))
    ground = float(rng.uniform(72, 77))
    layout = Layout(
        ground=ground,
        near=float(nearness(ground, horizon)),
        values=phenomenon.values(variant, rng),
        colors=phenomenon.colors(variant, rng),
    )
    backdrop = Backdrop(
        horizon=horizon,
        wall=_tinted(WALLS[rng.integers(len(WALLS))], rng),
        table=_tinted(TABLES[rng.integers(len(TABLES))], rng),
        pattern=str(rng.choice(["plain", "stripes", "tiles"])),
        light=float(rng.uniform(0.90, 1.06)),
        phase=float(rng.uniform(0, 14)),
    )
    things = phenomenon.things(variant, layout)
    crowd = int(getattr(phenomenon, "crowd", 3))  # the most distractors that there is room for
    number = int(rng.integers(1, crowd + 1)) if distractors is None else distractors
    shown = {thing.category for thing in things.values()}
    kinds = _shuffled([k for k in DISTRACTORS if k not in shown], rng)
    if isinstance(phenomenon, Spotted):
        spots = _shuffled(phenomenon.spots(layout, horizon), rng)
    else:
        spots = _free_spots(phenomenon.occupied(variant, layout), horizon, rng)
    extras = dict(_place_distractors(number, kinds, spots, horizon, rng, crowded=crowd > 3))
    return Scene(
        split=split,
        index=index,
        phenomenon=phenomenon,
        variant=variant,
        prompt=str(rng.choice(list(phenomenon.prompts))),
        layout=layout,
        backdrop=backdrop,
        things={
            **things,
            **{key: Thing(category=s.category, color=color) for key, (s, color) in extras.items()},
        },
        distractors={key: sprite for key, (sprite, _) in extras.items()},
    )


def _tinted(color: tuple[float, float, float], rng: np.random.Generator) -> tuple[float, float, float]:
    r, g, b = (float(np.clip(c + rng.uniform(-0.03, 0.03), 0, 1)) for c in color)
    return r, g, b


def back_row(horizon: float, *across: float) -> list[Spot]:
    """Spots near the table's far edge."""
    return [(x, horizon + 7.0) for x in across]


def _free_spots(
    occupied: Sequence[tuple[float, float]], horizon: float, rng: np.random.Generator
) -> list[Spot]:
    """Free places in the back row first, then in the front corners."""
    back = back_row(horizon, 9.0, 24.0, 38.0, 58.0, 73.0, 87.0)
    free = [s for s in back if all(s[0] + 9 < lo or s[0] - 9 > hi for lo, hi in occupied)]
    return [*_shuffled(free, rng), *_shuffled([(x, 93.0) for x in (10.0, 86.0)], rng)]


def _shuffled(things: Sequence[T], rng: np.random.Generator) -> list[T]:
    mixed = list(things)
    rng.shuffle(mixed)
    return mixed


def _place_distractors(
    number: int,
    kinds: Sequence[str],
    spots: Sequence[Spot],
    horizon: float,
    rng: np.random.Generator,
    *,
    crowded: bool = False,
) -> Iterator[tuple[str, tuple[Sprite, str]]]:
    """On the first spots that are not too close; a kind comes twice when all have come.

    In `crowded` scenes only low things stand in front.
    """
    keys = [*kinds, *(f"{kind}2" for kind in kinds)]
    chosen: list[Spot] = []
    for place in spots:
        if len(chosen) < number and all(
            abs(place[0] - c[0]) > 13 or abs(place[1] - c[1]) > 20 for c in chosen
        ):
            chosen.append(place)
    for x, base in chosen:
        low = crowded and base > 70
        key = next((k for k in keys if not low or DISTRACTORS[k.removesuffix("2")][1] < 15), None)
        if key is None:
            continue
        keys.remove(key)
        kind = key.removesuffix("2")
        w, h, colors = DISTRACTORS[kind]
        base += float(rng.uniform(-1, 1))
        size = float(rng.uniform(0.9, 1.1)) * (1.0 if base < 70 else 1.15)
        color = str(rng.choice(list(colors)))
        sprite = Sprite(
            object=key,
            category=kind,
            kind=kind,
            x=float(np.clip(x + rng.uniform(-2, 2), w * 0.6, WORLD_SIZE - w * 0.6)),
            y=base - 0.5 * h * size,
            w=w * size,
            h=h * size,
            near=float(nearness(base, horizon)),
            color=PALETTE[color],
        )
        yield key, (sprite, color)


def pick(rng: np.random.Generator, *names: str) -> str:
    return str(rng.choice(list(names)))


def sprite(
    key: str,
    layout: Layout,
    *,
    category: str | None = None,
    kind: str | None = None,
    at: Poses | None = None,
    **given: Any,
) -> Sprite:
    """A sprite that stands on the main line, unless its pose, its centre `y` or its foot `base` is given.

    A value that is a name is the layout's of that name. Category, kind and colour are those of `key`, unless
    given; a colour is looked up by the category too.
    """
    values: dict[str, Any] = {n: layout[v] if isinstance(v, str) else v for n, v in given.items()}
    category = category or key
    if at is not None:
        values |= {"x": at.x, "y": at.y, "angle": at.angle}
    elif "y" not in values:
        values["y"] = np.asarray(values.pop("base", layout.ground)) - 0.5 * np.asarray(values["h"])
    if named := [name for name in (key, category) if name in layout.colors]:
        values.setdefault("color", layout.rgb(named[0]))
    values.setdefault("near", layout.near)
    return Sprite(object=key, category=category, kind=kind or category, **values)
