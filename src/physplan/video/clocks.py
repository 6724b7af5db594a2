"""The two clocks of a start from the sketch (after the idea of Time-to-Move, arXiv 2511.08633)."""

from __future__ import annotations

from dataclasses import dataclass

from physplan.errors import PhysPlanError


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Shares of the steps: where everything starts from the sketch, and until where the masks hold it."""

    weak: float
    strong: float

    def __post_init__(self) -> None:
        if not 0 <= self.weak <= self.strong <= 1:
            given = f"weak {self.weak:g} and strong {self.strong:g}"
            raise PhysPlanError(f"The clocks need 0 <= weak <= strong <= 1, not {given}.")

    def steps(self, num_steps: int) -> tuple[int, int]:
        return min(round(self.weak * num_steps), num_steps - 1), round(self.strong * num_steps)


FLOW = Clocks(weak=0.06, strong=0.14)  # Time-to-Move's for Wan; those of other flow models are not known
