"""Algorithm 1: one guided sampling run, of PhysPlan, of Frame Guidance, or of anything between."""

from __future__ import annotations

import torch
from torch import Tensor

from physplan.guidance.repeat import GuidedRun, guided_repeat
from physplan.guidance.watch import Watch
from physplan.video.sampling import reverse_step


def guided_sample(run: GuidedRun, watch: Watch) -> Tensor:
    """Clean latents, guided towards the run's objective; `watch` counts the repeats and sees them all."""
    model, conditioning, noise = run.model, run.conditioning, run.conditioning.noise
    z = watch.latents
    for n in range(watch.first, noise.num_steps):
        z = run.enter(z, n)
        for number in watch.repeats(n):
            z, found, update = guided_repeat(run, z, n, number=number)
            watch.saw_repeat(n, found, update)
        with torch.no_grad():
            prediction = model.predict(z, n, conditioning)
            clean = noise.clean_estimate(z, prediction, n)
            z = reverse_step(conditioning, z, prediction, n, run.generator)
        watch.saw_step(n, z, clean)
    return z
