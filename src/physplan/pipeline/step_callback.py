"""`callback_on_step_end`, with diffusers' signature: sees each step's latents, and may change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError

if TYPE_CHECKING:
    from torch import Tensor

# (the PhysPlan, number of the step, its timestep, {"latents": z [1, C, F, h, w]}) -> a mapping with the
# "latents" that the next step begins with; None, or a mapping without them: they stay.
OnStepEnd = Callable[[Any, int, Any, dict[str, Any]], Mapping[str, Any] | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class StepCallback:
    """`identity` is the function's attribute of that name: a run keeps its video for the same identity."""

    call: OnStepEnd
    pipe: Any
    identity: str | None = None

    def after(self, timesteps: Tensor) -> Callable[[int, Tensor], Tensor]:
        """Step n and the latents it gave -> the latents that the next step is given."""

        def step_end(n: int, latents: Tensor) -> Tensor:
            returned = self.call(self.pipe, n, timesteps[n], {"latents": latents}) or {}
            given = returned.get("latents", latents)
            if getattr(given, "shape", None) != latents.shape:
                raise PhysPlanError(
                    f"callback_on_step_end returned other latents than it was given: let them keep the shape "
                    f"{tuple(latents.shape)}."
                )
            changed: Tensor = given.to(latents)
            return changed

        return step_end


def step_callback(pipe: Any, call: OnStepEnd | None, tensors: Sequence[str]) -> StepCallback | None:
    """What `generate` was given, checked."""
    if unknown := [name for name in tensors if name != "latents"]:
        raise PhysPlanError(
            f"callback_on_step_end_tensor_inputs names {unknown[0]!r}: here a callback is given the latents."
        )
    return (
        None if call is None else StepCallback(call=call, pipe=pipe, identity=getattr(call, "identity", None))
    )
