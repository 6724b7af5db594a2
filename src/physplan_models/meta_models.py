"""A video model without weights: the real classes on torch's meta device, where a run costs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from physplan.video.base import FamilyModel
from physplan.video.gradient_checkpointing import Checkpointing
from physplan_models.families import family_of
from physplan_models.families.family import META
from physplan_models.published import Networks
from physplan_models.sources import DENOISERS, is_present, read_index


def meta_model(
    pipeline: str,
    networks: Networks,
    settings: Mapping[str, Any],
    *,
    dtype: torch.dtype,
    checkpointing: bool,
    scheduler: Mapping[str, Any] | None = None,
) -> FamilyModel:
    """The model that a pipeline of these networks makes, on the meta device."""
    import diffusers

    family = family_of(pipeline)
    built = {}
    for name, (cls, config) in networks.items():
        as_loaded = family.codec_dtype if name == "vae" else None
        with META, default_dtype(as_loaded or dtype):
            built[name] = getattr(diffusers, cls).from_config(dict(config)).to(META)
    pipe = getattr(diffusers, family.pipelines[pipeline])(
        scheduler=getattr(diffusers, family.scheduler).from_config(
            {**family.scheduler_settings, **(scheduler or {})}
        ),
        **built,
        **dict.fromkeys(family.encoders),
        **family.on_meta,
        **{**settings, **family.given},
    )
    model = family.model(pipe, family.meta_words(pipe))
    for network in built.values():
        network.eval().requires_grad_(False)
    if checkpointing:
        model.denoiser_checkpointing = Checkpointing(*model.denoisers)
        model.codec_checkpointing = family.codec_checkpointing(built["vae"])
    return model


def folder_scheduler(folder: Path) -> dict[str, Any]:
    """What a local model says of its scheduler, in the words of the one we use."""
    path = folder / "scheduler" / "scheduler_config.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    family = family_of(read_index(folder)["_class_name"])
    return family.read_scheduler({k: v for k, v in found.items() if not k.startswith("_")})


def folder_networks(folder: Path) -> tuple[str, Networks, dict[str, Any]]:
    """Pipeline class, networks and settings of a local model, from its config files alone."""
    index = read_index(folder)
    networks = {
        name: (index[name][1], json.loads((folder / name / "config.json").read_text()))
        for name in (*DENOISERS, "vae")
        if is_present(index, name)
    }
    wanted = family_of(index["_class_name"]).settings
    settings: dict[str, Any] = {name: index[name] for name in wanted if name in index}
    return index["_class_name"], networks, settings


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class _Fused(torch.autograd.Function):
    """Attention without content that keeps what a fused kernel keeps for its backward pass."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        output = query.new_empty(*query.shape[:-1], value.shape[-1])
        row_sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(query, key, value, output, row_sums, mask)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, key, value = ctx.saved_tensors[:3]
        return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value), None


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *_: Any, **__: Any) -> Any:
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.empty_like(mask, dtype=query.dtype)  # kernels add it to the scores
    return _Fused.apply(query, key, value, mask)  # type: ignore[no-untyped-call]


# Attention on the meta device, and on no other: its own kernel would keep the whole matrix.
_ATTENTION = torch.library.Library("aten", "IMPL", "AutogradMeta")  # type: ignore[no-untyped-call]
_ATTENTION.impl("scaled_dot_product_attention", _attend)  # type: ignore[no-untyped-call]
