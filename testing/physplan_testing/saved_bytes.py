"""What autograd keeps for backward passes, counted."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def peak_saved_bytes(function: Callable[[], object]) -> int:
    """The most bytes that autograd keeps for backward passes at any one time while `function` runs."""
    alive: dict[int, tuple[int, int]] = {}  # storage -> (bytes, holders)
    peak = 0

    class Held:
        """A saved tensor; its storage is counted once, until the last holder is gone."""

        def __init__(self, tensor: Tensor) -> None:
            nonlocal peak
            self.tensor = tensor.detach()  # an output that held its own graph would never be freed
            storage = tensor.untyped_storage()
            self.key = storage.data_ptr()
            size, holders = alive.get(self.key, (storage.nbytes(), 0))
            alive[self.key] = (size, holders + 1)
            peak = max(peak, sum(entry[0] for entry in alive.values()))

        def __del__(self) -> None:
            size, holders = alive.pop(self.key)
            if holders > 1:
                alive[self.key] = (size, holders - 1)

    with torch.autograd.graph.saved_tensors_hooks(Held, lambda held: held.tensor):
        function()
    return peak
