"""Everything that can happen in the world, by name."""

from __future__ import annotations

from collections.abc import Iterator

from physplan.sandbox.world.phenomena.balls import Drop, Roll
from physplan.sandbox.world.phenomena.blocks import Dominoes, Push
from physplan.sandbox.world.phenomena.fluids import Ink, Pour
from physplan.sandbox.world.phenomena.heat import Flame, Ice
from physplan.sandbox.world.phenomena.magnetism import Magnet
from physplan.sandbox.world.phenomena.optics import Filter, Lamp, Shadow
from physplan.sandbox.world.scene import Phenomenon, Scene, build_scene

# The order decides which scene a number means: add new phenomena at the end.
_ALL: tuple[Phenomenon, ...] = (
    Drop(),
    Push(),
    Dominoes(),
    Roll(),
    Pour(),
    Ink(),
    Lamp(),
    Filter(),
    Shadow(),
    Magnet(),
    Ice(),
    Flame(),
)
PHENOMENA = {p.name: p for p in _ALL}
DOMAINS = ("solid mechanics", "fluid dynamics", "optics", "magnetism", "thermodynamics")


def scene(split: str, index: int, *, phenomenon: str | None = None, variant: str | None = None) -> Scene:
    """Scene `index` of a split; the phenomena and their variants take turns unless one is named."""
    if phenomenon is None:
        kinds = [(p, v) for p in PHENOMENA.values() for v in p.variants]
        found, turn = kinds[index % len(kinds)]
        return build_scene(found, split=split, index=index, variant=variant or turn)
    return build_scene(PHENOMENA[phenomenon], split=split, index=index, variant=variant)


def scenes(split: str, count: int, *, start: int = 0) -> Iterator[Scene]:
    for index in range(start, start + count):
        yield scene(split, index)
