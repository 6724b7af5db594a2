"""Every method that a run knows by name: guidance's, and those that need no gradient."""

from __future__ import annotations

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.methods import FRAME_GUIDANCE, FRAME_GUIDANCE_WAN, method_config
from physplan.guidance.methods import METHODS as GUIDANCE_METHODS
from physplan.pipeline.config import Config
from physplan.video.published import PUBLISHED

SKETCH, STORYBOARD = "sketch", "storyboard"  # a video model takes the sketch; the sketch is the video
SKETCHED = (SKETCH, STORYBOARD)
CONDITIONED = "conditioned"  # a video model is given the keyframes as pictures
METHODS = (*GUIDANCE_METHODS, *SKETCHED, CONDITIONED)


def guidance_of(method: str, config: Config) -> GuidanceConfig:
    """The guidance of a method; those that need no gradient have none."""
    name = "base" if method in (*SKETCHED, CONDITIONED) else method
    frame_guidance = config.frame_guidance
    if frame_guidance == FRAME_GUIDANCE and _is_wan(config.video.model):  # as its own code has it there
        frame_guidance = FRAME_GUIDANCE_WAN
    return method_config(name, physplan=config.guidance, frame_guidance=frame_guidance)


def encodes_clip(method: str, config: Config) -> bool:
    """Whether the video model encodes a whole clip: the sketch, or bystanders that are held in latents."""
    if method == CONDITIONED:
        return config.conditioned.start == "sketch"
    guidance = guidance_of(method, config)
    kept = guidance.keep and guidance.keep_in == "latents" and any(guidance.schedule.repeats)
    return method == SKETCH or guidance.start == "sketch" or kept


def _is_wan(model: str) -> bool:
    return model in PUBLISHED and PUBLISHED[model].pipeline.startswith("Wan")
