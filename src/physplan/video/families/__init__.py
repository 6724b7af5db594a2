"""Adapters over diffusers' own model classes, one file per family; each says what it is in a `Family`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from physplan.errors import PhysPlanError
from physplan.registry import Registry, did_you_mean

if TYPE_CHECKING:
    from physplan.video.families.family import Family

FAMILIES = Registry(
    "video family",
    {
        "cogvideox": "physplan.video.families.cogvideox:FAMILY",
        "wan": "physplan.video.families.wan:FAMILY",
        "wan-vace": "physplan.video.families.wan_vace:FAMILY",
        "ltx": "physplan.video.families.ltx:FAMILY",
        "ltx-2": "physplan.video.families.ltx2:FAMILY",
        "hunyuan-1.5": "physplan.video.families.hunyuan15:FAMILY",
        "svd": "physplan.video.families.svd:FAMILY",
    },
)


def family_of(pipeline: str) -> Family:
    """The family that loads the pipelines of this class."""
    known: list[str] = []
    for name in FAMILIES:
        family: Family = FAMILIES.load(name)
        if pipeline in family.pipelines:
            return family
        known += family.pipelines
    raise PhysPlanError(f"No video family loads a {pipeline}. {did_you_mean(pipeline, known)}")
