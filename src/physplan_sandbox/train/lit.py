"""Fine-tune the drawing network on lit clips, so that it draws the light that a cutout does not carry.

In a share of the crops the noised input is a cutout of the clip: its objects move, their shadows,
reflections and lamplight stay as in the first frame. The target is the lit clip.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from physplan_sandbox.models.autoencoder import FrameAutoencoder
from physplan_sandbox.models.copying import BLOCK_STRIDE
from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.models.outline import HANDOFF_TIMESTEP
from physplan_sandbox.models.residual_prediction import ResidualStats
from physplan_sandbox.train.autoencoder import Crops
from physplan_sandbox.train.data import draw_clip
from physplan_sandbox.train.loop import StepLoss, TrainConfig
from physplan_sandbox.train.noise import alphas_cumprod, noise_steps, residual_loss
from physplan_sandbox.train.video import HANDOFF_OVERLAP, Moments, busy_moments
from physplan_sandbox.world.light import TABLE_INDEX, lighting_of, render_lit
from physplan_sandbox.world.render import FRAMES

LIT = TrainConfig(steps=5_000, learning_rate=6e-4, batch=48, warmup=100, ema=0.998, bf16=True)
LIT_CLIPS = 3_000
CUTOUT_PROB = 0.7  # share of crops whose input is, in part, a cutout


def lit_pair(index: int) -> NDArray[np.uint8]:
    """Clip `index` lit, and as a cutout: [T, H, W, 6]."""
    scene, outcome, change, take = draw_clip(index)
    sprites = scene.sprites(outcome, take=take, change=change)
    clip = render_lit(sprites, scene.backdrop, lighting_of(scene.name), compared=False)
    both = np.concatenate([clip.frames, cutout(clip.plain, clip.frames, clip.objects)], axis=-1)
    pair: NDArray[np.uint8] = (both * 255 + 0.5).astype(np.uint8)
    return pair


def cutout(plain: np.ndarray, lit: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Frames in which objects move and the table keeps the light of the first frame."""
    bare = (objects == TABLE_INDEX) & (objects[:1] == TABLE_INDEX)
    return np.clip(plain + (lit[:1] - plain[:1]) * bare[..., None], 0, 1)


def cache_pairs(folder: Path, count: int, *, workers: int) -> NDArray[np.uint8]:
    """[count, T, H, W, 6], rendered once and memory-mapped afterwards."""
    path = folder / f"lit-pairs-{count}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        store = open_memmap(partial, mode="w+", dtype=np.uint8, shape=(count, FRAMES, 96, 96, 6))
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            pairs = pool.map(lit_pair, range(count), chunksize=16)
            for k, pair in enumerate(tqdm(pairs, total=count, desc="rendering lit clips")):
                store[k] = pair
        store.flush()
        partial.rename(path)
    return np.load(path, mmap_mode="r")


def learn_lit_drawing(
    denoiser: DrawingNet,
    frozen: FrameAutoencoder,
    folder: Path,
    clips: int,
    config: TrainConfig,
    weights: Path,
) -> StepLoss:
    spread, abar = ResidualStats.of(frozen.departs, frozen.departs_moving), alphas_cumprod()
    lit = folder / "lit"
    crops = Crops.of(cache_pairs(lit, clips, workers=torch.get_num_threads()), lit)

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        shown = busy_moments(crops, config.batch, denoiser.config.moments, rng)
        steps = noise_steps(config.batch, 0, HANDOFF_TIMESTEP + HANDOFF_OVERLAP, rng)
        guess, residual = predict_lit(denoiser, shown, frozen, abar, steps)
        sigma = (1 - abar[steps]).sqrt().view(-1, 1, 1, 1)
        return residual_loss(guess, residual, spread.flat(), sigma)

    return loss_at


def predict_lit(
    denoiser: DrawingNet, shown: Moments, frozen: FrameAutoencoder, abar: Tensor, steps: Tensor
) -> tuple[Tensor, Tensor]:
    """Predicted and true residual [B, C, h, w]; `shown.videos` has six channels, lit and cutout."""
    spread = ResidualStats.of(frozen.departs, frozen.departs_moving)
    with torch.autocast("cpu", enabled=False):
        picture = frozen.encode(shown.videos[:, :3, :1])[:, :, 0]
        lit, cut = (frozen.coarse(shown.videos[:, part, 1:]) for part in (slice(3), slice(3, 6)))
        blocks = frozen.blocks(shown.pictures[:, :3], BLOCK_STRIDE)
    share = (torch.rand(len(steps)) * 1.4).clamp(max=1) * (torch.rand(len(steps)) < CUTOUT_PROB)
    residual = lit - picture[:, : spread.channels, None]
    given = residual + share.view(-1, 1, 1, 1, 1) * (cut - lit)
    alpha, sigma = (x[steps].sqrt() for x in (abar, 1 - abar))
    wide_alpha, wide_sigma = (x.view(-1, 1, 1, 1, 1) for x in (alpha, sigma))
    noisy = (wide_alpha * given + wide_sigma * torch.randn_like(given)) * shown.known[:, None, :, None, None]
    guess = denoiser(noisy, picture, blocks, steps, spread, alpha, sigma, shown.corners)
    return guess, residual[:, :, denoiser.config.moments.index(0)]
