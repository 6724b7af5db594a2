"""How keyframes are drawn and checked."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """All are fractions: of what no edit touches, of brightness, of the longer side, of an object's place."""

    max_drift: float = 0.03
    visible: float = 0.1
    margin: float = 0.05  # around edited objects, for shadows and what spills over an outline
    still_there: float = 0.5  # covered of a consumed object's old place
    meddled: float = 0.5  # changed of an object that no edit touches


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderSettings:
    """A keyframe that fails its check is drawn again at most `redraws` times."""

    redraws: int = 2
    check: CheckSettings = field(default_factory=CheckSettings)
