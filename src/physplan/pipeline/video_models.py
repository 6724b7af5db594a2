"""The video models by name, published or embedded: each says its own values, its sizes and its memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from physplan.errors import PhysPlanError
from physplan.pipeline.config import RuntimeConfig, VideoConfig
from physplan.registry import did_you_mean
from physplan.video.published import PUBLISHED, PublishedModel

if TYPE_CHECKING:
    from physplan.video.memory import GradientMode, MemoryEstimate
    from physplan.video.protocol import VideoModel

OWN_VALUES = (
    *("revision", "height", "width", "num_frames", "fps", "num_inference_steps", "guidance_scale"),
    *("use_dynamic_cfg", "eta", "dtype"),
)


class KnownVideoModel(Protocol):
    """`values` are what None stands for in the config's `video`; where that is asked for it is complete."""

    @property
    def values(self) -> Mapping[str, Any]: ...

    def check_size(self, video: VideoConfig) -> None:
        """Refuse a size, or what the steps ignore, where that is known before anything is loaded."""
        ...

    def check_keyframes(self, video: VideoConfig) -> None:
        """Refuse a model that is known to take none."""
        ...

    def memory(
        self,
        video: VideoConfig,
        *,
        mode: GradientMode,
        checkpointing: bool,
        events: int,
        keyframes: int = 0,
        offload: str = "none",
        tiling: bool = False,
        clip: bool = False,
    ) -> MemoryEstimate | None:
        """The estimated peak of sampling; None where that is nothing to speak of."""
        ...

    def doubts(self, picture: tuple[int, int]) -> list[str]:
        """What a reader of the result should know where a picture of this size was given."""
        ...

    def load(self, video: VideoConfig, runtime: RuntimeConfig) -> VideoModel: ...


@dataclass(frozen=True)
class Published:
    model: PublishedModel

    @property
    def values(self) -> Mapping[str, Any]:
        return {name: getattr(self.model, name) for name in OWN_VALUES}

    def check_size(self, video: VideoConfig) -> None:
        """Of the size, and of a folder, the estimate of memory does: it runs the model on shapes."""
        if video.eta and video.source is None:
            raise PhysPlanError(
                f"The eta of {video.model} must be 0: the library's steps draw no noise and ignore it."
            )

    def check_keyframes(self, video: VideoConfig) -> None:
        """Of a folder, the estimate of memory does."""
        if video.source is None and self.model.keyframes == "none":
            raise PhysPlanError(_no_keyframes(video.model))

    def memory(
        self,
        video: VideoConfig,
        *,
        mode: GradientMode,
        checkpointing: bool,
        events: int,
        keyframes: int = 0,
        offload: str = "none",
        tiling: bool = False,
        clip: bool = False,
    ) -> MemoryEstimate:
        return _estimate(video, mode, checkpointing, events, keyframes, offload, tiling, clip)

    def doubts(self, picture: tuple[int, int]) -> list[str]:
        return []

    def load(self, video: VideoConfig, runtime: RuntimeConfig) -> VideoModel:
        from physplan.video.loading import LoadOptions, load_video_model

        options = LoadOptions(
            dtype=video.dtype or "fp32",
            quantisation=video.quantisation,
            attention=video.attention,
            compile=runtime.compile,
            device=runtime.device,
            offload=runtime.offload,
            tiling=runtime.tiling,
            slicing=runtime.slicing,
            checkpointing=runtime.checkpointing,
            keep_encoders=runtime.keep_encoders,
            encoders_on_cpu=runtime.encoders == "cpu",
            revision=video.revision,
            local_files_only=runtime.local_files_only,
            files={name: Path(file) for name, file in asdict(video.files).items() if file is not None},
            networks=self.model.networks,
        )
        return load_video_model(video.source or self.model.repo, options)


class Embedded:
    """The sandbox's model comes with the package; `video.source` may name a folder with another one."""

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
        raise PhysPlanError(_no_keyframes("sandbox"))

    def memory(
        self,
        video: VideoConfig,
        *,
        mode: GradientMode,
        checkpointing: bool,
        events: int,
        keyframes: int = 0,
        offload: str = "none",
        tiling: bool = False,
        clip: bool = False,
    ) -> MemoryEstimate | None:
        return None  # less than a browser tab

    def doubts(self, picture: tuple[int, int]) -> list[str]:
        if picture == (self.values["width"], self.values["height"]):
            return []
        return [
            f"the sandbox's model has seen nothing but its own small world, in {self.values['width']} x "
            f"{self.values['height']}; of another picture its video means nothing (physplan sample --list)"
        ]

    def load(self, video: VideoConfig, runtime: RuntimeConfig) -> VideoModel:
        if video.source is None:
            from physplan.sandbox.components import load_video

            return load_video()
        from physplan.sandbox.video import SandboxVideo

        return SandboxVideo.from_pretrained(video.source)


VIDEO_MODELS: Mapping[str, KnownVideoModel] = {
    "sandbox": Embedded(),
    **{name: Published(model) for name, model in PUBLISHED.items()},
}


def _no_keyframes(name: str) -> str:
    able = [name for name, model in PUBLISHED.items() if model.keyframes != "none"]
    return f"{name} takes no keyframes: use {', '.join(able)}, or the method sketch, which any model takes."


def video_model(name: str) -> KnownVideoModel:
    if name not in VIDEO_MODELS:
        raise PhysPlanError(
            f"There is no video model called {name!r}. {did_you_mean(name, VIDEO_MODELS)} "
            "A model in a folder of yours goes into video.source, with video.model as its kind."
        )
    return VIDEO_MODELS[name]


@cache  # the networks are run on shapes: seconds that a second run with the same settings need not wait
def _estimate(
    video: VideoConfig,
    mode: GradientMode,
    checkpointing: bool,
    events: int,
    keyframes: int,
    offload: str,
    tiling: bool,
    clip: bool,
) -> MemoryEstimate:
    from physplan.video.memory import estimate_folder, estimate_preset

    asked: dict[str, Any] = {
        "height": video.height,
        "width": video.width,
        "num_frames": video.num_frames,
        "eta": video.eta or 0.0,
        "use_dynamic_cfg": bool(video.use_dynamic_cfg),
        "attention": video.attention,
    }
    if video.source is None or not Path(video.source).is_dir():
        return estimate_preset(
            PUBLISHED[video.model],
            anchors=events,
            gradient_mode=mode,
            checkpointing=checkpointing,
            keyframes=keyframes,
            offload=offload,
            tiling=tiling,
            quantisation=video.quantisation,
            clip=clip,
            **asked,
        )
    return estimate_folder(
        Path(video.source),
        dtype=video.dtype or "bf16",
        checkpointing=checkpointing,
        guidance_scale=video.guidance_scale,
        anchors=events,
        gradient_mode=mode,
        keyframes=keyframes,
        offload=offload,
        tiling=tiling,
        quantisation=video.quantisation,
        clip=clip,
        **asked,
    )
