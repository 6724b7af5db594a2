"""Gradient checkpointing that is known to be on: the library is asked for it, and watched."""

from __future__ import annotations

from typing import Any

from torch.utils.checkpoint import checkpoint

from physplan.errors import PhysPlanError


class Checkpointing:
    """Counts the blocks that were checkpointed; networks that ran none although asked to are an error."""

    def __init__(self, *networks: Any) -> None:
        self.name = type(networks[0]).__name__
        self.blocks = 0
        for network in networks:
            try:
                network.enable_gradient_checkpointing(self._run)
            except ValueError as error:
                raise PhysPlanError(
                    f"{self.name} has no gradient checkpointing in this version of diffusers: load it so."
                ) from error

    def _run(self, block: Any, *arguments: Any) -> Any:
        self.blocks += 1
        return checkpoint(block.__call__, *arguments, use_reentrant=False)

    def verify(self) -> None:
        """To be called after a forward pass with gradients."""
        if self.blocks == 0:
            raise PhysPlanError(
                f"{self.name} was asked for gradient checkpointing but ran without it, so it would need more"
                " memory than planned: load it with checkpointing off, or use another version of diffusers."
            )
