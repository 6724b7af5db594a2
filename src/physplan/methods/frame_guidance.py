"""Frame Guidance: the whole keyframe as the loss, with the settings of its public code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.recipes import FRAME_GUIDANCE as DEFAULT
from physplan.methods.method import Method
from physplan.video.known import VIDEO_MODELS

if TYPE_CHECKING:
    from physplan.pipeline.config import Config


class FrameGuidance(Method):
    def guidance(self, config: Config) -> GuidanceConfig | None:
        """Unless settings were changed, those of its code for the video model."""
        model = config.video.model
        own = VIDEO_MODELS.load(model).frame_guidance if model in VIDEO_MODELS else None
        return own if own is not None and config.frame_guidance == DEFAULT else super().guidance(config)


FRAME_GUIDANCE = FrameGuidance(
    name="frame_guidance", about="Frame Guidance: whole keyframes as the loss", settings="frame_guidance"
)
