"""Cosmos 3 image-to-video: one transformer reads the words and draws; given latents stay clean in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from physplan.video.base import EncodeWords, Request
from physplan.video.frames import FrameLayout
from physplan.video.noise import Flow
from physplan.video.protocol import Conditioning
from physplan_models.encoders import Encoders
from physplan_models.families.family import Family
from physplan_models.families.wan import OnWanCodec
from physplan_models.families.wan_checkpointing import WanCheckpointing

VIDEO_SHIFT = 10.0  # of the schedule, as the library's page has it for videos
TEXT_TOKENS = 2048  # of a prompt on shapes alone: the library's page asks for long ones
FPS = 24


@dataclass(frozen=True, kw_only=True)
class Placed(Flow):
    """A flow in which latents at some places are given: they stay as they are, and get no gradient."""

    places: tuple[int, ...] = ()

    def held(self, old: Tensor, new: Tensor) -> Tensor:
        if not self.places:
            return new
        given = torch.zeros(old.shape[2], dtype=torch.bool, device=old.device)
        given[list(self.places)] = True
        return torch.where(given[:, None, None], old.detach(), new)

    def add_noise(self, clean: Tensor, n: int, noise: Tensor) -> Tensor:
        return self.held(clean, super().add_noise(clean, n, noise))

    def clean_estimate(self, z: Tensor, prediction: Tensor, n: int) -> Tensor:
        return self.held(z, super().clean_estimate(z, prediction, n))

    def step(self, z: Tensor, prediction: Tensor, n: int, noise: None = None) -> Tensor:
        return self.held(z, super().step(z, prediction, n))


class BlankTokenizer:
    """In place of the tokenizer where a run is computed on shapes."""

    eos_token_id = 0

    def convert_tokens_to_ids(self, token: str) -> int:
        return 0


class BlankPlaces(nn.Module):
    """In place of the rotary embedding there: the library's asks for an autocast that shapes have not."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, position_ids: Tensor, **more: Any) -> tuple[Tensor, Tensor]:
        empty = torch.empty(1, position_ids.shape[-1], self.width, **more)
        return empty, empty.clone()


def words(pipe: Any, encoders: Encoders) -> EncodeWords:
    """`ids`: the tokens of each branch. There is no encoder; the denoiser reads them itself."""

    def encode(run: Request) -> dict[str, Any]:
        wanted, unwanted = pipe.tokenize_prompt(
            run.prompt,
            run.negative_prompt,
            num_frames=run.layout.num_frames,
            height=run.height,
            width=run.width,
            fps=float(run.fps or FPS),
        )
        return {"ids": [unwanted, wanted] if run.guided else [wanted]}

    return encode


def meta_words(pipe: Any) -> EncodeWords:
    return lambda run: {"ids": [[0] * TEXT_TOKENS] * run.branches}


def read_scheduler(config: dict[str, Any]) -> dict[str, Any]:
    """It is published with UniPC, whose step depends on those before, and with the shift of pictures."""
    if "flow_shift" not in config:
        return config
    return {"shift": VIDEO_SHIFT, "num_train_timesteps": config["num_train_timesteps"]}


