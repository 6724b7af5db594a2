"""Reasoners by name, imported only when one is used. Each entry is called with a `CallSettings`."""

from __future__ import annotations

import importlib.util
import inspect
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from physplan.calls.settings import CallSettings
from physplan.errors import PhysPlanError
from physplan.reasoning.protocol import Reasoner
from physplan.reasoning.templates import PromptSet
from physplan.registry import Registry

if TYPE_CHECKING:
    from physplan.perception import Segmenter

REASONERS = Registry("reasoner", {}, group="reasoners")


def make_reasoner(
    name: str,
    settings: CallSettings | None = None,
    *,
    prompts: str | os.PathLike[str] | None = None,
    load_segmenter: Callable[[], Segmenter] | None = None,
) -> Reasoner:
    """The reasoner of a preset, or of a preset with an ablation ("paper-full-graph").

    `prompts` is a folder with templates of one's own; they are checked here, before anything is asked.
    `load_segmenter` gives the run's segmenter for a reasoner that looks at the picture with it.
    """
    entry = REASONERS.get(name)
    if entry is not None and importlib.util.find_spec(entry.partition(":")[0]) is None:
        raise PhysPlanError(f"The reasoner {name!r} is not part of this installation.")
    make = REASONERS.load(name)
    options: dict[str, Any] = {}
    if load_segmenter is not None and "load_segmenter" in inspect.signature(make).parameters:
        options["load_segmenter"] = load_segmenter
    if prompts is not None:
        if "prompts" not in inspect.signature(make).parameters:
            raise PhysPlanError(f"The reasoner {name!r} asks no model: leave out reasoner.prompts.")
        options["prompts"] = PromptSet.read(prompts)
    reasoner: Reasoner = make(settings or CallSettings(), **options)
    return reasoner
