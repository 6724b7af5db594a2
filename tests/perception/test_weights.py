"""Weights that cannot be used are refused in one sentence."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import GatedRepoError
from transformers import Dinov2Model

from physplan.errors import PhysPlanError
from physplan.perception.dinov2 import DINOv2
from physplan.perception.dinov3 import DINOv3
from physplan.perception.registry import ENCODERS, SEGMENTERS
from physplan.weights import WeightsError, load

Folders = Callable[[str], Path]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"no folder .*nowhere with the weights of Dinov2Model"):
        DINOv2.from_pretrained(tmp_path / "nowhere")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"Cannot load Dinov2Model from the folder"):
        DINOv2.from_pretrained(tmp_path)


def test_pickled_weights_are_never_loaded(tmp_path: Path, folders: Folders) -> None:
    shutil.copy(folders("dinov2") / "config.json", tmp_path)
    torch.save(DINOv2.from_pretrained(folders("dinov2")).model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(WeightsError, match="safetensors"):
        DINOv2.from_pretrained(tmp_path)


def test_a_checkpoint_of_another_network_is_not_filled_with_random_weights(folders: Folders) -> None:
    with pytest.raises(WeightsError, match="DINOv3ViTModel"):
        DINOv3.from_pretrained(folders("dinov2"))


def test_a_truncated_checkpoint_is_refused(tmp_path: Path, folders: Folders) -> None:
    shutil.copytree(folders("dinov2"), tmp_path / "cut")
    weights = tmp_path / "cut" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(PhysPlanError, match="is it complete"):
        DINOv2.from_pretrained(tmp_path / "cut")


def test_hub_weights_without_a_network_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(WeightsError, match=r"not on this machine and could not be downloaded"):
        DINOv2.from_pretrained("nobody/no-such-model", revision="0" * 40)


def test_gated_weights_say_how_to_get_them() -> None:
    class Gated:
        @classmethod
        def from_pretrained(cls, *_: object, **__: object) -> None:
            # transformers raises OSError from the hub's own error
            try:
                raise GatedRepoError.__new__(GatedRepoError)
            except GatedRepoError as cause:
                raise OSError("You are trying to access a gated repo.") from cause

    with pytest.raises(WeightsError, match="gated or private: ask for access"):
        load(Gated, "facebook/dinov3-vitb16-pretrain-lvd1689m")


def test_the_revision_is_handed_to_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def from_pretrained(source: str, **options: object) -> None:
        asked.update(options, source=source)
        raise OSError("stop here")

    monkeypatch.setattr(Dinov2Model, "from_pretrained", from_pretrained)
    with pytest.raises(WeightsError):
        DINOv2.from_pretrained("facebook/dinov2-base", revision="abc123")
    assert asked["revision"] == "abc123"
    assert asked["use_safetensors"] is True
    assert "trust_remote_code" not in asked


def test_a_wrong_name_is_answered_with_the_right_one() -> None:
    with pytest.raises(PhysPlanError, match=r"no feature encoder called 'dinov4'. Did you mean 'dinov"):
        ENCODERS.load("dinov4")
    with pytest.raises(PhysPlanError, match=r"Choose one of: .*sam-3"):
        SEGMENTERS.load("zzz")
