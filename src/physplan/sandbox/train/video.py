"""Trains the video model on latents of clips whose outcome is drawn whatever the scene."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from diffusers import CogVideoXDDIMScheduler, CogVideoXTransformer3DModel
from diffusers.models.embeddings import get_3d_rotary_pos_embed
from numpy.lib.format import open_memmap
from torch import Tensor
from tqdm import tqdm

from physplan.sandbox.models.autoencoder import FrameGroupAutoencoder
from physplan.sandbox.models.departures import Spread
from physplan.sandbox.models.text import LENGTH, WIDTH, build_text_encoder, build_tokenizer, encode_prompts
from physplan.sandbox.train.data import training_clip
from physplan.sandbox.train.loop import TrainConfig, train
from physplan.sandbox.world.phenomena import PHENOMENA
from physplan.sandbox.world.render import FRAMES

CONFIG = TrainConfig(steps=20_000, learning_rate=4e-4, batch=16, warmup=200, ema=0.998, bf16=True)
CLIPS = 6000
NO_WORDS = 0.12  # share of the clips trained without their prompt, for classifier-free guidance
LATENT, COARSE = (64, 9, 12, 12), 24
HEAD = 64
CROP, CROPPED = 8, 0.7  # cells per side of a crop, and the share of the steps that see crops only
SHARP = 0.1  # the smaller, the more the last steps count, those that draw the edges


def build_transformer() -> CogVideoXTransformer3DModel:
    return CogVideoXTransformer3DModel(
        num_attention_heads=5,
        attention_head_dim=HEAD,
        in_channels=COARSE + LATENT[0],
        out_channels=2 * COARSE,
        num_layers=6,
        sample_width=LATENT[3],
        sample_height=LATENT[2],
        sample_frames=FRAMES,
        patch_size=2,
        text_embed_dim=WIDTH,
        max_text_seq_length=LENGTH,
        time_embed_dim=128,
        temporal_compression_ratio=4,
        use_rotary_positional_embeddings=True,
        use_learned_positional_embeddings=False,
    )


def build_scheduler() -> CogVideoXDDIMScheduler:
    return CogVideoXDDIMScheduler(
        num_train_timesteps=1000,
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        snr_shift_scale=1.0,
        timestep_spacing="trailing",
        clip_sample=False,
        set_alpha_to_one=True,
    )


def cache_latents(folder: Path, autoencoder: Path, count: int = CLIPS, *, workers: int = 2) -> np.ndarray:
    """float16 [count, C, L, h, w], rendered and encoded once; the number of each clip's prompt beside it."""
    path, words = folder / f"latents-{count}.npy", folder / f"prompts-{count}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        store = open_memmap(partial, mode="w+", dtype=np.float16, shape=(count, *LATENT))
        indices = np.zeros(count, dtype=np.int64)
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            made = pool.map(_encoded, [(str(autoencoder), k) for k in range(count)], chunksize=16)
            for k, (latents, prompt) in enumerate(
                tqdm(made, total=count, desc="rendering and encoding clips")
            ):
                store[k], indices[k] = latents, prompt
        store.flush()
        np.save(words, indices)
        partial.rename(path)
    return np.load(path, mmap_mode="r")


@torch.no_grad()
def _encoded(job: tuple[str, int]) -> tuple[np.ndarray, int]:
    folder, index = job
    clip, prompt = training_clip(index)
    video = torch.from_numpy(clip.frames).permute(3, 0, 1, 2)[None].float() / 127.5 - 1.0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        latents = _load(folder).encode(video)[0]
    return latents.float().numpy().astype(np.float16), all_prompts().index(prompt)


@cache
def _load(folder: str) -> FrameGroupAutoencoder:
    torch.set_num_threads(1)
    return FrameGroupAutoencoder.from_pretrained(folder, torch_dtype=torch.float32).eval()


def all_prompts() -> list[str]:
    """The empty prompt first."""
    return ["", *(prompt for p in PHENOMENA.values() for prompt in p.prompts)]


