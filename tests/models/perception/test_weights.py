"""Weights that cannot be used are refused in one sentence."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import GatedRepoError
from safetensors.torch import load_file, save_file
from transformers import Dinov2Model, Sam2Model

from physplan.errors import PhysPlanError
from physplan.perception.registry import ENCODERS, SEGMENTERS
from physplan.weights import WeightsError, load, load_model
from physplan_models.perception.dinov2 import DINOv2
from physplan_models.perception.dinov3 import DINOv3
from physplan_models.perception.sam3 import SAM3

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


def test_published_checkpoints_that_also_hold_a_video_tracker_load(tmp_path: Path, folders: Folders) -> None:
    """SAM 2.1 and SAM 3 are published with the configs of their video models, SAM 3 with prefixed weights."""
    image = torch.rand(3, 48, 72, generator=torch.Generator().manual_seed(0))
    alone = SAM3.from_pretrained(folders("sam3"), threshold=0.0).segment(image, ["tray"])
    shutil.copytree(folders("sam3"), tmp_path / "sam3")
    detector = json.loads((tmp_path / "sam3" / "config.json").read_text())
    video = {"model_type": "sam3_video", "detector_config": detector, "tracker_config": {}}
    (tmp_path / "sam3" / "config.json").write_text(json.dumps(video))
    weights = load_file(folders("sam3") / "model.safetensors")
    tracked = {f"detector_model.{name}": value for name, value in weights.items()}
    tracked["tracker_model.memory"] = torch.zeros(1)
    save_file(tracked, tmp_path / "sam3" / "model.safetensors", {"format": "pt"})
    both = SAM3.from_pretrained(tmp_path / "sam3", threshold=0.0).segment(image, ["tray"])
    assert [one.score for one in both] == [one.score for one in alone]

    shutil.copytree(folders("sam2"), tmp_path / "sam2")
    config = json.loads((tmp_path / "sam2" / "config.json").read_text())
    config |= {"model_type": "sam2_video", "num_maskmem": 7}
    (tmp_path / "sam2" / "config.json").write_text(json.dumps(config))
    weights = load_file(folders("sam2") / "model.safetensors")
    save_file(
        {**weights, "memory_encoder.x": torch.zeros(1)},
        tmp_path / "sam2" / "model.safetensors",
        {"format": "pt"},
    )
    assert load_model(Sam2Model, tmp_path / "sam2").config.prompt_encoder_config.image_size == 64


def test_naming_backends_imports_none_of_them() -> None:
    code = (
        "import sys, physplan.perception.registry, physplan.keyframes.registry, physplan.keyframes\n"
        "print([name for name in ('transformers', 'diffusers', 'google.genai') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
