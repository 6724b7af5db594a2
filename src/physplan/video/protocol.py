"""The frozen video model as the method needs it: what guidance and the sandbox build on.

Latents are always [1, C, F, H, W] in float32; frames are [3, H, W] or [F, 3, H, W] in [0, 1]. A model keeps
no state between calls: all that belongs to one run is in its `Conditioning`, so any step may be repeated.

    conditioning = model.prepare(VideoRequest(image=..., prompt=..., height=480, width=720, ...))
    z, noise = conditioning.latents, conditioning.noise
    for n in range(noise.num_steps):
        prediction = model.predict(z, n, conditioning)         # differentiable in z
        clean = noise.clean_estimate(z, prediction, n)          # eq. 3
        window = conditioning.layout.window(frame=24)           # three latents around frame 24
        preview = model.decode_window(clean[:, :, window.latents], window)   # [3, H, W], differentiable
        z = noise.step(z, prediction, n)
    video = model.decode(z, conditioning.layout)                # [F, 3, H, W]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from PIL.Image import Image
from torch import Tensor

from physplan.video.frames import FrameLayout, Window, WindowMode
from physplan.video.keyframe_conditioning import GivenFrame


class NoiseFamily(Protocol):
    """Closed-form noise levels; see `physplan.video.noise` for the three of them."""

    @property
    def frozen(self) -> int: ...  # leading latents that are the given picture: never noised, no gradient
    @property
    def eta(self) -> float: ...  # above 0 when steps draw fresh noise
    @property
    def num_steps(self) -> int: ...
    def alpha(self, n: int) -> float: ...
    def sigma(self, n: int) -> float: ...
    def add_noise(self, clean: Tensor, n: int, noise: Tensor) -> Tensor: ...
    def clean_estimate(self, z: Tensor, prediction: Tensor, n: int) -> Tensor: ...
    def step(self, z: Tensor, prediction: Tensor, n: int, noise: Any = None) -> Tensor: ...
    def travel(
        self, z: Tensor, prediction: Tensor, n: int, noise: Tensor, *, after: Tensor | float = 0.0
    ) -> Tensor: ...


@dataclass(frozen=True, kw_only=True)
class VideoRequest:
    """What a video model is asked for; the names are diffusers'."""

    image: Image
    prompt: str
    height: int
    width: int
    num_frames: int
    num_inference_steps: int
    guidance_scale: float
    generator: torch.Generator  # on the CPU
    negative_prompt: str = ""
    use_dynamic_cfg: bool = False
    eta: float = 0.0
    fps: int | None = None
    keyframes: Sequence[GivenFrame] = ()


@dataclass(frozen=True, kw_only=True)
class Conditioning:
    """One run's inputs: the picture, the words, the noise levels and the initial noise."""

    latents: Tensor  # [1, C, F, H, W] float32: z at step 0, drawn on the CPU, on the model's device
    noise: NoiseFamily
    timesteps: Tensor  # [num_steps] on the CPU, the timestep that conditions the denoiser at each step
    layout: FrameLayout
    height: int
    width: int
    guidance: tuple[float | Tensor, ...]  # classifier-free guidance weight per step, () when it is off
    inputs: Mapping[str, Any] = field(default_factory=dict)  # the family's own tensors: text, picture, rotary
    step_end: Callable[[int, Tensor], Tensor] | None = None  # what a step gave -> what the next is given


@runtime_checkable
class DrawsOutcome(Protocol):
    """A model that draws what will happen as a condition beside the noise."""

    def undecided(self, conditioning: Conditioning) -> Conditioning:
        """The same run with that left open, for guidance or a sketch to decide."""
        ...


@runtime_checkable
class VideoModel(Protocol):
    """A frozen image-to-video model."""

    name: str  # the family: "cogvideox", "wan", "ltx", "svd", "sandbox"
    preview_length: int  # latents in a window that shows one frame well
    preview_mode: WindowMode

    @property
    def device(self) -> torch.device: ...

    @property
    def latent_channels(self) -> int: ...

    def check_size(self, *, height: int, width: int, num_frames: int) -> FrameLayout:
        """The layout of a video of that size, or an error that names the nearest size the model can take."""
        ...

    def keyframe_places(self, layout: FrameLayout) -> Sequence[int]:
        """The frames after the first at which a picture can be given; () where none can."""
        ...

    def prepare(self, request: VideoRequest) -> Conditioning:
        """Encode pictures and words, draw the initial noise with the CPU `generator`; without gradients."""
        ...

    def predict(
        self, latents: Tensor, n: int, conditioning: Conditioning, *, unconditional_grad: bool = True
    ) -> Tensor:
        """The denoiser's prediction at step n, classifier-free guidance included: [1, C, F, H, W], float32.

        With `unconditional_grad=False` the unconditional branch runs without gradients, which halves the
        activations kept for a backward pass.
        """
        ...

    def decode_window(self, latents: Tensor, window: Window) -> Tensor:
        """The window's frame [3, H, W] from its slice of clean latents [1, C, length, H, W].

        Not clamped to [0, 1], so that gradients pass everywhere.
        """
        ...

    def encode_frames(self, frames: Tensor, layout: FrameLayout) -> Tensor:
        """Frames [F, 3, H, W] in [0, 1] as clean latents [1, C, n, h, w], float32, without gradients."""
        ...

    def decode(self, latents: Tensor, layout: FrameLayout, *, tiled: bool = False) -> Tensor:
        """The whole video [F, 3, H, W] in [0, 1], float32, without gradients; `tiled` needs less memory."""
        ...


def led_by_plan(model: VideoModel, conditioning: Conditioning) -> Conditioning:
    """The run without a drawn outcome: guidance or a sketch decides."""
    return model.undecided(conditioning) if isinstance(model, DrawsOutcome) else conditioning
