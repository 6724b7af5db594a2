"""What the families share: sizes, classifier-free guidance, decoding. Each adds `prepare` and `denoise`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import torch
from PIL.Image import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.clocks import Clocks
from physplan.video.frames import FrameLayout, Window, WindowMode
from physplan.video.gradient_checkpointing import Checkpointing
from physplan.video.keyframe_conditioning import GivenFrame
from physplan.video.known import no_hints
from physplan.video.noise import keep_frozen
from physplan.video.protocol import Conditioning, NoiseFamily, VideoRequest
from physplan.video.sizes import check_frames, check_sides


class Codec(Protocol):
    """The autoencoder between pixels in [0, 1] and latents in the denoiser's scale."""

    spatial_ratio: int
    temporal_ratio: int
    channels: int
    frame_multiple: int  # it codes videos of k * this + 1 frames

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        """[1, 3, H, W] in [-1, 1] to one latent [1, C, 1, h, w]."""
        ...

    def encode_video(self, video: Tensor) -> Tensor:
        """[1, 3, F, H, W] in [-1, 1] to latents [1, C, n, h, w], float32; the same every time."""
        ...

    def decode(self, latents: Tensor, *, tiled: bool = False) -> Tensor:
        """[1, C, n, h, w] to frames [m, 3, H, W], not clamped; the first latent may give one frame only."""
        ...


@dataclass(frozen=True, kw_only=True)
class Request(VideoRequest):
    """A checked request, keyframes in order; and the steps of preparing that families have in common."""

    layout: FrameLayout

    @property
    def guided(self) -> bool:
        """Whether classifier-free guidance needs the unconditional branch."""
        return self.guidance_scale > 1

    @property
    def branches(self) -> int:
        return 2 if self.guided else 1

    def rows(self, unconditional: Tensor, conditional: Tensor) -> Tensor:
        """The conditioning batch of `FamilyModel.denoise`."""
        return torch.cat([unconditional, conditional]) if self.guided else conditional

    def pixels(self, processor: Any) -> Tensor:
        """The picture at the run's size, [1, 3, H, W] in [-1, 1]."""
        return self.scaled(self.image, processor)

    def scaled(self, image: Image, processor: Any) -> Tensor:
        """Any picture at the run's size, [1, 3, H, W] in [-1, 1]."""
        pixels: Tensor = processor.preprocess(image, height=self.height, width=self.width)
        return pixels

    def draw_by_frame(self, picture: Tensor) -> Tensor:
        """Noise [1, C, F, h, w] for latents like the picture's, on the CPU.

        The library draws it as [1, F, C, h, w]; the same order gives the same video for a seed.
        """
        shape = (1, self.layout.num_latents, *(picture.shape[i] for i in (1, 3, 4)))
        return torch.randn(shape, generator=self.generator, dtype=picture.dtype).transpose(1, 2)

    def conditioning(
        self,
        *,
        latents: Tensor,
        noise: NoiseFamily,
        timesteps: Tensor,
        inputs: Mapping[str, Any],
        guidance: Sequence[float | Tensor] | None = None,
    ) -> Conditioning:
        """The run made ready; the guidance is the same in every step unless given."""
        weights = [self.guidance_scale] * self.num_inference_steps if guidance is None else guidance
        return Conditioning(
            latents=latents,
            noise=noise,
            timesteps=timesteps,
            layout=self.layout,
            height=self.height,
            width=self.width,
            guidance=tuple(weights) if self.guided else (),
            inputs=inputs,
        )


# What a run's encoders make of its words and picture: the family's own named tensors, one row per branch.
EncodeWords = Callable[[Request], dict[str, Any]]


