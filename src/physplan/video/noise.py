"""The three noise families in closed form.

A diffusion scheduler keeps a step index; guidance repeats steps and travels back in time. So each family here
is an immutable list of noise levels with four pure functions of tensors. In all of them a noisy latent is

    z_n = alpha_n z_0 + sigma_n xi,   xi ~ N(0, I),   n = 0 (noise) .. num_steps - 1,

and `step` goes from level n to the level it lands on, `travel` there and back again with fresh noise.

Latents are [1, C, F, H, W]. The first `frozen` latents of some models are the given picture and stay clean:
every function hands them through detached, so no gradient and no noise reaches them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from physplan.errors import PhysPlanError


def keep_frozen(frozen: int, old: Tensor, new: Tensor) -> Tensor:
    """`new`, with the first `frozen` latents of `old` in place of its own."""
    if frozen == 0:
        return new
    return torch.cat([old[:, :, :frozen].detach(), new[:, :, frozen:]], dim=2)


@dataclass(frozen=True, kw_only=True)
class VariancePreserving:
    """alpha^2 + sigma^2 = 1 and a model that predicts v = alpha xi - sigma z_0 (CogVideoX, the sandbox)."""

    signal: tuple[float, ...]  # abar_n = alpha_n^2; 0 at the first level when the terminal SNR is zero
    landing: tuple[float, ...]  # abar that step n lands on: abar_{n+1} but for the scheduler's rounding
    frozen: int = 0
    eta: float = 0.0  # of DDIM: the share of fresh noise in a step, 1 for as much as DDPM draws

    @classmethod
    def from_scheduler(cls, scheduler: Any, *, frozen: int = 0, eta: float = 0.0) -> Self:
        """Levels of a DDIM scheduler after `set_timesteps`."""
        _require_prediction(scheduler, "v_prediction")
        abar = scheduler.alphas_cumprod
        stride = scheduler.config.num_train_timesteps // scheduler.num_inference_steps
        times = [int(t) for t in scheduler.timesteps]
        landing = [abar[t - stride] if t >= stride else scheduler.final_alpha_cumprod for t in times]
        return cls(
            signal=tuple(float(abar[t]) for t in times),
            landing=tuple(map(float, landing)),
            frozen=frozen,
            eta=eta,
        )

    @property
    def num_steps(self) -> int:
        return len(self.signal)

    def alpha(self, n: int) -> float:
        return sqrt(self.signal[n])

    def sigma(self, n: int) -> float:
        return sqrt(1 - self.signal[n])

    def add_noise(self, clean: Tensor, n: int, noise: Tensor) -> Tensor:
        """The forward process: z_n from z_0."""
        return keep_frozen(self.frozen, clean, self.alpha(n) * clean + self.sigma(n) * noise)

    def clean_estimate(self, z: Tensor, prediction: Tensor, n: int) -> Tensor:
        """Eq. 3: z_{0|t} = sqrt(abar) z - sqrt(1 - abar) v."""
        return keep_frozen(self.frozen, z, self.alpha(n) * z - self.sigma(n) * prediction)

    def step(self, z: Tensor, prediction: Tensor, n: int, noise: Tensor | None = None) -> Tensor:
        """DDIM: the same noise, less of it; when `noise` is given, the share eta of it is drawn afresh."""
        clean = self.alpha(n) * z - self.sigma(n) * prediction
        left = 1 - self.landing[n]
        drawn = self.eta**2 * left / (1 - self.signal[n]) * (1 - self.signal[n] / self.landing[n])
        drawn = 0.0 if noise is None else min(drawn, left)
        keep = sqrt((left - drawn) / (1 - self.signal[n]))
        moved = keep * z + (sqrt(self.landing[n]) - self.alpha(n) * keep) * clean
        if noise is not None:
            moved = moved + sqrt(drawn) * noise
        return keep_frozen(self.frozen, z, moved)

    def renoise(self, z_next: Tensor, n: int, noise: Tensor) -> Tensor:
        """Time travel of algorithm 1: z_n = sqrt(abar_n / abar_{n+1}) z_{n+1} + sqrt(1 - that ratio) xi."""
        ratio = self.signal[n] / self.landing[n]
        return keep_frozen(self.frozen, z_next, sqrt(ratio) * z_next + sqrt(1 - ratio) * noise)

    def travel(
        self, z: Tensor, prediction: Tensor, n: int, noise: Tensor, *, after: Tensor | float = 0.0
    ) -> Tensor:
        """A step to the next level, less `after`, and back to level n."""
        return self.renoise(self.step(z, prediction, n) - after, n, noise)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """z_n = (1 - sigma_n) z_0 + sigma_n xi and a model that predicts the velocity xi - z_0 (Wan, LTX)."""

    sigmas: tuple[float, ...]  # num_steps + 1 of them, the last one 0
    frozen: int = 0
    eta: ClassVar[float] = 0.0  # its steps draw nothing

    @classmethod
    def from_scheduler(cls, scheduler: Any, *, frozen: int = 0) -> Self:
        """Levels of a flow-matching Euler scheduler after `set_timesteps`."""
        return cls(sigmas=tuple(map(float, scheduler.sigmas)), frozen=frozen)

    @property
    def num_steps(self) -> int:
        return len(self.sigmas) - 1

    def alpha(self, n: int) -> float:
        return 1 - self.sigmas[n]

    def sigma(self, n: int) -> float:
        return self.sigmas[n]

    def add_noise(self, clean: Tensor, n: int, noise: Tensor) -> Tensor:
        """The forward process: z_n from z_0."""
        return keep_frozen(self.frozen, clean, self.alpha(n) * clean + self.sigma(n) * noise)

    def clean_estimate(self, z: Tensor, prediction: Tensor, n: int) -> Tensor:
        """Appendix A.5: z_{0|t} = z_t - t v."""
        return keep_frozen(self.frozen, z, z - self.sigmas[n] * prediction)

    def step(self, z: Tensor, prediction: Tensor, n: int, noise: None = None) -> Tensor:
        """One Euler step along the velocity."""
        return keep_frozen(self.frozen, z, z + (self.sigmas[n + 1] - self.sigmas[n]) * prediction)

    def travel(
        self, z: Tensor, prediction: Tensor, n: int, noise: Tensor, *, after: Tensor | float = 0.0
    ) -> Tensor:
        """Time travel as Frame Guidance does it for flows: fresh noise on the clean estimate."""
        return self.add_noise(self.clean_estimate(z, prediction, n), n, noise) - after


@dataclass(frozen=True, kw_only=True)
class EDM:
    """z_n = z_0 + sigma_n xi and a model that predicts v on the scaled latent (Stable Video Diffusion)."""

    sigmas: tuple[float, ...]  # num_steps + 1 of them
    frozen: int = 0
    eta: ClassVar[float] = 0.0  # its steps draw nothing

    @classmethod
    def from_scheduler(cls, scheduler: Any, *, frozen: int = 0) -> Self:
        """Levels of an Euler scheduler after `set_timesteps`."""
        _require_prediction(scheduler, "v_prediction")
        return cls(sigmas=tuple(map(float, scheduler.sigmas)), frozen=frozen)

    @property
    def num_steps(self) -> int:
        return len(self.sigmas) - 1

    def alpha(self, n: int) -> float:
        return 1.0

    def sigma(self, n: int) -> float:
        return self.sigmas[n]

    def scale_input(self, z: Tensor, n: int) -> Tensor:
        """What the network is given: z_n at unit variance."""
        return z / (self._level(n) ** 2 + 1) ** 0.5

    def add_noise(self, clean: Tensor, n: int, noise: Tensor) -> Tensor:
        """The forward process: z_n from z_0."""
        return keep_frozen(self.frozen, clean, clean + self.sigma(n) * noise)

    def clean_estimate(self, z: Tensor, prediction: Tensor, n: int) -> Tensor:
        """z_0 = z / (sigma^2 + 1) - sigma / sqrt(sigma^2 + 1) v."""
        return keep_frozen(self.frozen, z, self._clean(z, prediction, n))

    def step(self, z: Tensor, prediction: Tensor, n: int, noise: None = None) -> Tensor:
        """One Euler step of the probability-flow ODE."""
        slope = (z - self._clean(z, prediction, n)) / self._level(n)
        return keep_frozen(self.frozen, z, z + slope * (self._level(n + 1) - self._level(n)))

    def renoise(self, z_next: Tensor, n: int, noise: Tensor) -> Tensor:
        """Add the variance that is missing at level n."""
        missing = sqrt(max(self.sigmas[n] ** 2 - self.sigmas[n + 1] ** 2, 0.0))
        return keep_frozen(self.frozen, z_next, z_next + missing * noise)

    def travel(
        self, z: Tensor, prediction: Tensor, n: int, noise: Tensor, *, after: Tensor | float = 0.0
    ) -> Tensor:
        """A step to the next level, less `after`, and back to level n."""
        return self.renoise(self.step(z, prediction, n) - after, n, noise)

    def _clean(self, z: Tensor, prediction: Tensor, n: int) -> Tensor:
        variance = self._level(n) ** 2 + 1
        return prediction * (-self._level(n) / variance**0.5) + z / variance

    def _level(self, n: int) -> Tensor:
        """sigma_n in float32: at 700, the library's rounding must be ours, or latents differ by 1e-5."""
        return torch.tensor(self.sigmas[n])


def _require_prediction(scheduler: Any, kind: str) -> None:
    found = scheduler.config.prediction_type
    if found != kind:
        raise PhysPlanError(
            f"The scheduler {type(scheduler).__name__} is set to prediction_type {found!r}, but this family"
            f" needs {kind!r}: use the scheduler that came with the model."
        )
