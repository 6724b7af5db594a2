"""Adapters over diffusers' own model classes, one file per family, each with its `FAMILY`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from physplan.errors import PhysPlanError
from physplan.registry import Registry, did_you_mean

if TYPE_CHECKING:
    from physplan_models.families.family import Family

FAMILIES = Registry("video family", {}, group="video_families")


def family_of(pipeline: str) -> Family:
    """The family that loads the pipelines of this class."""
    known: list[str] = []
    for name in FAMILIES:
        family: Family = FAMILIES.load(name)
        if pipeline in family.pipelines:
            return family
        known += family.pipelines
    raise PhysPlanError(f"No video family loads a {pipeline}. {did_you_mean(pipeline, known)}")
