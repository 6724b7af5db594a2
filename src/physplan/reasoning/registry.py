"""Reasoners by name, imported only when one is used. Each entry is called with a `CallSettings`."""

from __future__ import annotations

import importlib.util

from physplan.calls.settings import CallSettings
from physplan.errors import PhysPlanError
from physplan.reasoning.protocol import Reasoner
from physplan.registry import Registry

REASONERS = Registry(
    "reasoner",
    {
        "sandbox": "physplan.sandbox.reasoner:SandboxReasoner",
        "paper": "physplan.reasoning.presets:paper",
        "open": "physplan.reasoning.presets:open_weights",
        "paper-motion": "physplan.reasoning.presets:paper_motion",
        "open-motion": "physplan.reasoning.presets:open_motion",
        "paper-prompt-derived": "physplan.reasoning.presets:paper_prompt_derived",
        "paper-full-graph": "physplan.reasoning.presets:paper_full_graph",
        "open-prompt-derived": "physplan.reasoning.presets:open_prompt_derived",
        "open-full-graph": "physplan.reasoning.presets:open_full_graph",
    },
)


def make_reasoner(name: str, settings: CallSettings | None = None) -> Reasoner:
    """The reasoner of a preset, or of a preset with an ablation ("paper-full-graph")."""
    entry = REASONERS.get(name)
    if entry is not None and importlib.util.find_spec(entry.partition(":")[0]) is None:
        raise PhysPlanError(f"The reasoner {name!r} is not part of this installation.")
    reasoner: Reasoner = REASONERS.load(name)(settings or CallSettings())
    return reasoner
