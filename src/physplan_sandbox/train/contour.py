"""Train the contour network on true clips, and in half of the steps on its own predictions.

Exposure bias: a prediction from pure noise is blurred over where an object may be, which true clips never
show. On such inputs the target is the frame of the true clip nearest to the prediction, within a few frames,
so that the network learns to sharpen a timing it may have got wrong instead of averaging timings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from physplan_sandbox.models.autoencoder import FrameAutoencoder
from physplan_sandbox.models.contour import PAIR_NOISE_SCALE
from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.models.int8_weights import load_packed
from physplan_sandbox.models.outline import BLOCK_NOISE_SCALE, BLOCK_SIZE, HANDOFF_TIMESTEP, OutlineNet
from physplan_sandbox.models.residual_prediction import ResidualStats
from physplan_sandbox.train.autoencoder import CROP_CELLS
from physplan_sandbox.train.half_rate_clips import ClipBatch, clip_sampler, spatial_mean
from physplan_sandbox.train.loop import StepLoss, TrainConfig
from physplan_sandbox.train.noise import alphas_cumprod, noise_steps, residual_loss

MIN_TIMESTEP = HANDOFF_TIMESTEP - 120  # lowest training timestep
PURE_NOISE_TIMESTEP = 999  # alpha is zero here
MAX_SELF_GUESS_TIMESTEP = 940  # highest timestep for self-guess inputs
CROPS_PER_CLIP = 8  # crops per clip in a batch; twice as many for self-guesses, which cost more
WORSE_OUTLINE_PROB = 0.5  # share of outlines predicted at a higher noise level than the input's
OUTLINE_WEIGHT = 0.5  # weight of the outline's motion when sampling crops
SELF_GUESS_PROB = 0.5  # share of steps that train on self-guesses
ALIGNMENT_WINDOW = 4  # frames before and after in which the target is searched
ALIGNMENT_PENALTY = 1e-3  # penalty at the window's edge, in squared latents

Crop = tuple[int, int, int, int]  # clip, moment, row and column of the first cell


def learn_contour(
    denoiser: DrawingNet,
    frozen: FrameAutoencoder,
    folder: Path,
    clips: int,
    config: TrainConfig,
    weights: Path,
) -> StepLoss:
    outline = load_packed(OutlineNet, weights / "outline").eval().requires_grad_(False)
    contour_loss = ContourLoss(
        denoiser=denoiser,
        spread=ResidualStats.of(frozen.departs, frozen.departs_moving),
        outline=outline,
        of_outlines=ResidualStats.of(frozen.outlines, frozen.outlines_moving),
        abar=alphas_cumprod(),
    )
    draw = clip_sampler(folder, clips, frozen, every=1)

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        self_guess = rng.random() < SELF_GUESS_PROB
        many = max(config.batch // (2 * CROPS_PER_CLIP if self_guess else CROPS_PER_CLIP), 1)
        learnt = contour_loss.on_self_guesses if self_guess else contour_loss.on_clips
        return learnt(draw(many, rng, self_guess), config.batch // many, rng)

    return loss_at


@dataclass(frozen=True, kw_only=True, eq=False)
class ContourLoss:
    """Losses of the contour network, given a frozen outline network."""

    denoiser: DrawingNet
    spread: ResidualStats
    outline: OutlineNet
    of_outlines: ResidualStats
    abar: Tensor  # [1000]

    def on_clips(self, shown: ClipBatch, crops_each: int, rng: np.random.Generator) -> Tensor:
        """Loss on noised true clips."""
        truth = shown.residuals[:, :, ::BLOCK_SIZE]
        steps, noise = noise_steps(len(truth), MIN_TIMESTEP, 1000, rng), torch.randn_like(truth)
        under = noisier(steps, rng)
        outlines = self.outlines_in(self.noised(truth, noise, under), shown, under)
        crops = list(busy_crops(truth, outlines, crops_each, rng))
        aims = neighbourhoods(truth, crops, (0,))[:, :, 0]
        return self.loss(self.noised(truth, noise, steps), outlines, shown, steps, crops, aims)

    def on_self_guesses(self, shown: ClipBatch, crops_each: int, rng: np.random.Generator) -> Tensor:
        """Loss on noised predictions of the network itself, as in sampling."""
        truth = shown.residuals[:, :, ::BLOCK_SIZE]
        steps = noise_steps(len(truth), MIN_TIMESTEP, 1000, rng).clamp(max=MAX_SELF_GUESS_TIMESTEP)
        noise = torch.randn_like(truth)
        guesses = self.self_guess(shown, noise)
        noisy = self.noised(guesses, noise, steps)
        crops = list(busy_crops(truth, guesses, crops_each, rng))
        aims = aligned_targets(shown.residuals, guesses, crops)
        return self.loss(noisy, self.outlines_in(noisy, shown, steps), shown, steps, crops, aims)

    def noised(self, clean: Tensor, noise: Tensor, steps: Tensor) -> Tensor:
        return (
            wide(self.abar[steps].sqrt()) * clean
            + wide(PAIR_NOISE_SCALE * (1 - self.abar[steps]).sqrt()) * noise
        )

    @torch.no_grad()
    def outlines_in(self, seen: Tensor, shown: ClipBatch, steps: Tensor) -> Tensor:
        """[B, C, k, h, w]: the outline network's prediction at these timesteps, upsampled."""
        found = self.outline(
            spatial_mean(seen),
            shown.pictures[:, : self.spread.channels],
            shown.blocks,
            steps,
            shown.text,
            self.of_outlines,
            self.abar[steps].sqrt(),
            BLOCK_NOISE_SCALE * (1 - self.abar[steps]).sqrt(),
            shown.outcome_codes,
        )
        return F.interpolate(found.float(), scale_factor=(1.0, 2.0, 2.0))

    @torch.no_grad()
    def self_guess(self, shown: ClipBatch, noise: Tensor) -> Tensor:
        """[B, C, k, h, w]: the network's prediction from pure noise."""
        many, moments = len(noise), torch.arange(1, 1 + noise.shape[2])
        steps = torch.full((many,), PURE_NOISE_TIMESTEP)
        seen = self.noised(torch.zeros_like(noise), noise, steps)
        parts = (seen, self.outlines_in(seen, shown, steps))
        looks, outlined = (self.denoiser.neighbours(F.pad(x, (0, 0, 0, 0, 1, 0)), moments) for x in parts)
        steps, pictures = (x.repeat_interleave(len(moments), dim=0) for x in (steps, shown.pictures))
        alpha, sigma = self.abar[steps].sqrt(), PAIR_NOISE_SCALE * (1 - self.abar[steps]).sqrt()
        found: Tensor = self.denoiser(
            looks, pictures, shown.blocks, steps, self.spread, alpha, sigma, outlines=outlined
        )
        return found.float().unflatten(0, (many, -1)).transpose(1, 2)

    def loss(
        self,
        noisy: Tensor,
        outlines: Tensor,
        shown: ClipBatch,
        steps: Tensor,
        crops: list[Crop],
        aims: Tensor,
    ) -> Tensor:
        """Loss of predictions on crops of clips [B, C, k, h, w] against targets [N, C, crop, crop]."""
        moments = tuple(self.denoiser.config.moments)
        seen, outlined = (neighbourhoods(part, crops, moments) for part in (noisy, outlines))
        pictures = neighbourhoods(shown.pictures[:, :, None], [(b, 0, y, x) for b, _, y, x in crops], (0,))
        steps = steps[torch.tensor([clip for clip, *_ in crops])]
        alpha, sigma = self.abar[steps].sqrt(), PAIR_NOISE_SCALE * (1 - self.abar[steps]).sqrt()
        corners = torch.tensor([(y, x) for *_, y, x in crops])
        found = self.denoiser(
            seen, pictures[:, :, 0], shown.blocks, steps, self.spread, alpha, sigma, corners, outlined
        )
        return residual_loss(found, aims, self.spread.flat(), sigma.view(-1, 1, 1, 1))


