"""Framepack on HunyuanVideo, and the shapes of its networks: the library's defaults but for what it adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from physplan.errors import PhysPlanError
from physplan_models.published.model import PublishedModel

if TYPE_CHECKING:
    from physplan.pipeline.config import VideoConfig


class InParts(PublishedModel):
    """Published in three repositories, which the library puts together in Python."""

    def check_size(self, video: VideoConfig) -> None:
        if video.source is None:
            raise PhysPlanError(
                f"The parts of {self.name} are in three repositories: save the library's pipeline as one"
                " folder (docs/video.md has the lines), and give that as video.source."
            )
        super().check_size(video)


HUNYUAN_FRAMEPACK = InParts(
    name="hunyuan-framepack",
    repo="hunyuanvideo-community/HunyuanVideo",
    revision="main",
    height=480,
    width=832,
    num_frames=37,
    fps=30,
    num_inference_steps=30,
    guidance_scale=9.0,
    pipeline="HunyuanVideoFramepackPipeline",
    networks={
        "transformer": (
            "HunyuanVideoFramepackTransformer3DModel",
            {"has_image_proj": True, "has_clean_x_embedder": True},
        ),
        "vae": ("AutoencoderKLHunyuanVideo", {}),
    },
    encoder_parameters=8.5,
    scheduler={"shift": 7.0},
    keyframes="last",
)
