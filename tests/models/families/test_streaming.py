"""Weights that live on disk or in other tensors: the same gradients, and one block there at a time."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from PIL.Image import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan.video.sampling import sample
from physplan_models import streaming
from physplan_models.memory import estimate_folder, parameters
from physplan_models.streaming import blocks_of
from physplan_testing.tiny_models import prepare

Load = Callable[..., FamilyModel]
FAMILIES = ["cogvideox", "wan", "wan_vace", "ltx", "ltx2", "hunyuan15", "framepack", "svd"]


def gradient(model: FamilyModel, picture: Image, **options: Any) -> tuple[Tensor, Tensor]:
    """Of a function of the prediction that weighs every number differently."""
    conditioning = prepare(model, picture)
    z = conditioning.latents.clone().requires_grad_()
    prediction = model.predict(z, 0, conditioning, **options)
    weights = torch.randn(prediction.shape, generator=torch.Generator().manual_seed(1))
    return prediction.detach(), torch.autograd.grad((prediction * weights).sum(), z)[0]


def block_bytes(model: FamilyModel) -> list[int]:
    tensors = [[*block.parameters(), *block.buffers()] for block in blocks_of(model.denoiser).values()]
    return [sum(t.numel() * t.element_size() for t in block) for block in tensors]


@pytest.mark.parametrize("offload", ["group", "disk"])
@pytest.mark.parametrize("name", FAMILIES)
def test_latents_and_gradients_are_equal_to_the_bit(
    name: str, offload: str, load: Load, picture: Image
) -> None:
    plain, streamed = load(name, checkpointing=True), load(name, offload=offload, checkpointing=True)
    expected, found = gradient(plain, picture), gradient(streamed, picture)
    assert torch.equal(expected[0], found[0])
    if name == "svd":  # its skip connections are added up in another order
        assert torch.allclose(expected[1], found[1], rtol=1e-3, atol=1e-7)
    else:
        assert torch.equal(expected[1], found[1])
    assert float(found[1].abs().max()) > 0
    assert torch.equal(*(sample(m, prepare(m, picture)) for m in (plain, streamed)))


@pytest.mark.parametrize("name", FAMILIES)
def test_no_more_than_one_block_is_ever_there(
    name: str, load: Load, picture: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted by the storages that are alive, not by what the code says of itself."""
    alive: dict[int, int] = {}
    most = 0
    read = streaming.safe_open

    class Watched:
        def __init__(self, *arguments: Any) -> None:
            self.file = read(*arguments)

        def __enter__(self) -> Any:
            self.opened = self.file.__enter__()
            return self

        def __exit__(self, *error: Any) -> None:
            self.file.__exit__(*error)

        def get_tensor(self, key: str) -> Tensor:
            nonlocal most
            tensor: Tensor = self.opened.get_tensor(key).clone()
            storage = tensor.untyped_storage()
            alive[id(storage)] = storage.nbytes()
            weakref.finalize(storage, alive.pop, id(storage), None)
            most = max(most, sum(alive.values()))
            return tensor

    model, largest = load(name, offload="disk"), max(block_bytes(load(name)))
    assert sum(block_bytes(model)) == 0, "at rest no block has weights"
    monkeypatch.setattr(streaming, "safe_open", Watched)
    gradient(model, picture)
    gradient(model, picture, unconditional_grad=False)
    assert 0 < most <= largest
    assert not alive
    assert [one.peak for one in model.streaming] == [largest]
    assert sum(block_bytes(model)) == 0


def test_terms_that_pass_back_one_by_one_find_the_weights_again(load: Load, picture: Image) -> None:
    """`exact` goes back through the same graph once per term."""
    found = []
    for offload in ("none", "disk"):
        model = load("ltx", offload=offload)
        conditioning = prepare(model, picture)
        z = conditioning.latents.clone().requires_grad_()
        clean = conditioning.noise.clean_estimate(z, model.predict(z, 0, conditioning), 0)
        parts = [clean[:, :, -1].sum(), (clean**2).sum()]
        found.append([torch.autograd.grad(part, z, retain_graph=True)[0] for part in parts])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_with_model_offload_a_backward_pass_is_refused(load: Load, picture: Image) -> None:
    model = load("cogvideox", slicing=True)  # not shared: it is changed below
    model.offload = "model"  # which needs a GPU to be loaded with
    conditioning = prepare(model, picture)
    with pytest.raises(PhysPlanError, match="offload group or disk"):
        model.predict(conditioning.latents.clone().requires_grad_(), 0, conditioning)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_estimate_knows_what_is_there(name: str, load: Load, folder: Any, picture: Image) -> None:
    side, frames = (16, 5) if name == "svd" else (32, 9)
    size = {"height": side, "width": side, "num_frames": frames, "guidance_scale": 1.0, "dtype": "fp32"}
    found = estimate_folder(folder(name), offload="disk", gradient_mode="none", **size)
    model = load(name, offload="disk")
    gradient(model, picture)
    there = sum(t.numel() * t.element_size() for t in parameters(model))
    assert found.weights == there
    assert found.sampling >= model.streaming[0].peak
