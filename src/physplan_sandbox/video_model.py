"""The sandbox's video model as the pipeline knows it before it is loaded: values, sizes, memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan.video.known import KnownVideoModel, no_keyframes

if TYPE_CHECKING:
    from physplan.pipeline.config import RuntimeConfig, VideoConfig
    from physplan.video.protocol import VideoModel


class SandboxModel(KnownVideoModel):
    """The sandbox's model comes with the package; `video.source` may name a folder with another one."""

    reads = False  # it knows its own small language
    values: Mapping[str, Any] = {
        "height": 96,
        "width": 96,
        "num_frames": 33,
        "fps": 8,
        "num_inference_steps": 14,
        "guidance_scale": 1.0,
        "use_dynamic_cfg": False,
        "eta": 0.5,
        "dtype": "fp32",
    }

    def check_size(self, video: VideoConfig) -> None:
        own = self.values
        if video.quantisation is not None:
            raise PhysPlanError("The sandbox model is small enough: leave video.quantisation out.")
        if video.attention is not None:
            raise PhysPlanError("The sandbox model has no attention: leave video.attention out.")
        if any(getattr(video, name) != own[name] for name in ("height", "width", "num_frames")):
            raise PhysPlanError(
                f"The sandbox model makes {own['num_frames']} frames of {own['width']} x {own['height']}: "
                f"leave height, width and num_frames as they are, not {video.height}, {video.width} and "
                f"{video.num_frames}."
            )

    def check_keyframes(self, video: VideoConfig) -> None:
        raise PhysPlanError(no_keyframes("sandbox"))

    def warnings(self, picture: tuple[int, int]) -> list[str]:
        if picture == (self.values["width"], self.values["height"]):
            return []
        return [
            f"the sandbox's model has seen nothing but its own small world, in {self.values['width']} x "
            f"{self.values['height']}; of another picture its video means nothing (physplan sample --list)"
        ]

    def load(self, video: VideoConfig, runtime: RuntimeConfig) -> VideoModel:
        from physplan_sandbox.components import load_video
        from physplan_sandbox.video import SandboxVideo

        model = load_video() if video.source is None else SandboxVideo.from_pretrained(video.source)
        if video.files.tiny_decoder is not None:
            from physplan_models.tiny_decoder import load_tiny

            model.tiny = load_tiny(Path(video.files.tiny_decoder), model)
        return model


MODEL = SandboxModel()
