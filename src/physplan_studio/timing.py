"""How long a run will take: what runs of the same recipe took here, the sampling by its number of steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from physplan.settings import DEFAULT_PRESET

# Seconds of the default preset on one busy core, until a run was made here; the sampling is per step.
AT_FIRST = {"plan": 1, "keyframes": 2, "evidence": 1, "sketch": 1, "latents": 2, "video": 1, "verdict": 1}


def seconds_needed(
    cards: Iterable[Mapping[str, Any]], stages: Sequence[str], *, preset: str, method: str, steps: int
) -> tuple[float | None, int]:
    """Seconds of these stages, and of how many earlier runs that is the median; None: nothing is known."""
    like = [card for card in cards if card["preset"] == preset and card["finished"]]
    same = [card for card in like if card["method"] == method]
    total, runs = 0.0, 0
    for stage in stages:
        known = [one for card in same if (one := _scaled(card, stage, steps)) is not None]
        if known:
            runs = max(runs, len(known))
            total += median(known)
        elif preset == DEFAULT_PRESET:
            total += AT_FIRST[stage] * (steps if stage == "latents" else 1)
        else:
            return None, 0
    return total, runs


def _scaled(card: Mapping[str, Any], stage: str, steps: int) -> float | None:
    took: float | None = card["stages"].get(stage)
    if took is None or stage != "latents":
        return took
    before = card["steps"]
    return took * steps / before if isinstance(before, int) and before > 0 else None
