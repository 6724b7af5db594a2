"""Weights that live elsewhere: in memory beside the card's, or on disk. A block's weights are brought for its
forward pass, for its recomputation and for its backward pass, and let go after each: one block at a time.

The library's hooks let weights go before a backward pass needs them. Here a block is one node of the graph
that keeps nothing but its inputs; its backward pass runs it again, with its weights there, to its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from physplan.tensors import save_tensors

Fetch = Callable[[str], Tensor]  # a weight by its name in the block


def blocks_of(network: nn.Module) -> dict[str, nn.Module]:
    """The blocks of a denoiser: what its lists of modules hold. The rest of it is small."""
    return {
        f"{name}.{number}": block
        for name, child in network.named_children()
        if isinstance(child, nn.ModuleList)
        for number, block in enumerate(child)
    }


class Streaming:
    """Blocks whose weights are on `device` only while they run; `resident` counts their bytes."""

    def __init__(self, network: nn.Module, device: torch.device, folder: Path | None = None) -> None:
        self.device = device
        self.resident = self.peak = 0
        for name, block in blocks_of(network).items():
            weights = {key: tensor.data for key, tensor in _tensors(block)}
            file = folder / f"{name}.safetensors" if folder else None
            fetch = _from_disk(weights, file) if file else _from_memory(weights, device)
            self._let_go(block)
            block.forward = self._running(block, block.forward, fetch)

    def _running(self, block: nn.Module, forward: Callable[..., Any], fetch: Fetch) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            leaves, spec = tree_flatten((arguments, named))
            if not (torch.is_grad_enabled() and any(_differentiated(leaf) for leaf in leaves)):
                with self.brought(block, fetch):
                    return forward(*arguments, **named)
            shape: list[Any] = []

            def again(leaves: list[Any]) -> list[Any]:
                positional, keyword = tree_unflatten(leaves, spec)
                with self.brought(block, fetch):
                    outputs, found = tree_flatten(forward(*positional, **keyword))
                shape[:] = [found]
                return outputs

            def back(leaves: list[Any], gradients: tuple[Tensor | None, ...]) -> list[Tensor | None]:
                positional, keyword = tree_unflatten(leaves, spec)
                with self.brought(block, fetch):  # until its backward pass has ended
                    outputs = tree_flatten(forward(*positional, **keyword))[0]
                    return _gradients(outputs, leaves, gradients)

            outputs = _Block.apply(again, back, *leaves)  # type: ignore[no-untyped-call]
            return tree_unflatten(list(outputs), shape[0])

        return run

    @contextmanager
    def brought(self, block: nn.Module, fetch: Fetch) -> Iterator[None]:
        for key, tensor in _tensors(block):
            tensor.data = fetch(key).to(self.device)
            self.resident += tensor.numel() * tensor.element_size()
        self.peak = max(self.peak, self.resident)
        try:
            yield
        finally:
            self.resident -= sum(t.numel() * t.element_size() for _, t in _tensors(block))
            self._let_go(block)

    def _let_go(self, block: nn.Module) -> None:
        for _, tensor in _tensors(block):
            tensor.data = torch.empty(0, dtype=tensor.dtype, device=self.device)


class _Block(torch.autograd.Function):
    """One node of the graph: it keeps the block's inputs alone."""

    @staticmethod
    def forward(ctx: Any, again: Any, back: Any, *leaves: Any) -> tuple[Any, ...]:
        ctx.back = back
        ctx.places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        ctx.others = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        ctx.save_for_backward(*(leaves[n] for n in ctx.places))
        return tuple(again(list(leaves)))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        leaves = list(ctx.others)
        for n, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            leaves[n] = tensor.detach().requires_grad_(ctx.needs_input_grad[n + 2])
        with torch.enable_grad():
            return None, None, *ctx.back(leaves, gradients)


def _gradients(
    outputs: list[Any], leaves: list[Any], gradients: tuple[Tensor | None, ...]
) -> list[Tensor | None]:
    asked = [leaf for leaf in leaves if _differentiated(leaf)]
    pairs = [
        (output, gradient)
        for output, gradient in zip(outputs, gradients, strict=True)
        if _differentiated(output) and gradient is not None
    ]
    made = torch.autograd.grad([o for o, _ in pairs], asked, [g for _, g in pairs], allow_unused=True)
    found = iter(made)
    return [next(found) if _differentiated(leaf) else None for leaf in leaves]


def _differentiated(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _tensors(block: nn.Module) -> list[tuple[str, Tensor]]:
    return [*block.named_parameters(), *block.named_buffers()]


def _from_memory(weights: Mapping[str, Tensor], device: torch.device) -> Fetch:
    if device.type == "meta":  # shapes alone: what is brought is new, so that it can be counted
        return lambda name: torch.empty_like(weights[name])
    resting = {name: tensor.cpu() for name, tensor in weights.items()}
    return lambda name: resting[name]


def _from_disk(weights: Mapping[str, Tensor], path: Path) -> Fetch:
    """Written once; every fetch reads it again."""
    save_tensors(path, {name: tensor.cpu().contiguous() for name, tensor in weights.items()})

    def fetch(name: str) -> Tensor:
        with safe_open(path, "pt") as file:
            return file.get_tensor(name)  # type: ignore[no-any-return]

    return fetch
