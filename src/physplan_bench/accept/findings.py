"""What a stage says: findings with a level and a meaning, and figures that another machine can compare."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Level = Literal["pass", "warning", "failure", "skipped"]
ORDER: tuple[Level, ...] = ("skipped", "pass", "warning", "failure")
TITLES = {
    1: "The machine and the weights",
    2: "Parity with the library on these weights",
    3: "Perception on photographs",
    4: "One guided repeat",
    5: "One short video of each method",
    6: "One plan, keyframe and video as the preset asks for them",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`meaning` says what follows from it; `value` is a figure with its unit in `name`."""

    name: str
    level: Level
    meaning: str = ""
    value: float | str | None = None

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        if isinstance(self.value, float) and not math.isfinite(self.value):
            found["value"] = str(self.value)
        return found


@dataclass(frozen=True, kw_only=True)
class StageResult:
    stage: int
    findings: Sequence[Finding]
    seconds: float = 0.0
    pictures: Mapping[str, str] = field(default_factory=dict)  # file in the folder -> caption

    @property
    def level(self) -> Level:
        return max((one.level for one in self.findings), key=ORDER.index, default="skipped")

    def to_json(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "title": TITLES[self.stage],
            "level": self.level,
            "seconds": round(self.seconds, 2),
            "findings": [one.to_json() for one in self.findings],
            "pictures": dict(self.pictures),
        }


def checked(
    name: str, good: bool, fault: str, *, value: float | str | None = None, level: Level = "failure"
) -> Finding:
    """A pass where it is `good`, else `level` with what is at fault."""
    return Finding(name=name, level="pass" if good else level, value=value, meaning="" if good else fault)


def skipped(stage: int, name: str, meaning: str) -> StageResult:
    return StageResult(stage=stage, findings=[Finding(name=name, level="skipped", meaning=meaning)])


def judged(
    name: str, value: float, *, good: float, bad: float, meaning: str, fault: str | None = None
) -> Finding:
    """A figure that should be small: pass up to `good`, a warning up to `bad`, else a failure.

    What is no number at all is a failure."""
    level: Level = "warning" if math.isfinite(value) and value <= bad else "failure"
    return checked(name, math.isfinite(value) and value <= good, fault or meaning, value=value, level=level)