def video_loss(
    transformer: CogVideoXTransformer3DModel,
    clean: Tensor,
    text: Tensor,
    abar: Tensor,
    steps: Tensor,
    rotary: tuple[Tensor, Tensor],
    spread: Spread,
) -> Tensor:
    """Error of the departure, counted more where the clip departs from its first frame, and at little noise.

    clean: [B, C, L, h, w].
    """
    picture = clean[:, :, :1].expand_as(clean)
    departure = (clean - picture)[:, : spread.channels]
    noise = torch.randn_like(departure)
    alpha, sigma = abar[steps].sqrt().view(-1, 1, 1, 1, 1), (1 - abar[steps]).sqrt().view(-1, 1, 1, 1, 1)
    noisy = alpha * departure + sigma * noise
    joined = torch.cat([spread.inn(alpha, sigma) * noisy, picture], dim=1).transpose(1, 2)
    found = (
        transformer(
            hidden_states=joined,
            encoder_hidden_states=text,
            timestep=steps,
            image_rotary_emb=rotary,
            return_dict=False,
        )[0]
        .float()
        .transpose(1, 2)
    )
    moving = departure.square().mean(dim=1, keepdim=True).sqrt().clamp(max=1.0)
    weight = 1.0 + 3.0 * moving
    guess = spread.departure(found, noisy, alpha, sigma)
    error = (guess - departure).square() / spread.overall.mean() / (sigma**2 + SHARP)
    return (error * weight).sum() / (weight.sum() * spread.channels)


def rotary_of(side: int) -> tuple[Tensor, Tensor]:
    """Positions of a square of patches; they are relative, so a crop's are those of any place."""
    return get_3d_rotary_pos_embed(HEAD, ((0, 0), (side, side)), (side, side), LATENT[1])


def busy_crops(clean: Tensor, rng: np.random.Generator) -> Tensor:
    """Of each clip [B, C, L, h, w] the busier of two squares: how things look is learnt at half the price."""
    moved = (clean - clean[:, :, :1]).square().mean(dim=(1, 2))
    places = rng.integers((LATENT[3] - CROP) // 2 + 1, size=(len(clean), 2, 2)) * 2
    found = []
    for clip, map_, two in zip(clean, moved, places, strict=True):
        areas = [(slice(y, y + CROP), slice(x, x + CROP)) for y, x in two.tolist()]
        area = max(areas, key=lambda area: float(map_[area].sum()))
        found.append(clip[(slice(None), slice(None), *area)])
    return torch.stack(found)


def run(
    folder: Path,
    autoencoder: Path,
    *,
    config: TrainConfig = CONFIG,
    clips: int = CLIPS,
    start: Path | None = None,
) -> tuple[CogVideoXTransformer3DModel, dict]:
    """From nothing, or from the weights in `start`."""
    latents = cache_latents(folder, autoencoder, clips)
    prompts = np.load(folder / f"prompts-{clips}.npy")
    embeddings = encode_prompts(build_tokenizer(), build_text_encoder(), all_prompts())
    torch.manual_seed(config.seed)
    if start is None:
        transformer = build_transformer()
    else:
        transformer = CogVideoXTransformer3DModel.from_pretrained(start, torch_dtype=torch.float32)
    frozen = _load(str(autoencoder))
    spread = Spread.of(frozen.departs, frozen.departs_moving)
    abar = build_scheduler().alphas_cumprod.float()
    rotary = {side: rotary_of(side // 2) for side in (CROP, LATENT[3])}

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        chosen = np.sort(rng.choice(len(latents), config.batch, replace=False))
        clean = torch.from_numpy(latents[chosen].astype(np.float32))
        if step < CROPPED * config.steps:
            clean = busy_crops(clean, rng)
        words = np.where(rng.random(config.batch) < NO_WORDS, 0, prompts[chosen])
        # Evenly spread noise levels: less variance than independent draws.
        levels = (rng.permutation(config.batch) + rng.random(config.batch)) / config.batch
        steps = torch.from_numpy((levels * 1000).astype(np.int64))
        text = embeddings[torch.from_numpy(words)]
        return video_loss(transformer, clean, text, abar, steps, rotary[clean.shape[-1]], spread)

    return transformer, train(transformer, loss_at, config, folder, name="video")