class FamilyModel(ABC):
    """A `VideoModel` but for `prepare` and `denoise`."""

    name: str
    preview_length: int = 3
    preview_mode: WindowMode = "trailing"
    clocks: ClassVar[Clocks | None] = None  # of a start from the sketch; None: they must be given
    batched_guidance: ClassVar[bool] = True  # whether the library's pipeline runs both branches as one batch

    has_dynamic_cfg: ClassVar[bool] = False
    has_eta: ClassVar[bool] = False
    takes_hints: ClassVar[bool] = False  # keyframes of a strength below 1, or for a share of the steps
    masks_words: ClassVar[bool] = False  # whether its denoiser is given a mask of its words

    codec: Codec
    tiny: Any = None  # a small decoder of previews: physplan_models.tiny_decoder
    notes: tuple[str, ...] = ()  # of the loading, shown with the result
    offload: str = "none"
    compute_dtype: torch.dtype | None = None  # set when the weights are stored as something else
    kept: Any = None  # a folder of weights that goes with the model
    denoiser_checkpointing: Checkpointing | None = None
    codec_checkpointing: Checkpointing | None = None
    execution_device: torch.device | None = None  # set when the weights rest on another device (offload)
    denoiser: Any
    side_multiple: int  # height and width are multiples of this

    @cached_property
    def streaming(self) -> list[Any]:
        """Of each denoiser, where its weights rest elsewhere."""
        return []

    @property
    def device(self) -> torch.device:
        return self.execution_device or torch.device(self.denoiser.device)

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = (
            self.compute_dtype or self.denoiser.dtype
        )  # of most weights; some stay in float32
        return dtype

    @property
    def denoisers(self) -> list[Any]:
        """All networks that take turns at denoising."""
        return [self.denoiser]

    @property
    def latent_channels(self) -> int:
        return self.codec.channels

    def check_size(self, *, height: int, width: int, num_frames: int) -> FrameLayout:
        check_sides(self.name, height, width, multiple=self.side_multiple)
        check_frames(self.name, num_frames, multiple=self.codec.frame_multiple)
        return FrameLayout(num_frames=num_frames, ratio=self.codec.temporal_ratio)

    @torch.no_grad()
    def prepare(self, request: VideoRequest) -> Conditioning:
        num_inference_steps, eta = request.num_inference_steps, request.eta
        if not 1 <= num_inference_steps <= 1000:
            raise PhysPlanError(f"A run has 1 to 1000 steps, not {num_inference_steps}: 50 is usual.")
        if request.use_dynamic_cfg and not self.has_dynamic_cfg:
            raise PhysPlanError(f"{self.name} has no dynamic classifier-free guidance: turn it off.")
        if not 0 <= eta <= 1 or (eta and not self.has_eta):
            allowed = "between 0 and 1" if self.has_eta else "0: the library's steps draw no noise"
            raise PhysPlanError(f"The eta of {self.name} must be {allowed}, not {eta:g}.")
        layout = self.check_size(height=request.height, width=request.width, num_frames=request.num_frames)
        self._check_keyframes(request.keyframes, layout)
        require_cpu(request.generator)
        keyframes = tuple(sorted(request.keyframes, key=lambda given: given.frame))
        return self.condition(Request(**vars(request) | {"keyframes": keyframes}, layout=layout))

    def keyframe_places(self, layout: FrameLayout) -> Sequence[int]:
        """The frames after the first at which a picture can be given; none in most models."""
        return ()

    def _check_keyframes(self, keyframes: Sequence[GivenFrame], layout: FrameLayout) -> None:
        places, frames = self.keyframe_places(layout), [given.frame for given in keyframes]
        if frames and not places:
            raise PhysPlanError(
                f"This {self.name} model takes no keyframes: use ltx-0.9.5, wan2.1-vace-1.3b or another that"
                " does, or the method sketch, which any model takes."
            )
        if wrong := [frame for frame in frames if frame not in places]:
            raise PhysPlanError(
                f"This {self.name} model takes no picture at frame {wrong[0]}: move it to one of its places."
            )
        if not self.takes_hints and any(one.strength < 1 or one.until < 1 for one in keyframes):
            raise PhysPlanError(no_hints(self.name))
        if len(set(frames)) < len(frames):
            raise PhysPlanError("Two keyframes are given for one frame: give one.")
        if empty := [one.frame for one in keyframes if one.where is not None and not one.where.any()]:
            raise PhysPlanError(
                f"Nothing of the keyframe of frame {empty[0]} is given: leave it out, or give all of it."
            )

    @abstractmethod
    def condition(self, run: Request) -> Conditioning:
        """Encode the picture and the words, draw the noise in the order in which the library draws it."""

    @abstractmethod
    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        """The network's output [rows, C, F, H, W] in float32 for rows of the conditioning batch.

        The batch is [conditional], or [unconditional, conditional] under classifier-free guidance.
        """

    def predict(
        self, latents: Tensor, n: int, conditioning: Conditioning, *, unconditional_grad: bool = True
    ) -> Tensor:
        differentiated = latents.requires_grad and torch.is_grad_enabled()
        if differentiated and self.offload == "model":
            raise PhysPlanError(
                "With model offload the weights leave the device before a backward pass needs them: use"
                " offload group or disk, or gradient mode direct."
            )
        latents = keep_frozen(conditioning.noise.frozen, latents, latents)
        prediction = self._guided(latents, n, conditioning, unconditional_grad)
        if differentiated and self.denoiser_checkpointing is not None:
            self.denoiser_checkpointing.verify()
        return prediction

    def _guided(
        self, latents: Tensor, n: int, conditioning: Conditioning, unconditional_grad: bool
    ) -> Tensor:
        """Classifier-free guidance: u + w (c - u)."""
        if not conditioning.guidance:
            return self.denoise(latents, n, conditioning, slice(0, 1))
        if self.batched_guidance and unconditional_grad:
            unconditional, conditional = self.denoise(latents, n, conditioning, slice(0, 2)).chunk(2)
        else:
            with torch.set_grad_enabled(torch.is_grad_enabled() and unconditional_grad):
                unconditional = self.denoise(latents, n, conditioning, slice(0, 1))
            conditional = self.denoise(latents, n, conditioning, slice(1, 2))
        return unconditional + conditioning.guidance[n] * (conditional - unconditional)

    def decode_window(self, latents: Tensor, window: Window) -> Tensor:
        clip = self.codec.decode(latents)
        if latents.requires_grad and torch.is_grad_enabled() and self.codec_checkpointing is not None:
            self.codec_checkpointing.verify()
        # Counted from the end: the clip's first latent may give one frame or a full group of them.
        expected = 1 + self.codec.temporal_ratio * (window.length - 1)
        return clip[window.index - expected]

    @torch.no_grad()
    def encode_frames(self, frames: Tensor, layout: FrameLayout) -> Tensor:
        # Scaled in float32, kept in the autoencoder's own precision: a clip is large.
        precision = getattr(getattr(self.codec, "vae", None), "dtype", torch.float32)
        video = (frames.to(self.device).transpose(0, 1)[None].float() * 2 - 1).to(precision)
        latents = self.codec.encode_video(video).float()
        before = latents[:, :, :1].expand(-1, -1, layout.padding, -1, -1)
        behind = torch.zeros_like(latents[:, :, :1]).expand(-1, -1, layout.behind, -1, -1)
        return torch.cat([before, latents, behind], dim=2)

    @torch.no_grad()
    def decode(self, latents: Tensor, layout: FrameLayout, *, tiled: bool = False) -> Tensor:
        return self.codec.decode(latents[:, :, layout.video], tiled=tiled).clamp(0, 1)


def require_cpu(generator: torch.Generator) -> torch.Generator:
    """Noise is drawn on the CPU, so that a seed means the same on every device."""
    if generator.device.type != "cpu":
        raise PhysPlanError(
            f"The generator is on {generator.device}; make it with torch.Generator() on the CPU:"
            " then a seed gives the same video on every device."
        )
    return generator


@contextmanager
def tiling(vae: Any, on: bool) -> Iterator[None]:
    """Decode in overlapping tiles inside this block; outside it, as the model was loaded."""
    before = vae.use_tiling
    if on:
        vae.enable_tiling()
    try:
        yield
    finally:
        vae.use_tiling = before


def to_unit(video: Tensor) -> Tensor:
    """A decoder's [1, 3, F, H, W] in [-1, 1] as float32 frames [F, 3, H, W] in [0, 1]."""
    return (video[0].float() / 2 + 0.5).transpose(0, 1)


def channel_stats(values: Any, like: Tensor) -> Tensor:
    """Per-channel statistics shaped to broadcast over [1, C, F, H, W]."""
    return torch.as_tensor(values, device=like.device, dtype=like.dtype).view(1, -1, 1, 1, 1)
