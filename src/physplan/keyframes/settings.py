"""How keyframes are drawn and checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from physplan.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """All are fractions: of what no edit touches, of brightness, of the longer side, of an object's place."""

    max_drift: float = setting(0.03, "of what no edit touches may have changed visibly", low=0, high=1)
    visible: float = setting(0.1, "of brightness: a change that the eye sees", low=0, high=1)
    margin: float = setting(
        0.05, "around edited objects, for shadows and what spills over an outline", low=0, high=1
    )
    still_there: float = setting(0.5, "covered of a consumed object's old place", low=0, high=1)
    meddled: float = setting(0.5, "changed of an object that no edit touches", low=0, high=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderSettings:
    """A keyframe that fails its check is drawn again at most `redraws` times."""

    redraws: int = 2
    check: CheckSettings = field(default_factory=CheckSettings)
