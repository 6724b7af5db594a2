"""Checkpointing for Wan's decoder, which the library does not offer: 9 frames of 480p keep 62 GB without it.

The decoder hands features from one latent to the next in a list that every block changes in place. To be
run again for the backward pass, a block must see the list as it was: it gets a copy and returns the new one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from diffusers.models.autoencoders.autoencoder_kl_wan import WanResample, WanResidualBlock
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from physplan.video.gradient_checkpointing import Checkpointing


class WanCheckpointing(Checkpointing):
    def __init__(self, vae: Any) -> None:
        self.name, self.blocks = type(vae).__name__, 0
        for block in vae.decoder.modules():
            if isinstance(block, WanResidualBlock | WanResample):
                block.forward = self._replayable(block.forward)

    def _replayable(self, forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def run(x: Tensor, feat_cache: list[Any], feat_idx: list[int]) -> Tensor:
            if not torch.is_grad_enabled():
                return forward(x, feat_cache, feat_idx)
            self.blocks += 1
            start = feat_idx[0]

            def replay(x: Tensor, *before: Any) -> tuple[Any, ...]:
                cache, index = list(before), [start]
                return forward(x, cache, index), index[0], *cache

            output: Tensor
            output, feat_idx[0], *feat_cache[:] = checkpoint(replay, x, *feat_cache, use_reentrant=False)
            return output

        return run
