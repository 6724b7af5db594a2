"""The phenomena of the simulated world, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from physplan.errors import PhysPlanError
from physplan_sandbox.world.phenomena.balance import Balance
from physplan_sandbox.world.phenomena.balls import Drop, Roll
from physplan_sandbox.world.phenomena.behind import Behind
from physplan_sandbox.world.phenomena.blocks import Dominoes, Push
from physplan_sandbox.world.phenomena.domino_chain import Cascade
from physplan_sandbox.world.phenomena.fluids import Ink, Pour
from physplan_sandbox.world.phenomena.heat import Flame, Ice
from physplan_sandbox.world.phenomena.magnetism import Magnet
from physplan_sandbox.world.phenomena.marbles import Marbles
from physplan_sandbox.world.phenomena.optics import Filter, Lamp, Shadow
from physplan_sandbox.world.phenomena.overflow import Overflow
from physplan_sandbox.world.phenomena.ramp import Ramp
from physplan_sandbox.world.phenomena.seesaw import Seesaw
from physplan_sandbox.world.scene import Phenomenon, Scene, build_scene

# The order decides which scene a number means: add new phenomena at the end of a subset.
SHORT: tuple[Phenomenon, ...] = (
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
STORIES: tuple[Phenomenon, ...] = (Overflow(), Behind(), Marbles(), Ramp(), Cascade(), Seesaw(), Balance())
#: Named groups of phenomena: what happens in one or two events, and longer chains.
SUBSETS: Mapping[str, tuple[Phenomenon, ...]] = {"short": SHORT, "stories": STORIES}
ALL = "all"
PHENOMENA = {p.name: p for group in SUBSETS.values() for p in group}
DOMAINS = ("solid mechanics", "fluid dynamics", "optics", "magnetism", "thermodynamics")


def scene(
    split: str, index: int, *, phenomenon: str | None = None, variant: str | None = None, subset: str = ALL
) -> Scene:
    """Scene `index` of a split; the phenomena and their variants take turns unless one is named.

    Of all scenes the even ones are of the subset `short` and the odd ones of `stories`.
    """
    if phenomenon is not None:
        return build_scene(PHENOMENA[phenomenon], split=split, index=index, variant=variant)
    if subset not in (ALL, *SUBSETS):
        raise PhysPlanError(f"There is no subset {subset!r} of scenes: choose {ALL}, {', '.join(SUBSETS)}.")
    groups = [group for name, group in SUBSETS.items() if group and subset in (ALL, name)]
    number, group = divmod(index, len(groups))
    kinds = [(p, v) for p in groups[group] for v in p.variants]
    found, turn = kinds[number % len(kinds)]
    return build_scene(found, split=split, index=index, variant=variant or turn)


def scenes(split: str, count: int, *, start: int = 0, subset: str = ALL) -> Iterator[Scene]:
    for index in range(start, start + count):
        yield scene(split, index, subset=subset)


def one_of_each(split: str, index: int = 0) -> Iterator[Scene]:
    """A scene of every variant of every phenomenon."""
    for name, phenomenon in PHENOMENA.items():
        for variant in phenomenon.variants:
            yield scene(split, index, phenomenon=name, variant=variant)
