"""What the contour network learns: true contours from what the outline network leaves of clips, and in half
of the steps from what it has guessed itself.

A guess under much noise is a blur around where a thing may be. From true clips alone the network never learns
what to make of one, and in a video the blur stays and comes apart in the end. The truth is no good aim for
it: the thing may as well be a little earlier or later, so the answer would be a blur again. The aim is the
moment of the true clip that is nearest to the guess: whatever it shows, to be drawn as a thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.sandbox.models.autoencoder import FrameAutoencoder
from physplan.sandbox.models.contour import CALMER
from physplan.sandbox.models.departures import Spread
from physplan.sandbox.models.drawing import DrawingNet
from physplan.sandbox.models.outline import BLOCK, MUCH, QUIETER, OutlineNet
from physplan.sandbox.models.packed import load_packed
from physplan.sandbox.train.autoencoder import CROP
from physplan.sandbox.train.halves import Whole, smaller, whole_clips
from physplan.sandbox.train.loop import StepLoss, TrainConfig
from physplan.sandbox.train.noise import departure_loss, noise_steps, signal_left

LEAST = MUCH - 120  # the lowest noise step that is learnt
PURE = 999  # the noise step at which nothing is seen of a clip
GUESSED = 940  # and the highest at which a guess shows
PER_CLIP = 8  # crops of one clip that are learnt from at once, twice as many of guesses: those take time
BEFORE = 0.5  # share of the outlines that were drawn under more noise than there is: worse ones than are due
BESIDE = 0.5  # how much it counts, for where to look, that an outline departs: it may be wrong
OWN = 0.5  # share of the steps in which own guesses are learnt from
NEAR = 4  # frames, earlier and later, among which the moment is sought that a guess shows
LATE = 1e-3  # what it counts to be as far from the due moment as that, in squared latents

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
    lesson = Lesson(
        denoiser=denoiser,
        spread=Spread.of(frozen.departs, frozen.departs_moving),
        outline=outline,
        of_outlines=Spread.of(frozen.outlines, frozen.outlines_moving),
        abar=signal_left(),
    )
    draw = whole_clips(folder, clips, frozen, every=1)

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        own = rng.random() < OWN
        many = max(config.batch // (2 * PER_CLIP if own else PER_CLIP), 1)
        learnt = lesson.from_guesses if own else lesson.from_clips
        return learnt(draw(many, rng, own), config.batch // many, rng)

    return loss_at


@dataclass(frozen=True, kw_only=True, eq=False)
class Lesson:
    denoiser: DrawingNet
    spread: Spread
    outline: OutlineNet
    of_outlines: Spread
    abar: Tensor  # [1000]

    def from_clips(self, shown: Whole, crops_each: int, rng: np.random.Generator) -> Tensor:
        """The loss where true clips shine through the noise."""
        truth = shown.departures[:, :, ::BLOCK]
        steps, noise = noise_steps(len(truth), LEAST, 1000, rng), torch.randn_like(truth)
        under = earlier(steps, rng)
        outlines = self.outlines_in(self.noised(truth, noise, under), shown, under)
        crops = list(busy_crops(truth, outlines, crops_each, rng))
        aims = neighbourhoods(truth, crops, (0,))[:, :, 0]
        return self.loss(self.noised(truth, noise, steps), outlines, shown, steps, crops, aims)

    def from_guesses(self, shown: Whole, crops_each: int, rng: np.random.Generator) -> Tensor:
        """The loss where it is the network's own first guesses, as in a video."""
        truth = shown.departures[:, :, ::BLOCK]
        steps = noise_steps(len(truth), LEAST, 1000, rng).clamp(max=GUESSED)
        noise = torch.randn_like(truth)
        guesses = self.guess_at_first(shown, noise)
        noisy = self.noised(guesses, noise, steps)
        crops = list(busy_crops(truth, guesses, crops_each, rng))
        aims = nearest(shown.departures, guesses, crops)
        return self.loss(noisy, self.outlines_in(noisy, shown, steps), shown, steps, crops, aims)

    def noised(self, clean: Tensor, noise: Tensor, steps: Tensor) -> Tensor:
        return wide(self.abar[steps].sqrt()) * clean + wide(CALMER * (1 - self.abar[steps]).sqrt()) * noise

    @torch.no_grad()
    def outlines_in(self, seen: Tensor, shown: Whole, steps: Tensor) -> Tensor:
        """[B, C, k, h, w]: as the outline network answers under the noise of these steps."""
        found = self.outline(
            smaller(seen),
            shown.pictures[:, : self.spread.channels],
            shown.blocks,
            steps,
            shown.text,
            self.of_outlines,
            self.abar[steps].sqrt(),
            QUIETER * (1 - self.abar[steps]).sqrt(),
            shown.lots,
        )
        return F.interpolate(found.float(), scale_factor=(1.0, 2.0, 2.0))

    @torch.no_grad()
    def guess_at_first(self, shown: Whole, noise: Tensor) -> Tensor:
        """[B, C, k, h, w]: what the network makes of clips of which only noise is seen."""
        many, moments = len(noise), torch.arange(1, 1 + noise.shape[2])
        steps = torch.full((many,), PURE)
        seen = self.noised(torch.zeros_like(noise), noise, steps)
        parts = (seen, self.outlines_in(seen, shown, steps))
        looks, outlined = (self.denoiser.neighbours(F.pad(x, (0, 0, 0, 0, 1, 0)), moments) for x in parts)
        steps, pictures = (x.repeat_interleave(len(moments), dim=0) for x in (steps, shown.pictures))
        alpha, sigma = self.abar[steps].sqrt(), CALMER * (1 - self.abar[steps]).sqrt()
        found: Tensor = self.denoiser(
            looks, pictures, shown.blocks, steps, self.spread, alpha, sigma, outlines=outlined
        )
        return found.float().unflatten(0, (many, -1)).transpose(1, 2)

    def loss(
        self, noisy: Tensor, outlines: Tensor, shown: Whole, steps: Tensor, crops: list[Crop], aims: Tensor
    ) -> Tensor:
        """Of what the network finds in crops of clips [B, C, k, h, w], beside what is aimed at there."""
        moments = tuple(self.denoiser.config.moments)
        seen, outlined = (neighbourhoods(part, crops, moments) for part in (noisy, outlines))
        pictures = neighbourhoods(shown.pictures[:, :, None], [(b, 0, y, x) for b, _, y, x in crops], (0,))
        steps = steps[torch.tensor([clip for clip, *_ in crops])]
        alpha, sigma = self.abar[steps].sqrt(), CALMER * (1 - self.abar[steps]).sqrt()
        corners = torch.tensor([(y, x) for *_, y, x in crops])
        found = self.denoiser(
            seen, pictures[:, :, 0], shown.blocks, steps, self.spread, alpha, sigma, corners, outlined
        )
        return departure_loss(found, aims, self.spread.flat(), sigma.view(-1, 1, 1, 1))


