"""What the contour network learns: true contours from what the outline network leaves of clips, and in half
of the steps from what it has guessed itself.

A guess under much noise is a blur around where a thing may be. From true clips alone the network never learns
what to make of one, and in a video the blur stays and comes apart in the end. The truth is no good aim for
it: the thing may as well be a little earlier or later, so the answer would be a blur again. The aim is the
moment of the true clip that is nearest to the guess: whatever it shows, to be drawn as a thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    spread, abar = Spread.of(frozen.departs, frozen.departs_moving), signal_left()
    outline = load_packed(OutlineNet, weights / "outline").eval().requires_grad_(False)
    of_outlines = Spread.of(frozen.outlines, frozen.outlines_moving)
    draw, moments = whole_clips(folder, clips, frozen, every=1), tuple(denoiser.config.moments)

    def noised(clean: Tensor, noise: Tensor, steps: Tensor) -> Tensor:
        return wide(abar[steps].sqrt()) * clean + wide(CALMER * (1 - abar[steps]).sqrt()) * noise

    def outlines_in(seen: Tensor, shown: Whole, steps: Tensor) -> Tensor:
        """[B, C, k, h, w]: as the outline network answers under the noise of these steps."""
        with torch.no_grad():
            found = outline(
                smaller(seen),
                shown.pictures[:, : spread.channels],
                shown.blocks,
                steps,
                shown.text,
                of_outlines,
                abar[steps].sqrt(),
                QUIETER * (1 - abar[steps]).sqrt(),
                shown.lots,
            )
        return F.interpolate(found.float(), scale_factor=(1.0, 2.0, 2.0))

    def guess_at_first(shown: Whole, noise: Tensor) -> Tensor:
        """[B, C, k, h, w]: what the network makes of clips of which only noise is seen."""
        many, moment = len(noise), torch.arange(1, 1 + noise.shape[2])
        steps = torch.full((many,), PURE)
        seen = noised(torch.zeros_like(noise), noise, steps)
        parts = (seen, outlines_in(seen, shown, steps))
        looks, outlined = (denoiser.neighbours(F.pad(x, (0, 0, 0, 0, 1, 0)), moment) for x in parts)
        with torch.no_grad():
            found = denoiser(
                looks,
                shown.pictures.repeat_interleave(len(moment), dim=0),
                shown.blocks,
                steps.repeat_interleave(len(moment)),
                spread,
                abar[PURE].sqrt().expand(len(looks)),
                CALMER * (1 - abar[PURE]).sqrt().expand(len(looks)),
                outlines=outlined,
            )
        return found.float().unflatten(0, (many, -1)).transpose(1, 2)

    def loss_at(step: int, rng: np.random.Generator) -> Tensor:
        own = rng.random() < OWN
        many = max(config.batch // (2 * PER_CLIP if own else PER_CLIP), 1)
        shown = draw(many, rng, own)
        truth = shown.departures[:, :, ::BLOCK]
        steps, noise = noise_steps(many, LEAST, 1000, rng), torch.randn_like(truth)
        if own:
            steps, clean = steps.clamp(max=GUESSED), guess_at_first(shown, noise)
            outlines = outlines_in(noised(clean, noise, steps), shown, steps)
        else:
            clean, under = truth, earlier(steps, rng)
            outlines = outlines_in(noised(truth, noise, under), shown, under)
        crops = list(busy_crops(truth, clean if own else outlines, config.batch // many, rng))
        of = torch.tensor([clip for clip, *_ in crops])
        seen, outlined = (
            neighbourhoods(part, crops, moments) for part in (noised(clean, noise, steps), outlines)
        )
        picture = neighbourhoods(shown.pictures[:, :, None], [(b, 0, y, x) for b, _, y, x in crops], (0,))
        sigma = CALMER * (1 - abar[steps[of]]).sqrt()
        guess = denoiser(
            seen,
            picture[:, :, 0],
            shown.blocks,
            steps[of],
            spread,
            abar[steps[of]].sqrt(),
            sigma,
            torch.tensor([(y, x) for *_, y, x in crops]),
            outlined,
        )
        aim = nearest(shown.departures, clean, crops) if own else neighbourhoods(truth, crops, (0,))[:, :, 0]
        return departure_loss(guess, aim, spread.flat(), sigma.view(-1, 1, 1, 1))

    return loss_at


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
