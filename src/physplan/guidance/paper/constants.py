"""The constants of algorithm 1 (section 4, appendix A.5), and its number of repeats. Loads no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Constants:
    """b, tau and lambda are ours: the paper gives no value (docs/presets.md)."""

    threshold: float = 0.6  # b of eq. 4
    temperature: float = 0.1  # tau of eq. 4
    instance_level: float = 0.5  # occupancy above this is an instance
    step_size: float = 3.0  # eta of eq. 10
    outside_weight: float = 0.2  # lambda of eq. 10
    layout_steps: int = 5  # n_E
    guided_steps: int = 20  # n_L
    repeats: int = 10  # N_g

    def repeats_at(self, n: int) -> int:
        """M: N_g if n <= n_E else ceil(N_g (n_L - n + 1) / (n_L - n_E)); n counts from 0 here, 1 there."""
        if n >= self.guided_steps:
            return 0
        if n < self.layout_steps:
            return self.repeats
        return -(-self.repeats * (self.guided_steps - n) // (self.guided_steps - self.layout_steps))


CONSTANTS = Constants()
