"""Methods as run folders and videos of version 0.1 record them, in today's words.

There, `physplan` with `guidance.start: sketch` is what is now `guided_sketch`, its settings stood under
`guidance`, and an ablation was named without its method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from physplan.methods.ablations import ablation_names

NEW_FIELD = "guided_sketch"  # recorded since the two have settings of their own


def recorded_method(name: str, settings: Mapping[str, Any]) -> str:
    """The method that a record of any version means; `settings` are those it names."""
    if NEW_FIELD in settings:
        return name
    guidance = settings.get("guidance")
    start = guidance.get("start") if isinstance(guidance, Mapping) else None
    whole = "guided_sketch" if start == "sketch" else "physplan"
    if name == "physplan":
        return whole
    return f"{whole}.{name}" if name in ablation_names() and guidance is not None else name


def former_name(name: str) -> str:
    """The name under which version 0.1 recorded a method."""
    whole, _, ablation = name.partition(".")
    return ablation or {"guided_sketch": "physplan"}.get(whole, whole)


def former_settings(now: Mapping[str, Any], uses: str | None, default: Any) -> Iterator[dict[str, Any]]:
    """Settings as version 0.1 recorded equal runs. `uses`: the field that the run's method reads.

    Where it reads neither, any of the values that a preset had there stands for the same run.
    """
    if NEW_FIELD not in now:  # settings of a stage that guidance does not decide
        yield dict(now)
        return
    candidates = (
        [now[uses]] if uses in ("guidance", NEW_FIELD) else [now["guidance"], now[NEW_FIELD], default]
    )
    rest = {name: value for name, value in now.items() if name != NEW_FIELD}
    for guidance in candidates:
        method = {"method": former_name(now["method"])} if "method" in now else {}
        yield {**rest, "guidance": guidance, **method}