class Cosmos3(OnWanCodec):
    """Its own guardrail is not run, and its sound is not drawn."""

    name = "cosmos3"

    def __init__(self, pipe: Any, encode: EncodeWords) -> None:
        super().__init__(pipe, encode)
        if self.denoiser.device.type == "meta":
            self.denoiser.rotary_emb = BlankPlaces(self.denoiser.config.head_dim)

    def keyframe_places(self, layout: FrameLayout) -> Sequence[int]:
        """The last frame of every latent: a picture is held for all of them."""
        return range(layout.ratio, layout.num_frames, layout.ratio)

    def condition(self, run: Request) -> Conditioning:
        scheduler, device = self.pipe.scheduler, self.device
        scheduler.set_timesteps(run.num_inference_steps, **self._own_sigmas(run.num_inference_steps))
        given = self._given(run).to(device)
        layout = run.layout
        shape = (1, given.shape[1], layout.num_latents, *given.shape[-2:])
        latents = torch.randn(shape, generator=run.generator).to(device)
        places = (0, *(layout.latent_index(one.frame) for one in run.keyframes))
        for place in places:
            latents[:, :, place] = given[:, :, place]
        packed = [self._packed(ids, latents, places, run.fps or FPS) for ids in self.encode(run)["ids"]]
        return run.conditioning(
            latents=latents,
            noise=Placed(sigmas=tuple(map(float, scheduler.sigmas)), frozen=1, places=places[1:]),
            timesteps=scheduler.timesteps,
            inputs={"packed": packed},
        )

    def _own_sigmas(self, steps: int) -> dict[str, Any]:
        if not self.pipe.config.use_native_flow_schedule:
            return {}
        first = 1 - 1 / self.pipe.scheduler.config.num_train_timesteps
        return {"sigmas": np.linspace(first, 0.0, steps + 1)[:-1]}

    def _given(self, run: Request) -> Tensor:
        """Latents of the first picture, and up to the last keyframe: each is held until the next begins."""
        shown = [self._pixels(run, run.image)]
        for one in run.keyframes:
            begins = one.frame - run.layout.ratio + 1
            shown += [shown[-1]] * (begins - len(shown))
            shown += [self._pixels(run, one.image)] * run.layout.ratio
        return self.codec.encode_video(torch.stack(shown, dim=2).to(self.device))

    def _pixels(self, run: Request, image: Image.Image) -> Tensor:
        from diffusers.pipelines.cosmos.pipeline_cosmos3_omni import _preprocess_conditioning_image

        pixels: Tensor = _preprocess_conditioning_image(image, height=run.height, width=run.width)
        return pixels

    def _packed(
        self, ids: list[int], latents: Tensor, places: Sequence[int], fps: float
    ) -> Mapping[str, Any]:
        """One branch's words and picture as the denoiser takes them, but for the latents and their time."""
        text = self.pipe._prepare_text_segment(ids, device="cpu")
        picture = self.pipe._prepare_vision_segment(
            input_vision_tokens=latents,
            has_image_condition=True,
            mrope_offset=text.pop("vision_start_temporal_offset"),
            vision_fps=float(fps),
            curr=text["und_len"],
            device="cpu",
            condition_frame_indexes=list(places),
        )
        joint = torch.cat([text.pop("text_mrope_ids"), picture.pop("vision_mrope_ids")], dim=1)
        length = text["und_len"] + picture.pop("num_vision_tokens")
        placed = {**text, **picture, "position_ids": joint, "sequence_length": length}
        noisy = [one.to(self.device) for one in placed["vision_noisy_frame_indexes"]]
        moved = {k: v.to(self.device) if isinstance(v, Tensor) else v for k, v in placed.items()}
        return {**moved, "vision_noisy_frame_indexes": noisy}

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        [packed] = conditioning.inputs["packed"][rows]  # branches are run one by one
        noise, own = conditioning.noise, dict(packed)
        if isinstance(noise, Placed):
            latents = noise.held(latents, latents)
        time = float(conditioning.timesteps[n])
        output: Tensor = self.denoiser(
            vision_tokens=[latents.to(self.dtype)],
            vision_timesteps=torch.full((own.pop("num_noisy_vision_tokens"),), time, device=latents.device),
            **own,
            return_dict=False,
        )[0][0]
        return output.float()


FAMILY = Family(
    name=Cosmos3.name,
    pipelines={"Cosmos3OmniPipeline": "Cosmos3OmniPipeline"},
    scheduler="FlowMatchEulerDiscreteScheduler",
    read_scheduler=read_scheduler,
    model=Cosmos3,
    words=words,
    meta_words=meta_words,
    codec_checkpointing=WanCheckpointing,
    codec_dtype=torch.float32,
    settings=("use_native_flow_schedule",),
    encoders=(),
    unused=("sound_tokenizer", "safety_checker"),
    given={"enable_safety_checker": False},
    on_meta={"text_tokenizer": BlankTokenizer()},
    notes=("Cosmos' guardrail is not run: its licence asks for it, or for one like it",),
)
