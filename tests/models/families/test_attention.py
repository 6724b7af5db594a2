"""Attention back ends by name, and compiled blocks: the same video and the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from PIL.Image import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.requirements import check_offload
from physplan.video.base import FamilyModel
from physplan.video.protocol import VideoRequest
from physplan_models import attention
from physplan_models.attention import ATTENTION
from physplan_models.loading import LoadOptions, load_video_model
from physplan_models.memory import estimate_preset
from physplan_models.published import published_model

Load = Callable[..., FamilyModel]
Folder = Callable[[str], Path]


def twice(model: FamilyModel, picture: Image) -> tuple[Tensor, Tensor, Tensor]:
    """A prediction, and its gradient taken two times, as terms that pass back one by one do."""
    conditioning = model.prepare(
        VideoRequest(
            image=picture,
            prompt="a ball rolls",
            height=64,
            width=64,
            num_frames=9,
            num_inference_steps=4,
            guidance_scale=3.0,
            generator=torch.Generator().manual_seed(0),
        )
    )
    z = conditioning.latents.clone().requires_grad_()
    predicted = model.predict(z, 1, conditioning)
    weights = torch.randn(predicted.shape, generator=torch.Generator().manual_seed(1))
    first = torch.autograd.grad(predicted, z, weights, retain_graph=True)[0]
    return predicted.detach(), first, torch.autograd.grad(predicted, z, weights)[0]


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        *((name, "_native_math") for name in ("wan", "wan_vace", "ltx", "ltx2", "hunyuan15")),
        *((name, "_native_flash") for name in ("wan", "wan_vace", "hunyuan15")),
    ],
)
def test_another_attention_gives_the_same_video_and_gradient(
    name: str, chosen: str, load: Load, folder: Folder, picture: Image
) -> None:
    wanted = twice(load(name), picture)
    model = load_video_model(folder(name), LoadOptions(attention=chosen))
    assert {one._attention_backend.value for one in attention.processors(model, chosen)} == {chosen}
    for ours, theirs in zip(twice(model, picture), wanted, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4 * float(theirs.abs().max()))


def test_one_models_attention_is_no_other_models(folder: Folder, load: Load) -> None:
    from diffusers.models.attention_dispatch import _AttentionBackendRegistry

    before = _AttentionBackendRegistry.get_active_backend()
    load_video_model(folder("wan"), LoadOptions(attention="_native_math"))
    assert _AttentionBackendRegistry.get_active_backend() == before
    assert {one._attention_backend for one in attention.processors(load("wan"), "native")} == {None}


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("cogvideox", {"attention": "native"}, "cogvideox is torch's own choice"),
        ("ltx", {"attention": "_native_flash"}, "hides words behind a mask"),
        ("wan", {"attention": "flsh"}, "Did you mean 'flash'?"),
        ("wan", {"attention": "sage"}, r"the package sageattention .*a GPU for the attention sage"),
        ("wan", {"compile": True, "offload": "group"}, "leave out runtime.compile"),
        ("wan", {"compile": True, "quantisation": "fp8-storage"}, "leave out runtime.compile"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    name: str, options: dict[str, object], told: str, folder: Folder
) -> None:
    with pytest.raises(PhysPlanError, match=told):
        load_video_model(folder(name), LoadOptions(**options))  # type: ignore[arg-type]


def test_an_attention_without_a_backward_pass_is_refused_where_there_is_one() -> None:
    config = load_config("desk", {"video.attention": "sage"})
    check_offload(config, differentiated=False)
    with pytest.raises(PhysPlanError, match="The attention sage has no backward pass"):
        check_offload(config, differentiated=True)


def test_an_attention_that_a_model_cannot_have_is_refused_on_shapes() -> None:
    with pytest.raises(PhysPlanError, match="hides words behind a mask"):
        estimate_preset(published_model("ltx-0.9.5"), gradient_mode="none", attention="flash")


def test_every_name_is_the_librarys() -> None:
    from diffusers.models.attention_dispatch import AttentionBackendName

    assert set(ATTENTION) <= {one.value for one in AttentionBackendName}
    assert not any("hub" in name for name in ATTENTION), "code that would be fetched"


@pytest.mark.parametrize("name", ["cogvideox", "ltx"])
def test_compiled_blocks_give_the_same_video_and_gradient(
    name: str, load: Load, folder: Folder, picture: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Traced, but not made into machine code, which takes more than a minute on one core."""
    wanted = twice(load(name), picture)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    model = load_video_model(folder(name), LoadOptions(compile=True))
    for ours, theirs in zip(twice(model, picture), wanted, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4 * float(theirs.abs().max()))


@pytest.mark.slow
def test_blocks_in_machine_code_give_the_same_video_and_gradient(
    load: Load, folder: Folder, picture: Image
) -> None:
    wanted = twice(load("ltx"), picture)
    found = twice(load_video_model(folder("ltx"), LoadOptions(compile=True)), picture)
    for ours, theirs in zip(found, wanted, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4 * float(theirs.abs().max()))
