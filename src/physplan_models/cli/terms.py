"""The terms of the models that presets name, for `physplan doctor` and docs/responsible-use.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from physplan.presets import needs, recipe


@dataclass(frozen=True, kw_only=True)
class Terms:
    licence: str
    commercial: str  # yes, conditions, no
    note: str = ""

    def sentence(self, model: str) -> str:
        """What to know before the model is used for money."""
        words = {"yes": "may be used commercially", "conditions": "commercial use has conditions"}
        note = f"; {self.note}" if self.note else ""
        return f"{model}: {words.get(self.commercial, 'no commercial use')} ({self.licence}{note})"


@cache
def terms() -> Mapping[str, Terms]:
    """By the model's name on the hub, or at its service."""
    text = resources.files("physplan.presets").joinpath("terms.yaml").read_text(encoding="utf-8")
    return {name: Terms(**entry) for name, entry in yaml.safe_load(text).items()}


def models_of(preset: str) -> tuple[str, ...]:
    """All that a preset names: weights, and models of services. The sandbox's own come with PhysPlan."""
    content = recipe(preset)
    asked = [content["reasoner"].get("model"), content["editor"].get("options", {}).get("model")]
    return tuple(dict.fromkeys([*needs(preset).weights, *(name for name in asked if name)]))


def terms_of(preset: str) -> dict[str, Terms]:
    return {name: terms()[name] for name in models_of(preset)}