def wide(values: Tensor) -> Tensor:
    return values.view(-1, 1, 1, 1, 1)


def noisier(steps: Tensor, rng: np.random.Generator) -> Tensor:
    """Moves a share of the timesteps towards pure noise."""
    share = torch.from_numpy(rng.random(len(steps)) * (rng.random(len(steps)) < WORSE_OUTLINE_PROB))
    return (steps + share * (PURE_NOISE_TIMESTEP - steps)).long().clamp(max=PURE_NOISE_TIMESTEP)


def busy_crops(residuals: Tensor, others: Tensor, many: int, rng: np.random.Generator) -> Iterator[Crop]:
    """Samples crops by motion in the true clip and in the prediction."""
    far, other = (x.square().mean(dim=1, keepdim=True) for x in (residuals, others))
    busy = F.avg_pool3d((far + OUTLINE_WEIGHT * other).sqrt(), (1, CROP_CELLS, CROP_CELLS), stride=1)[:, 0]
    chances = (busy + 0.02 * busy.mean() + 1e-4).double().numpy()
    for clip, of_clip in enumerate(chances):
        summed = np.cumsum(of_clip)
        for place in np.searchsorted(summed, rng.random(many) * summed[-1]):
            moment, y, x = (int(k) for k in np.unravel_index(place, of_clip.shape))
            yield clip, moment, y, x


def neighbourhoods(clips: Tensor, crops: Sequence[Crop], moments: tuple[int, ...]) -> Tensor:
    """[N, C, moments, crop, crop] of clips [B, C, k, h, w], zero-padded in time."""
    before, after = max(-min(moments), 0), max(*moments, 0)
    padded = F.pad(clips, (0, 0, 0, 0, before, after))
    found = [
        padded[b][:, [before + t + m for m in moments], y : y + CROP_CELLS, x : x + CROP_CELLS]
        for b, t, y, x in crops
    ]
    return torch.stack(found)


def aligned_targets(pairs: Tensor, guesses: Tensor, crops: Sequence[Crop]) -> Tensor:
    """[N, C, crop, crop]: the frame of true clips [B, C, 2k - 1, h, w] nearest to half-rate predictions
    [B, C, k, h, w], crop by crop."""
    return torch.stack([_aligned_target(pairs[clip], guesses[clip], *place) for clip, *place in crops])


def _aligned_target(pairs: Tensor, guess: Tensor, moment: int, y: int, x: int) -> Tensor:
    place, due = (slice(y, y + CROP_CELLS), slice(x, x + CROP_CELLS)), BLOCK_SIZE * moment
    times = torch.arange(max(due - ALIGNMENT_WINDOW, 0), min(due + ALIGNMENT_WINDOW + 1, pairs.shape[1]))
    shown = pairs[:, times, *place]
    far = (shown - guess[:, moment, None, *place]).square().mean(dim=(0, 2, 3))
    return shown[:, int((far + ALIGNMENT_PENALTY * (times - due).abs() / ALIGNMENT_WINDOW).argmin())]
