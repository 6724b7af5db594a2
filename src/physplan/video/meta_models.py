"""A video model without weights: the real classes on torch's meta device, where a run costs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.video.checkpointing import Checkpointing
from physplan.video.families import cogvideox, ltx, svd, wan
from physplan.video.families.base import FamilyModel, Request
from physplan.video.loading import checkpoint_codec
from physplan.video.published import Networks
from physplan.video.sources import DENOISERS, PIPELINES, SCHEDULERS, is_present, read_index

META = torch.device("meta")


def shape_model(
    pipeline: str,
    networks: Networks,
    settings: Mapping[str, Any],
    *,
    dtype: torch.dtype,
    checkpointing: bool,
) -> FamilyModel:
    """The model that a pipeline of these networks makes, on the meta device."""
    import diffusers

    pipeline_name, family = PIPELINES[pipeline]
    built = {}
    for name, (cls, config) in networks.items():
        precise = family == "wan" and name == "vae"  # as it is loaded
        with META, default_dtype(torch.float32 if precise else dtype):
            built[name] = getattr(diffusers, cls).from_config(dict(config)).to(META)
    scheduler = getattr(diffusers, SCHEDULERS[family])(
        **({} if family in ("wan", "ltx") else {"prediction_type": "v_prediction"})
    )
    absent = ("image_encoder", "feature_extractor") if family == "svd" else ("tokenizer", "text_encoder")
    pipe = getattr(diffusers, pipeline_name)(
        scheduler=scheduler, **built, **dict.fromkeys(absent), **settings
    )
    model = _family(family, pipe)
    for network in built.values():
        network.eval().requires_grad_(False)
    if checkpointing:
        model.denoiser_checkpointing = Checkpointing(*(built[n] for n in DENOISERS if n in built))
        model.codec_checkpointing = checkpoint_codec(family, built["vae"])
    return model


def folder_networks(folder: Path) -> tuple[str, Networks, dict[str, Any]]:
    """Pipeline class, networks and settings of a local model, from its config files alone."""
    index = read_index(folder)
    networks = {
        name: (index[name][1], json.loads((folder / name / "config.json").read_text()))
        for name in (*DENOISERS, "vae")
        if is_present(index, name)
    }
    settings: dict[str, Any] = {k: index[k] for k in ("boundary_ratio", "expand_timesteps") if k in index}
    return index["_class_name"], networks, settings


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def shape_attention() -> Iterator[None]:
    """Attention that keeps what a fused kernel keeps for its backward pass; meta's would keep the matrix."""

    def fused(query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> Any:
        return _Fused.apply(query, key, value)  # type: ignore[no-untyped-call]

    original = F.scaled_dot_product_attention
    setattr(F, "scaled_dot_product_attention", fused)  # noqa: B010
    try:
        yield
    finally:
        setattr(F, "scaled_dot_product_attention", original)  # noqa: B010


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        output = query.new_empty(*query.shape[:-1], value.shape[-1])
        row_sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(query, key, value, output, row_sums)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = ctx.saved_tensors[:3]
        return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)


def _family(name: str, pipe: Any) -> FamilyModel:
    """The family's model with encoders that only know the shape of their output."""
    if name == "cogvideox":
        config = pipe.transformer.config

        def encode_text(prompts: list[str]) -> Tensor:
            return torch.empty(len(prompts), config.max_text_seq_length, config.text_embed_dim, device=META)

        return cogvideox.CogVideoX.from_pipeline(pipe, encode_text)

    def encode(run: Request) -> dict[str, Any]:
        rows = 2 if run.guided else 1
        if name == "svd":
            return {"seen": torch.empty(rows, 1, pipe.unet.config.cross_attention_dim, device=META)}
        config = pipe.transformer.config
        if name == "ltx":
            mask = torch.empty(rows, 128, dtype=torch.bool, device=META)
            return {"text": torch.empty(rows, 128, config.caption_channels, device=META), "mask": mask}
        looks = config.image_dim is not None
        seen = torch.empty(1, 257, config.image_dim, device=META) if looks else None
        return {"text": torch.empty(rows, 512, config.text_dim, device=META), "seen": seen}

    if name == "svd":
        return svd.SVD(pipe, encode)
    return wan.Wan(pipe, encode) if name == "wan" else ltx.LTX(pipe, encode)
