"""What the composer draws beside the objects themselves; every part can be switched off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from physplan.sketch.registry import LAYERS


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeConfig:
    shadows: bool = True  # travel with their objects
    shutter: float = 0.5  # share of a frame's time that the shutter is open; 0: no motion blur
    squash: float = 0.12  # of the height, where a hopping thing lands; 0: rigid
    roll: bool = True  # round things turn by what they travel, whatever their law
    effects: bool = True  # flames flicker and smoke rises; False: as in their keyframe
    camera: float = 0.0  # zoom over the clip: the camera moves in
    parallax: float = 0.6  # by how much more what acts grows than what is behind it; 0: one layer
    fps: float = 24.0
    layers: str = "none"  # what is behind things, what of them is hidden: as `sketch.layers`
    layer_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        LAYERS.check(self.layers)
