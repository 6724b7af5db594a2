"""Pictures of the small world to try things with: every phenomenon in every variant, with its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from PIL import Image

from physplan.errors import PhysPlanError
from physplan.registry import did_you_mean
from physplan_sandbox.world.phenomena import PHENOMENA, scene
from physplan_sandbox.world.scene import Scene

SPLIT = "validation"  # test scenes are for tests


@cache
def names() -> Mapping[str, tuple[str, str]]:
    """Name -> phenomenon and variant."""
    return {
        f"{phenomenon}-{variant}": (phenomenon, variant)
        for phenomenon, found in PHENOMENA.items()
        for variant in found.variants
    }


def sample(name: str, number: int = 0) -> Scene:
    """A scene by its name; a phenomenon alone stands for its first variant."""
    phenomenon, variant = names().get(name, (name, None))
    if phenomenon not in PHENOMENA:
        raise PhysPlanError(
            f"There is no sample {name!r}. {did_you_mean(name, [*names(), *PHENOMENA])} "
            "`physplan sample --list` shows all."
        )
    variant = variant or next(iter(PHENOMENA[phenomenon].variants))
    return scene(SPLIT, number, phenomenon=phenomenon, variant=variant)


def first_frame(shown: Scene) -> Image.Image:
    return Image.fromarray(shown.render(only=[0]).frames[0])
