"""HunyuanVideo 1.5 image-to-video: two text encoders, one that sees the picture, a causal autoencoder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from diffusers.models.attention_dispatch import dispatch_attention_fn
from diffusers.models.embeddings import apply_rotary_emb
from PIL.Image import Image
from torch import Tensor
from torch.overrides import TorchFunctionMode

from physplan.video.base import EncodeWords, FamilyModel, Request, tiling, to_unit
from physplan.video.clocks import FLOW
from physplan.video.noise import Flow
from physplan.video.protocol import Conditioning
from physplan_models.encoders import Encoders
from physplan_models.families.family import META, Family

WORDS = ("text", "mask", "glyphs", "glyph_mask")  # the conditioning of each branch


class Hunyuan15Codec:
    """The first frame alone, then four per latent."""

    def __init__(self, vae: Any) -> None:
        self.vae = vae
        self.spatial_ratio = vae.spatial_compression_ratio
        self.temporal_ratio = vae.temporal_compression_ratio
        self.frame_multiple = self.temporal_ratio
        self.channels = vae.config.latent_channels

    def encode_image(self, image: Tensor, generator: torch.Generator) -> Tensor:
        return self.encode_video(image.unsqueeze(2))

    def encode_video(self, video: Tensor) -> Tensor:
        latents: Tensor = self.vae.encode(video.to(self.vae.dtype)).latent_dist.mode()
        return latents.float() * float(self.vae.config.scaling_factor)

    def decode(self, latents: Tensor, *, tiled: bool = False) -> Tensor:
        scaled = latents.to(self.vae.dtype) / self.vae.config.scaling_factor
        with tiling(self.vae, tiled):
            return to_unit(self.vae.decode(scaled, return_dict=False)[0])


def fitted(pipe: Any, run: Request) -> Image:
    """The picture cut to the run's shape; the library's processor does not scale."""
    picture: Image = pipe.video_processor.resize(
        run.image.convert("RGB"), height=run.height, width=run.width, resize_mode="crop"
    )
    return picture


def words(pipe: Any, encoders: Encoders) -> EncodeWords:
    """`WORDS` [rows, tokens, ...], and `seen` [1, tokens, C]: the picture, through SigLIP."""

    def encode(run: Request) -> dict[str, Any]:
        with encoders.loaded():
            told = [pipe.encode_prompt(run.prompt, device=encoders.device)]
            if run.guided:
                told.insert(0, pipe.encode_prompt(run.negative_prompt, device=encoders.device))
            seen = pipe.encode_image(fitted(pipe, run), 1, encoders.device, torch.float32)
        rows = {name: torch.cat(parts) for name, parts in zip(WORDS, zip(*told, strict=True), strict=True)}
        return {**rows, "seen": seen}

    return encode


def meta_words(pipe: Any) -> EncodeWords:
    config = pipe.transformer.config
    tokens = {"text": pipe.tokenizer_max_length, "glyphs": pipe.tokenizer_2_max_length}
    widths = {"text": config.text_embed_dim, "glyphs": config.text_embed_2_dim}

    def encode(run: Request) -> dict[str, Any]:
        shapes: dict[str, tuple[int, ...]] = {
            "text": (run.branches, tokens["text"], widths["text"]),
            "mask": (run.branches, tokens["text"]),
            "glyphs": (run.branches, tokens["glyphs"], widths["glyphs"]),
            "glyph_mask": (run.branches, tokens["glyphs"]),
            "seen": (1, pipe.vision_num_semantic_tokens, config.image_embed_dim),
        }
        return {name: torch.empty(shape, device=META) for name, shape in shapes.items()}

    return encode


class WholeAttention:
    """Every token of video and words attends to every other.

    The library pads the words and hides the padding behind a mask of tokens x tokens, several GB at 480p.
    Here words are passed without padding, one branch at a time, so there is nothing to hide.
    """

    _attention_backend = None  # the library sets it, by name
    _parallel_config = None

    def __call__(
        self,
        attn: Any,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        image_rotary_emb: Any = None,
    ) -> tuple[Tensor, Tensor]:
        def heads(tokens: Tensor) -> Tensor:
            return tokens.view(*tokens.shape[:2], attn.heads, -1)

        def placed(tokens: Tensor) -> Tensor:
            turned: Tensor = apply_rotary_emb(tokens, image_rotary_emb, sequence_dim=1)
            return turned

        asked = placed(attn.norm_q(heads(attn.to_q(hidden_states))))
        known = placed(attn.norm_k(heads(attn.to_k(hidden_states))))
        told = encoder_hidden_states
        found = dispatch_attention_fn(
            torch.cat([asked, attn.norm_added_q(heads(attn.add_q_proj(told)))], dim=1),
            torch.cat([known, attn.norm_added_k(heads(attn.add_k_proj(told)))], dim=1),
            torch.cat([heads(attn.to_v(hidden_states)), heads(attn.add_v_proj(told))], dim=1),
            backend=self._attention_backend,
        )
        seen, read = found.flatten(2, 3).to(asked.dtype).split([hidden_states.shape[1], told.shape[1]], dim=1)
        return attn.to_out[0](seen), attn.to_add_out(read)


class Hunyuan15(FamilyModel):
    """Rectified flow; the picture's latent and a mask of where it is known come in as extra channels."""

    name = "hunyuan-1.5"
    clocks = FLOW
    batched_guidance = False

    def __init__(self, pipe: Any, encode: EncodeWords) -> None:
        self.pipe, self.encode = pipe, encode
        self.codec = Hunyuan15Codec(pipe.vae)
        self.denoiser = pipe.transformer
        for block in self.denoiser.transformer_blocks:
            block.attn.set_processor(WholeAttention())
        self.side_multiple = self.codec.spatial_ratio * self.denoiser.config.patch_size

    def condition(self, run: Request) -> Conditioning:
        encoded = {name: value.to(self.device, self.dtype) for name, value in self.encode(run).items()}
        seen, told = encoded["seen"], [without_padding(encoded, row) for row in range(run.branches)]
        self.pipe.scheduler.set_timesteps(sigmas=np.linspace(1.0, 0.0, run.num_inference_steps + 1)[:-1])
        size = run.height // self.codec.spatial_ratio, run.width // self.codec.spatial_ratio
        shape = (1, self.codec.channels, run.layout.num_latents, *size)
        drawn = torch.randn(shape, generator=run.generator, dtype=self.dtype).to(self.device)
        pixels = self.pipe.video_processor.preprocess(
            fitted(self.pipe, run), height=run.height, width=run.width
        )
        picture = self.codec.encode_image(pixels.to(self.device), run.generator).to(self.dtype)
        given = torch.zeros_like(torch.cat([drawn, drawn[:, :1]], dim=1))
        given[:, :-1, :1] = picture
        given[:, -1:, :1] = 1
        return run.conditioning(
            latents=drawn.float(),
            noise=Flow.from_scheduler(self.pipe.scheduler),
            timesteps=self.pipe.scheduler.timesteps,
            inputs={"seen": seen, "told": told, "given": given},
        )

    def denoise(self, latents: Tensor, n: int, conditioning: Conditioning, rows: slice) -> Tensor:
        inputs, times = conditioning.inputs, conditioning.timesteps
        [(text, glyphs)] = inputs["told"][rows]  # branches are run one by one
        batch = torch.cat([latents.to(self.dtype), inputs["given"]], dim=1)
        lands = (
            times[n + 1] if n + 1 < len(times) else torch.zeros(())
        )  # the target time, a second input of mean flows
        with known_masks(latents.is_meta):
            output: Tensor = self.denoiser(
                hidden_states=batch,
                image_embeds=inputs["seen"],
                timestep=times[n].to(batch).expand(1),
                timestep_r=lands.to(batch).expand(1) if self.denoiser.config.use_meanflow else None,
                encoder_hidden_states=text,
                encoder_attention_mask=torch.ones_like(text[..., 0]),
                encoder_hidden_states_2=glyphs,
                encoder_attention_mask_2=torch.ones_like(glyphs[..., 0]),
                return_dict=False,
            )[0]
        return output.float()


