"""A setting: a field of a config that says what it means and which values it takes.

The range stands in the field's metadata, beside the default; whoever reads a config checks it with `problem`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, field
from typing import Any

LONGEST_TEXT = 4096  # characters
DEFAULT_PRESET = "sandbox"  # runs on a CPU, without a key or a download


def setting(
    default: Any = MISSING,
    says: str = "",
    *,
    factory: Any = MISSING,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] = (),
    pattern: str = "",
    **more: Any,
) -> Any:
    """`low` and `high` are allowed, `above` and `below` are not; for a list they hold for every entry.

    Text may be one of `choices`, or match `pattern`, of which `says` gives examples.
    """
    limits: dict[str, Any] = {"low": low, "above": above, "high": high, "below": below}
    limits |= {"choices": choices, "pattern": pattern}
    return field(default=default, default_factory=factory, metadata={"says": says, **limits, **more})


def retired(kind: Any, *, keyed: bool = False) -> Mapping[str, Any]:
    """Settings that a class had before, with the one value that still means what is done now.

    They are read from files and run folders. Those that are `keyed` stand in stage keys; what had come later
    never did at this value.
    """
    return getattr(kind, "RETIRED", {}) | ({} if keyed else getattr(kind, "RETIRED_LATER", {}))


def problem(value: Any, metadata: Mapping[str, Any]) -> str | None:
    """What is wrong with a value of the right type, as the end of a sentence; None where nothing is."""
    if isinstance(value, tuple | list):
        return next((found for entry in value if (found := problem(entry, metadata))), None)
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            return f"give at most {LONGEST_TEXT} characters"
        if any(not c.isprintable() and c not in "\n\t" for c in value):
            return "give text without control characters"
        if (pattern := metadata.get("pattern")) and not re.fullmatch(pattern, value):
            return f"give {metadata['says']}"
        choices = metadata.get("choices") or ()
        return f"choose one of {', '.join(choices)}" if choices and value not in choices else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, above = metadata.get("low"), metadata.get("above")
    high, below = metadata.get("high"), metadata.get("below")
    fits = (
        (isinstance(value, int) or math.isfinite(value))  # isfinite cannot take a whole number of any length
        and (low is None or value >= low)
        and (above is None or value > above)
        and (high is None or value <= high)
        and (below is None or value < below)
    )
    return (
        None
        if fits
        else f"give {'a whole number' if isinstance(value, int) else 'a number'} {span(metadata)}"
    )


def span(metadata: Mapping[str, Any]) -> str:
    """A range in words: "from 1 to 64", "above 0, at most 3600"."""
    low, above = metadata.get("low"), metadata.get("above")
    high, below = metadata.get("high"), metadata.get("below")
    if low is not None and high is not None:
        return f"from {_short(low)} to {_short(high)}"
    start = (
        f"from {_short(low)}" if low is not None else f"above {_short(above)}" if above is not None else ""
    )
    end = (
        f"at most {_short(high)}"
        if high is not None
        else f"below {_short(below)}"
        if below is not None
        else ""
    )
    return ", ".join(part for part in (start, end) if part) or "that is finite"


def _short(number: float) -> str:
    return f"{number:,}".replace(",", " ") if isinstance(number, int) else f"{number:g}"
