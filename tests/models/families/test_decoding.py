"""Finished latents are never lost: a decode that fails costs only the decode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video.base import FamilyModel
from physplan.video.decoding import decode_safely, load_latents, save_latents
from physplan.video.frames import FrameLayout

LAYOUT = FrameLayout(num_frames=9, ratio=4)


class OutOfMemory:
    """A real model whose decoder runs out of memory: untiled, or always."""

    def __init__(self, model: FamilyModel, *, always: bool = False) -> None:
        self.model, self.always, self.calls = model, always, []

    def decode(self, latents: Tensor, layout: FrameLayout, *, tiled: bool = False) -> Tensor:
        self.calls.append(tiled)
        if self.always or not tiled:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.\nMore lines.")
        return self.model.decode(latents, layout, tiled=tiled)


@pytest.fixture
def latents() -> Tensor:
    return torch.randn(1, 4, 3, 2, 2, generator=torch.Generator().manual_seed(0))


def test_saved_latents_decode_to_the_same_video(
    load: Callable[..., FamilyModel], latents: Tensor, tmp_path: Path
) -> None:
    model, path = load("cogvideox"), tmp_path / "run" / "latents.safetensors"
    save_latents(path, latents, LAYOUT)
    before = path.read_bytes()
    video = decode_safely(model, latents, LAYOUT, path)
    assert path.read_bytes() == before
    assert video.shape == (9, 3, 16, 16)
    saved, layout = load_latents(path)
    assert torch.equal(saved, latents)
    assert layout == LAYOUT
    assert torch.equal(model.decode(saved, layout), video), "a later decode gives the same video"


def test_a_failed_decode_is_retried_in_tiles(
    load: Callable[..., FamilyModel], latents: Tensor, tmp_path: Path
) -> None:
    model = OutOfMemory(load("cogvideox"))
    assert decode_safely(model, latents, LAYOUT, tmp_path / "l.safetensors").shape == (9, 3, 16, 16)
    assert model.calls == [False, True]


def test_when_both_fail_the_message_says_where_the_latents_are(
    load: Callable[..., FamilyModel], latents: Tensor, tmp_path: Path
) -> None:
    path = tmp_path / "latents.safetensors"
    with pytest.raises(
        PhysPlanError, match=r"sampled but could not be decoded.*latents\.safetensors"
    ) as caught:
        decode_safely(OutOfMemory(load("cogvideox"), always=True), latents, LAYOUT, path)
    assert "\n" not in str(caught.value)


def test_a_frame_chunk_is_what_saves_memory_where_there_are_no_tiles(
    load: Callable[..., FamilyModel],
) -> None:
    model, layout = load("svd"), FrameLayout(num_frames=5, ratio=1)
    latents = torch.randn(1, 4, 5, 4, 4, generator=torch.Generator().manual_seed(0))
    assert model.decode(latents, layout, tiled=True).shape == model.decode(latents, layout).shape


def test_files_that_hold_no_latents_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match="There are no latents"):
        load_latents(tmp_path / "none.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"not latents")
    with pytest.raises(PhysPlanError, match="is not a file of latents"):
        load_latents(tmp_path / "bad.safetensors")
