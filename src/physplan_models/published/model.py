"""A published model: where it is, at which commit, what it makes, and its shape.

The shape (`networks`) is what its config.json files say beyond the library's defaults; with it the memory
of a run is known before anything is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from physplan.errors import PhysPlanError
from physplan.guidance.config import GuidanceConfig
from physplan.guidance.recipes import FRAME_GUIDANCE_WAN
from physplan.video.known import KnownVideoModel, no_keyframes
from physplan_models import attention
from physplan_models.estimates import estimates
from physplan_models.quantisation_backends import check_compiled, check_rest, lacking
from physplan_models.sources import lora_file

if TYPE_CHECKING:
    from physplan.pipeline.config import RuntimeConfig, VideoConfig
    from physplan.video.memory import GradientMode, MemoryEstimate, MemoryRequest
    from physplan.video.protocol import VideoModel

Networks = Mapping[str, tuple[str, Mapping[str, Any]]]  # component -> class in diffusers, its config
OWN_VALUES = (
    *("revision", "height", "width", "num_frames", "fps", "num_inference_steps", "guidance_scale"),
    *("use_dynamic_cfg", "eta", "dtype"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedModel(KnownVideoModel):
    name: str
    repo: str
    revision: str
    height: int
    width: int
    num_frames: int
    fps: int
    num_inference_steps: int
    guidance_scale: float
    use_dynamic_cfg: bool = False
    eta: float = 0.0
    dtype: str = "bf16"
    pipeline: str
    networks: Networks
    encoder_parameters: float  # in billions; the picture encoder counts twice, it is loaded in fp32
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the pipeline
    scheduler: Mapping[str, Any] = field(default_factory=dict)  # beyond the family's own settings
    keyframes: Literal["none", "last", "any"] = "none"  # where pictures can be given beside the first
    reads: bool = True

    @property
    def values(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in OWN_VALUES}

    @property
    def frame_guidance(self) -> GuidanceConfig | None:
        return FRAME_GUIDANCE_WAN if self.pipeline.startswith("Wan") else None

    def check_size(self, video: VideoConfig) -> None:
        """Of the size, and of a folder, the estimate of memory does: it runs the model on shapes."""
        if video.eta and video.source is None:
            raise PhysPlanError(
                f"The eta of {video.model} must be 0: the library's steps draw no noise and ignore it."
            )

    def check_keyframes(self, video: VideoConfig) -> None:
        """Of a folder, the estimate of memory does."""
        if video.source is None and self.keyframes == "none":
            raise PhysPlanError(no_keyframes(video.model))

    def check_hints(self, video: VideoConfig) -> None:
        if not self.pipeline.startswith("LTX"):
            super().check_hints(video)

    def check_held(self, video: VideoConfig, runtime: RuntimeConfig, *, differentiated: bool) -> None:
        if video.loras and video.quantisation not in (None, "fp8-storage"):
            raise PhysPlanError(
                f"LoRAs are added to whole weights: leave out video.loras or {video.quantisation}."
            )
        if video.quantisation is not None:
            check_rest(video.quantisation, runtime.offload)
        if runtime.compile:
            check_compiled(video.quantisation, runtime.offload)
        if differentiated and video.attention is not None:
            attention.check_gradients(video.attention)

    def lacking(self, video: VideoConfig, runtime: RuntimeConfig) -> Iterator[tuple[str, str]]:
        for name in (*map(lora_file, video.loras), video.files.tiny_decoder):
            if name is not None and not Path(name).is_file():
                yield f"the file {name}", "give the path of a .safetensors file"
        if video.quantisation is not None:
            yield from lacking(video.quantisation, device=runtime.device)
        if video.attention is not None:
            yield from attention.lacking(video.attention, device=runtime.device)

    def usual_memory(self, mode: GradientMode) -> Mapping[str, float] | None:
        known = estimates().get(self.name)
        return None if known is None else known.get(mode, known["direct"])

    def memory(self, video: VideoConfig, request: MemoryRequest) -> MemoryEstimate:
        return _estimate(self, video.source, video.dtype, request)

    def load(self, video: VideoConfig, runtime: RuntimeConfig) -> VideoModel:
        from physplan_models.loading import LoadOptions, load_video_model

        files = asdict(video.files)
        tiny = files.pop("tiny_decoder")
        options = LoadOptions(
            dtype=video.sampling.dtype,
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
            files={name: Path(file) for name, file in files.items() if file is not None},
            loras=video.loras,
            networks=self.networks,
        )
        model = load_video_model(video.source or self.repo, options)
        if tiny is not None:
            from physplan_models.tiny_decoder import load_tiny

            model.tiny = load_tiny(Path(tiny), model)
        return model


@cache  # the networks are run on shapes: seconds that a second run with the same settings need not wait
def _estimate(
    model: PublishedModel, source: str | None, dtype: str | None, request: MemoryRequest
) -> MemoryEstimate:
    from physplan_models.memory import estimate_folder, estimate_preset

    run = asdict(request)
    if source is None or not Path(source).is_dir():
        return estimate_preset(model, **run)
    return estimate_folder(Path(source), dtype=dtype or "bf16", **run)