def wide(values: Tensor) -> Tensor:
    return values.view(-1, 1, 1, 1, 1)


def earlier(steps: Tensor, rng: np.random.Generator) -> Tensor:
    """A share of the steps moved towards pure noise."""
    share = torch.from_numpy(rng.random(len(steps)) * (rng.random(len(steps)) < BEFORE))
    return (steps + share * (PURE - steps)).long().clamp(max=PURE)


def busy_crops(departures: Tensor, others: Tensor, many: int, rng: np.random.Generator) -> Iterator[Crop]:
    """Mostly where something moves, or an outline or a guess has it that something does."""
    far, other = (x.square().mean(dim=1, keepdim=True) for x in (departures, others))
    busy = F.avg_pool3d((far + BESIDE * other).sqrt(), (1, CROP, CROP), stride=1)[:, 0]
    chances = (busy + 0.02 * busy.mean() + 1e-4).double().numpy()
    for clip, of_clip in enumerate(chances):
        summed = np.cumsum(of_clip)
        for place in np.searchsorted(summed, rng.random(many) * summed[-1]):
            moment, y, x = (int(k) for k in np.unravel_index(place, of_clip.shape))
            yield clip, moment, y, x


def neighbourhoods(clips: Tensor, crops: Sequence[Crop], moments: tuple[int, ...]) -> Tensor:
    """[N, C, moments, crop, crop] of [B, C, k, h, w]; zero before the first and after the last."""
    before, after = max(-min(moments), 0), max(*moments, 0)
    padded = F.pad(clips, (0, 0, 0, 0, before, after))
    found = [
        padded[b][:, [before + t + m for m in moments], y : y + CROP, x : x + CROP] for b, t, y, x in crops
    ]
    return torch.stack(found)


def nearest(pairs: Tensor, guesses: Tensor, crops: Sequence[Crop]) -> Tensor:
    """[N, C, crop, crop]: of true clips at every frame [B, C, 2k - 1, h, w] the moment that a guess at half
    the rate [B, C, k, h, w] comes nearest to."""
    return torch.stack([_nearest(pairs[clip], guesses[clip], *place) for clip, *place in crops])


def _nearest(pairs: Tensor, guess: Tensor, moment: int, y: int, x: int) -> Tensor:
    place, due = (slice(y, y + CROP), slice(x, x + CROP)), BLOCK * moment
    times = torch.arange(max(due - NEAR, 0), min(due + NEAR + 1, pairs.shape[1]))
    shown = pairs[:, times, *place]
    far = (shown - guess[:, moment, None, *place]).square().mean(dim=(0, 2, 3))
    return shown[:, int((far + LATE * (times - due).abs() / NEAR).argmin())]
