"""One memory figure per preset, the same in the docs, in `doctor` and where a run is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.pipeline.tiny_pipelines import PHOTOGRAPH

from physplan import machine
from physplan.errors import PhysPlanError
from physplan.methods import find
from physplan.pipeline import PhysPlan
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.forecast import memory_request
from physplan.presets import NAMES, PRESETS
from physplan.video.known import video_model
from physplan_models.stage_memory import stage_memory

DOCS = (Path(__file__).parents[2] / "docs" / "presets.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if PRESETS[name].stages])
def test_the_docs_have_the_figures_that_doctor_prints(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` \|(.*)\|$", DOCS, re.MULTILINE)
    found = [float(cell) for cell in row.split("|")[:5] if cell.strip()]
    stages = PRESETS[name].stages or {}
    assert found == [PRESETS[name].gpu_memory_gb, *stages.values()]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "sandbox"])
def test_the_figures_are_what_the_shapes_give_today(name: str) -> None:
    assert stage_memory(load_config(name, {"runtime.device": "cpu"})) == (PRESETS[name].stages or {})


def test_a_card_that_is_too_small_is_named_with_everything_else_that_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "gpus", lambda: [{"name": "a card", "memory_gb": 8.0}])
    monkeypatch.setattr(machine, "answers", lambda url: False)
    for variable in (
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "HF_TOKEN_PATH",
        "HF_HUB_CACHE",
        "HUGGING_FACE_HUB_TOKEN",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    pp = PhysPlan.from_preset("home")
    with pytest.raises(PhysPlanError) as refused:
        pp.generate(PHOTOGRAPH, "the cup tips over", output_dir=tmp_path / "run")
    told = str(refused.value)
    assert "a server at http://localhost:8000/v1" in told
    assert f"a card with {PRESETS['home'].gpu_memory_gb} GB for the preset home" in told
    assert "access to the gated weights black-forest-labs/FLUX.1-Kontext-dev" in told
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("card", [0.0, 12.0])
def test_memory_for_the_editors_weights_is_named_with_everything_else_that_lacks(
    card: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "gpus", lambda: [{"name": "a card", "memory_gb": card}] * bool(card))
    monkeypatch.setattr(machine, "memory_gb", lambda: 16.0)
    monkeypatch.setattr(machine, "answers", lambda url: False)
    with pytest.raises(PhysPlanError) as refused:
        PhysPlan.from_preset("home").generate(PHOTOGRAPH, "the cup tips over", output_dir=tmp_path / "run")
    told = str(refused.value)
    assert "a server at" in told
    assert "40 GB of memory for the preset home (this machine has 16.0" in told
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", [name for name in NAMES if PRESETS[name].stages])
def test_the_gpu_that_doctor_finds_missing_has_the_presets_one_figure(name: str) -> None:
    found = machine.missing(PRESETS[name], memory=1e3, gpu_memory=0.0)
    assert [item.what for item in found if item.kind == "gpu"] == [
        f"a CUDA GPU with {PRESETS[name].gpu_memory_gb} GB"
    ]


def test_every_folder_that_is_not_there_is_named_before_anything_is_loaded(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    wrong = {"video.source": gone, "perception.depth.options": {"source": f"{gone}/depth"}}
    wrong |= {"video.files.vae": f"{gone}/vae.safetensors"}
    pp = PhysPlan.from_preset("paper", **wrong)
    with pytest.raises(PhysPlanError) as refused:
        pp.generate(PHOTOGRAPH, "the cup tips over", output_dir=tmp_path / "run")
    assert all(f"the folder {name} (" in str(refused.value) for name in (gone, f"{gone}/depth"))
    assert f"the file {gone}/vae.safetensors (" in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_frame_guidance_on_wan_is_as_its_own_code_has_it() -> None:
    wan = find("frame_guidance").guidance(load_config("paper", {"video.model": "wan2.1-14b"}))
    assert (wan.window_length, wan.preview_downscale, wan.schedule.travel) == (2, 2, (3, 10))
    other = find("frame_guidance").guidance(load_config("paper"))
    assert (other.window_length, other.preview_downscale, other.schedule.travel) == (None, 1, (5, 20))


def test_a_step_with_keyframes_that_fade_is_counted_without_weights() -> None:
    config = with_defaults(
        load_config("home", {"video.height": 64, "video.width": 64, "video.num_frames": 9})
    )
    request = memory_request(config, find("conditioned"), 1)
    assert "a step" in str(video_model(config.video.model).memory(config.video, request))
