"""An interrupted sampling resumes at its step: latent, generator and what was recorded, after each step.

The next step depends on nothing else, so the video is the same to the bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.tensors import open_tensors, save_tensors

SCHEMA = "physplan.sampling/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class SamplingState:
    """`step` is the next to be done; `record` is JSON, and the loop's own business, as `tensors` are."""

    step: int
    latents: Tensor
    generator: Tensor  # its state
    record: Any = None
    tensors: Mapping[str, Tensor] = field(default_factory=dict)


class Checkpoint(Protocol):
    def load(self) -> SamplingState | None: ...

    def save(self, state: SamplingState) -> None: ...


@dataclass(frozen=True)
class CheckpointFile:
    """One file, replaced whole after every step. `key` names all that decides the sampling."""

    path: Path
    key: str

    def load(self) -> SamplingState | None:
        """None where there is none, or none of this sampling: it then starts from the first step."""
        try:
            with open_tensors(self.path) as file:
                about = file.metadata() or {}
                if (about.get("schema"), about.get("key")) != (SCHEMA, self.key):
                    return None
                found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
                order = json.loads(about["order"])
                return SamplingState(
                    step=int(about["step"]),
                    latents=found.pop("latents").clone().permute([order.index(i) for i in range(len(order))]),
                    generator=found.pop("generator"),
                    record=json.loads(about["record"]),
                    tensors={name.partition(":")[2]: tensor for name, tensor in found.items()},
                )
        except (OSError, SafetensorError, ValueError, LookupError, PhysPlanError):
            return None

    def save(self, state: SamplingState) -> None:
        tensors = {f"kept:{name}": one.detach().cpu().contiguous() for name, one in state.tensors.items()}
        z = state.latents.detach().cpu()
        # The axes as they lie in memory: networks round otherwise where they lie otherwise.
        order = sorted(range(z.ndim), key=lambda axis: -z.stride()[axis])
        tensors |= {"latents": z.permute(order).contiguous(), "generator": state.generator}
        about = {"schema": SCHEMA, "key": self.key, "step": str(state.step), "order": json.dumps(order)}
        save_tensors(self.path, tensors, {**about, "record": json.dumps(state.record)})

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def resume(
    checkpoint: Checkpoint | None, generator: torch.Generator | None, like: Tensor
) -> SamplingState | None:
    """The state to resume from, on the device of `like`; the generator is set to where it was."""
    state = checkpoint.load() if checkpoint is not None else None
    if state is None or state.latents.shape != like.shape or generator is None:
        return None
    generator.set_state(state.generator)
    return replace(state, latents=state.latents.to(like))
