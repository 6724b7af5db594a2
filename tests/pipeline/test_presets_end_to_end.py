"""The presets through every stage and the real code path, on tiny random models of the real classes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from tests.pipeline import tiny_pipelines
from tests.pipeline.tiny_pipelines import PROMPT

from physplan.guidance import GuidanceConfig, MeasureConfig
from physplan.pictures import to_tensor
from physplan.pipeline import PhysPlan, Result
from physplan.pipeline.config_loading import load_config
from physplan.runs.layout import STAGES
from physplan.video.files import read_video
from physplan_models.published import PUBLISHED
from physplan_testing.loopback import Answer, Asked, GeminiServer, OpenAIServer


def check(result: Result, folder: Path, frames: int) -> None:
    assert result.video.shape == (frames, 3, 32, 32)
    assert torch.isfinite(result.video).all()
    assert result.plan is not None
    assert len(result.keyframes) == len(result.plan.events) == 3
    assert any(term["value"] is not None for step in result.losses["steps"] for term in step["terms"])
    made = {path.name for path in folder.iterdir()}
    assert made >= {"config.yaml", "plan.json", "keyframes", "evidence.safetensors", "latents.safetensors"}
    assert made >= {"losses.json", "video.mp4", "strip.png", "report.html", "log.txt", "preview.png"}
    assert torch.equal(read_video(folder / "video.mkv").frames, result.video)
    assert read_video(folder / "video.mp4").metadata["preset"] == result_preset(folder)


def result_preset(folder: Path) -> str:
    return (folder / "config.yaml").read_text().split("preset: ")[1].split()[0]


def test_the_paper_preset(models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path) -> None:
    pp = PhysPlan.from_preset(tiny_pipelines.paper(models, gemini.url))
    seed = torch.Generator().manual_seed(3)
    result = pp.generate(ice, PROMPT, generator=seed, output_dir=tmp_path / "run")
    check(result, tmp_path / "run", 9)
    assert len([asked for asked in gemini.asked if "IMAGE" in asked.modalities]) == 3
    assert {asked.model for asked in gemini.asked} == {"gemini-3-flash-preview", "gemini-3-pro-image-preview"}
    assert result.cost.calls.calls == len(gemini.asked) == 11
    assert result.cost.usd > 3 * 0.134
    assert set(result.cost.seconds) == set(STAGES)


def test_the_best_preset(models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path) -> None:
    given = tiny_pipelines.paper(models, gemini.url) | {"preset": "best"}
    given["guided_sketch"] = given.pop("guidance")
    pp = PhysPlan.from_preset(given)
    result = pp.generate(ice, PROMPT, output_dir=tmp_path / "run")
    check(result, tmp_path / "run", 9)
    assert {term["term"] for step in result.losses["steps"] for term in step["terms"]} >= {"count", "keep"}


def test_the_paper_preset_is_the_paper_to_the_letter() -> None:
    paper, best = load_config("paper"), load_config("best")
    assert paper.editor.redraws == 0
    assert paper.guidance == GuidanceConfig(
        reevaluate=True, measure=replace(MeasureConfig(), ignore_lookalikes=False)
    )
    assert not any(model.use_dynamic_cfg for model in PUBLISHED.values())
    assert (paper.video, paper.perception) == (best.video, best.perception)
    assert paper.reasoner == replace(best.reasoner, name="paper"), "best also asks how things move"


def test_the_open_preset(models: Path, openai: OpenAIServer, ice: Path, tmp_path: Path) -> None:
    pp = PhysPlan.from_preset(tiny_pipelines.open_weights(models, openai.url))
    result = pp.generate(ice, PROMPT, output_dir=tmp_path / "run")
    check(result, tmp_path / "run", 9)
    assert len(openai.asked) == 8
    assert result.cost.usd == 0


def test_the_storyboard_preset_moves_a_photograph_without_a_video_model(
    models: Path, gemini: GeminiServer, tmp_path: Path
) -> None:
    pp = PhysPlan.from_preset(tiny_pipelines.storyboard(models, gemini.url))
    assert (pp.config.method, pp.config.runtime.device) == ("storyboard", "cpu")
    result = pp.generate(tiny_pipelines.PHOTOGRAPH, PROMPT, output_dir=tmp_path / "run")
    assert "video" not in pp.backends.__dict__
    assert result.video.shape == (9, 3, 32, 48)
    first = to_tensor(Image.open(tmp_path / "run" / "frame.png"))
    assert float((result.video[0] - first).abs().mean()) < 0.1, "it begins with the photograph"
    assert not (tmp_path / "run" / "latents.safetensors").exists()


def test_the_storyboard_preset_runs_on_local_servers_without_any_key(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with (
        OpenAIServer(tiny_pipelines.respond, key="none") as planning,
        OpenAIServer(tiny_pipelines.respond, key="none") as drawing,
    ):
        recipe = tiny_pipelines.storyboard_on_local_servers(models, planning.url, drawing.url)
        pp = PhysPlan.from_preset(recipe)
        result = pp.generate(tiny_pipelines.PHOTOGRAPH, PROMPT, output_dir=tmp_path / "run")
        assert {asked.model for asked in planning.asked} == {"Qwen/Qwen3-VL-4B-Instruct"}
        assert [asked.body["size"] for asked in drawing.asked] == ["48x32"] * 3
        assert drawing.peak == 1, "one card draws one after the other"
        again = pp.generate(tiny_pipelines.PHOTOGRAPH, PROMPT, seed=1, redo=True, output_dir=tmp_path / "run")
        assert len(drawing.asked) == 3
    assert pp.config.method == "storyboard"
    assert result.video.shape == again.video.shape == (9, 3, 32, 48)
    assert result.cost.calls.calls == len(planning.asked) + 3
    assert result.cost.usd == 0
    first = to_tensor(Image.open(tmp_path / "run" / "frame.png"))
    assert float((result.video[0] - first).abs().mean()) < 0.1, "it begins with the photograph"


def test_the_home_preset(models: Path, openai: OpenAIServer, ice: Path, tmp_path: Path) -> None:
    pp = PhysPlan.from_preset(tiny_pipelines.local(models, openai.url, "home"))
    assert pp.config.method == "conditioned"
    result = pp.generate(ice, PROMPT, output_dir=tmp_path / "run")
    assert result.video.shape == (9, 3, 32, 32)
    assert torch.isfinite(result.video).all()
    assert result.cost.usd == 0
    assert not {"_editor", "segmenter", "video"} & pp.backends.__dict__.keys(), "one after the other"


def test_the_desk_preset(models: Path, openai: OpenAIServer, ice: Path, tmp_path: Path) -> None:
    pp = PhysPlan.from_preset(tiny_pipelines.local(models, openai.url, "desk"))
    check(pp.generate(ice, PROMPT, output_dir=tmp_path / "run"), tmp_path / "run", 9)


def test_an_ablation_of_the_plan_is_a_method(
    models: Path, ice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", GeminiServer.key)
    scenes = json.dumps({"scenes": [{"description": "The ice is water.", "fraction": 0.9}]})

    def respond(asked: Asked) -> Answer:
        return tiny_pipelines.respond(asked) if "IMAGE" in asked.modalities else Answer(text=scenes)

    with GeminiServer(respond) as server:
        pp = PhysPlan.from_preset(tiny_pipelines.paper(models, server.url))
        result = pp.generate(ice, PROMPT, method="prompt_derived", output_dir=tmp_path / "run")
        assert len(result.video) == 9
        assert result.plan is not None
        assert result.plan.provenance["reasoner"] == "prompt-derived"
        asked = len(server.asked)
        pp.generate(ice, PROMPT, method="prompt_derived", output_dir=tmp_path / "run")
        assert len(server.asked) == asked  # continued under the same planner


@pytest.mark.parametrize("method", ["base", "frame_guidance", "no_regions"])
def test_other_methods(models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path, method: str) -> None:
    recipe = tiny_pipelines.paper(models, gemini.url)
    recipe["frame_guidance"] = {"schedule": {"repeats": [1, 1], "travel": [1, 1]}}
    pp = PhysPlan.from_preset(recipe)
    result = pp.generate(ice, PROMPT, method=method, output_dir=tmp_path / "run")
    assert len(result.video) == 9
    assert len(gemini.asked) == (0 if method == "base" else 11)