def without_padding(encoded: dict[str, Any], row: int) -> tuple[Tensor, Tensor]:
    """The words of one branch, [1, tokens, C] each; on the meta device, where none are known, all of them."""
    words = [(encoded[name][row], encoded[mask][row]) for name, mask in (WORDS[:2], WORDS[2:])]
    text, glyphs = (told[None] if told.is_meta else told[mask.bool()][None] for told, mask in words)
    return text, glyphs


class _EveryToken(TorchFunctionMode):
    """On the meta device a mask has no content: here it takes every token, and its inverse none."""

    def __init__(self) -> None:
        super().__init__()
        self.inverses: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.all:
            return torch.tensor(False)
        if func is Tensor.__getitem__ and isinstance(args[1], Tensor) and args[1].dtype == torch.bool:
            return args[0][:0] if any(args[1] is one for one in self.inverses) else args[0]
        parts = args[1] if func is Tensor.__getitem__ and isinstance(args[1], tuple) else ()
        if any(isinstance(part, slice) and isinstance(part.stop, Tensor) for part in parts):
            return args[0]  # as many as a mask has
        found = func(*args, **(kwargs or {}))
        if func in (Tensor.__invert__, torch.bitwise_not):
            self.inverses.append(found)
        return found


@contextmanager
def known_masks(on_meta: bool) -> Iterator[None]:
    """The network orders its tokens by their masks; a run on shapes alone must not ask for their content."""
    if not on_meta:
        yield
        return
    with _EveryToken():
        yield


FAMILY = Family(
    name=Hunyuan15.name,
    pipelines={"HunyuanVideo15ImageToVideoPipeline": "HunyuanVideo15ImageToVideoPipeline"},
    scheduler="FlowMatchEulerDiscreteScheduler",
    model=Hunyuan15,
    words=words,
    meta_words=meta_words,
    encoders=(
        "tokenizer", "text_encoder", "tokenizer_2", "text_encoder_2", "guider", "image_encoder",
        "feature_extractor",
    ),
)  # fmt: skip
