"""Algorithm 1 of the paper (appendix A.5), line by line: what `physplan.guidance.sampler` must equal.

No video is made with it: it keeps the graph of a whole repeat, takes no notes and cannot be stopped.
Steps n count from 0. Latents z are [1, C, F, H', W'], previews [3, H, W].
"""

from __future__ import annotations

import torch
from torch import Tensor

from physplan.graph import EventChain
from physplan.guidance.paper.constants import CONSTANTS, Constants
from physplan.guidance.paper.keyframes import build_targets
from physplan.guidance.paper.measurement import encode_preview, measure_event
from physplan.guidance.paper.regions import pool
from physplan.guidance.paper.selection import select_terms
from physplan.guidance.paper.update import normalised, region_weights
from physplan.perception.evidence import Evidence
from physplan.perception.protocol import DepthEstimator, FeatureEncoder
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import draw_noise


def algorithm1(
    model: VideoModel,
    conditioning: Conditioning,
    chain: EventChain,
    evidence: Evidence,
    *,
    encoder: FeatureEncoder,
    depth: DepthEstimator,
    generator: torch.Generator,
    constants: Constants = CONSTANTS,
) -> Tensor:
    """Clean latents, guided by the keyframes of `chain`, their masks and depth maps in `evidence`."""
    noise, eta = conditioning.noise, constants.step_size
    size = (conditioning.height, conditioning.width)
    selected = [select_terms(chain, event) for event in range(len(chain.events))]  # eq. 8
    targets = build_targets(chain, evidence, selected, encoder=encoder, size=size, device=model.device)
    windows = [  # J_i: the latents that cover frame f_i
        conditioning.layout.window(frame, model.preview_length, model.preview_mode) for frame in chain.anchors
    ]
    z = conditioning.latents  # z ~ N(0, I)
    for n in range(noise.num_steps):
        for _ in range(constants.repeats_at(n)):  # M; 0 after n_L
            layout = n < constants.layout_steps  # n <= n_E
            z = z.detach().requires_grad_()
            clean = noise.clean_estimate(z, model.predict(z, n, conditioning), n)  # eq. 3
            g = torch.zeros_like(z)
            for target, window in zip(targets, windows, strict=True):
                preview = model.decode_window(clean[:, :, window.latents], window)
                features, nearness = encode_preview(preview, encoder, depth)
                for spec, loss, region in measure_event(target, features, nearness, constants):  # eqs. 4 to 9
                    (gradient,) = torch.autograd.grad(loss, z, retain_graph=True)
                    unit = spec.weight * normalised(gradient)  # edits that select one term count each
                    if layout:
                        omega = pool(region, (z.shape[-2], z.shape[-1]))
                        g += region_weights(omega, constants.outside_weight) * unit  # eq. 10
                    else:
                        g += unit
            g[:, :, : noise.frozen] = 0  # the given picture's latents, where a model keeps them in z
            with torch.no_grad():
                z = z - eta * g
                if not layout:  # time travel: a reverse step, then noise back to t_n
                    xi = draw_noise(z, generator)
                    z = noise.travel(z, model.predict(z, n, conditioning), n, xi)
        with torch.no_grad():
            z = noise.step(z, model.predict(z, n, conditioning), n)  # reverse step
    return z
