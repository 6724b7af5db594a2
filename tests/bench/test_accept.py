"""`physplan accept`: every preset on tiny models of the real classes, kills in between, planted faults."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from accepting import accept, failures, recipe_of, written
from faults import FAULTS
from tests.photo.conftest import need, shared
from tests.pipeline import tiny_pipelines

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.presets import acceptance_figures
from physplan_bench.accept import run as running
from physplan_bench.accept import weights
from physplan_bench.accept.compare import comparison, load_acceptance
from physplan_bench.accept.figures import add_figures
from physplan_bench.accept.findings import Finding, StageResult, judged
from physplan_bench.accept.machine_stage import built_for, driver
from physplan_bench.accept.scrub import scrubbed
from physplan_bench.accept.videos_stage import METHODS
from physplan_models.published import PUBLISHED
from physplan_photo.weights import VARIABLE
from physplan_testing.loopback import Answer, GeminiServer, OpenAIServer
from physplan_testing.video_servers import GeminiVideoServer

PRESETS = ("paper", "best", "open", "home", "desk", "storyboard", "cloud", "photo", "sandbox")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_pipelines.build(tmp_path_factory.mktemp("models"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """The address of the loopback service that a preset calls."""
    with GeminiServer(tiny_pipelines.respond) as gemini, OpenAIServer(tiny_pipelines.respond) as openai:
        monkeypatch.setenv("GEMINI_API_KEY", gemini.key)
        monkeypatch.setenv("OPENAI_API_KEY", openai.key)
        yield lambda preset: openai.url if preset in ("open", "home", "desk") else gemini.url


@pytest.fixture
def video_server() -> Iterator[str]:
    """Veo's address, for the preset `cloud`; it takes the key of the other loopback server."""
    with GeminiVideoServer() as server:
        server.key = GeminiServer.key
        yield server.url


def test_a_figure_that_is_no_number_fails() -> None:
    assert judged("x", float("nan"), good=1, bad=2, meaning="m").level == "failure"
    assert [judged("x", v, good=1, bad=2, meaning="m").level for v in (1.0, 1.5, 3.0)] == [
        *("pass", "warning", "failure"),
    ]


def test_nothing_of_the_machine_leaves_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "plain words as a key")
    own = tmp_path / "Anna Smith" / "models"
    told = {
        "a": ["no file /Users/anna/models/x.safetensors here"],
        "b": "key sk-abcdefghijklmnop is bad",
        "c": f"{own}/vae/config.json is not there",
        "d": "http://studio.example:8000/v1 does not answer plain words as a key",
        "e": "conditioned takes no keyframes_that_are_far, 1/2 of them",
    }
    assert scrubbed(told, [own]) == {
        "a": ["no file (path) here"],
        "b": "key (key) is bad",
        "c": "(path) is not there",
        "d": "(address) does not answer (key)",
        "e": told["e"],
    }


def test_a_card_that_torch_was_not_built_for_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = ("sm_80", "sm_90a", "compute_90")
    levels = {card: built_for(card, built).level for card in ((8, 6), (12, 0), (7, 5))}
    assert levels == {(8, 6): "pass", (12, 0): "pass", (7, 5): "failure"}
    assert built_for((12, 0), ["sm_80"]).level == "failure"
    tool = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert driver().level == "warning"
    tool.write_text("#!/bin/sh\necho 580.65.06\n")
    tool.chmod(0o755)
    assert (driver().level, driver().value) == ("pass", "580.65.06")


def test_an_error_that_nothing_foresaw_is_a_finding_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(here: Any) -> StageResult:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setitem(running.STAGES, 1, broken)
    code, result = accept({"preset": "sandbox"}, tmp_path / "a", "--stages", 1)
    ((finding,),) = [stage["findings"] for stage in result["stages"]]
    assert (code, finding["level"]) == (1, "failure")
    assert finding["meaning"].startswith(
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (in physplan"
    )
    assert "broken" in (tmp_path / "a" / "stages" / "1-traceback.txt").read_text()


def test_a_stage_that_was_skipped_is_done_once_the_weights_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(level: str, name: str = "x") -> Any:
        return lambda here: StageResult(stage=1, findings=[Finding(name=name, level=level)])  # type: ignore[arg-type]

    recipe = {"preset": "home", "video": {"source": str(tmp_path / "nothing")}}
    monkeypatch.setitem(running.STAGES, 1, found("failure", "weights are here"))
    monkeypatch.setitem(running.STAGES, 2, found("pass"))
    _, result = accept(recipe, tmp_path / "a", "--stages", 1, 2)
    assert [stage["level"] for stage in result["stages"]] == ["failure", "skipped"]
    monkeypatch.setitem(running.STAGES, 1, found("pass"))
    _, result = accept(recipe, tmp_path / "a", "--stages", 1, 2)
    assert [stage["level"] for stage in result["stages"]] == ["pass", "pass"]


def test_the_text_length_and_width_are_compared_with_the_published_ones(tmp_path: Path) -> None:
    def write(name: str, **config: object) -> None:
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "config.json").write_text(json.dumps(config))

    def levels() -> list[str]:
        shape = PUBLISHED["cogvideox-5b"].networks
        return [one.level for one in weights._text(tmp_path, shape, own=False)]

    write("transformer", text_embed_dim=4096, max_text_seq_length=226)
    write("text_encoder", d_model=4096)
    assert levels() == ["pass", "pass"]
    write("transformer", text_embed_dim=2048, max_text_seq_length=224)
    assert levels() == ["failure", "failure"]


def accepted_file(path: Path, **changes: Any) -> Path:
    values = {
        4: {"memory of one repeat, GB": 21.5, "seconds of one repeat": 8.25},
        5: {"base: seconds": 61.0},
    }
    stages = [
        {
            "stage": number,
            "findings": [
                {"name": name, "level": "pass", "meaning": "", "value": one} for name, one in found.items()
            ],
        }
        for number, found in values.items()
    ]
    content = {"schema": running.SCHEMA, "preset": "home", "card": "Card X", "stages": stages}
    content |= {"level": "pass", "complete": True, "settings": {"own weights": False}}
    content |= {"versions": {"physplan": "1", "torch": "2", "diffusers": "3"}}
    path.write_text(json.dumps(content | changes))
    return path


def test_doctor_prints_the_accepted_figures_of_a_card_like_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    kept = tmp_path / "accepted.json"
    kept.write_text("[]")
    for changes in ({"level": "failure"}, {"complete": False}, {"card": "none"}):
        with pytest.raises(PhysPlanError, match="nothing is taken"):
            add_figures(load_acceptance(accepted_file(tmp_path / "A.json", **changes)), kept)
    for _ in range(2):  # the second takes the place of the first
        add_figures(load_acceptance(accepted_file(tmp_path / "A.json")), kept)
    assert len(json.loads(kept.read_text())) == 1
    monkeypatch.setattr(
        acceptance_figures,
        "accepted_figures",
        functools.partial(acceptance_figures.accepted_figures, file=kept),
    )
    monkeypatch.setattr("physplan.machine.gpus", lambda: [{"name": "Card X", "memory_gb": 24.0}])
    assert main(["doctor", "--all"]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "accepted on this card" in one]
    assert "61 s unguided, 8.2 s a repeat, 21.5 GB" in line


def test_two_files_are_compared_and_what_is_none_is_refused(tmp_path: Path, capsys) -> None:
    def file(name: str, level: str, value: float) -> Path:
        finding = {"name": "seconds", "level": level, "meaning": "", "value": value}
        stages = [{"stage": 4, "findings": [finding]}]
        path = tmp_path / name
        path.write_text(
            json.dumps({"schema": running.SCHEMA, "preset": "home", "card": name, "stages": stages})
        )
        return path

    a, b = file("A.json", "pass", 2.0), file("B.json", "warning", 3.0)
    (row,) = comparison(load_acceptance(a), load_acceptance(b)).rows
    assert row.cells == ("pass", "warning", 2.0, 3.0, 1.5)
    assert comparison(load_acceptance(a), load_acceptance(a)).rows == ()
    assert main(["accept", "--compare", str(a), str(b)]) == 0
    assert "4: seconds" in capsys.readouterr().out
    (tmp_path / "C.json").write_text("{}")
    with pytest.raises(PhysPlanError, match=r"is no acceptance\.json"):
        load_acceptance(tmp_path / "C.json")


def test_without_weights_the_stages_that_need_them_are_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    recipe = {"preset": "home", "video": {"source": str(tmp_path / "nothing")}}
    code, result = accept(recipe, tmp_path / "a", "--stages", 1, 2, 4)
    assert code == 1
    parts = ["segmenter, detector", "segmenter, sam", "depth", "encoder"]
    lost = [*(f"weights of the {name}" for name in parts), "weights are here"]
    assert failures(result) == {1: lost, 2: [], 4: []}
    assert [stage["level"] for stage in result["stages"]] == ["failure", "skipped", "skipped"]
    assert str(tmp_path) not in (tmp_path / "a" / "acceptance.json").read_text()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_accepted(
    preset: str,
    models: Path,
    server: Callable[[str], str],
    video_server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if preset == "photo":
        if shared("weights").is_dir():
            monkeypatch.setenv(VARIABLE, str(shared("weights")))
        need("yolox_nano.onnx", "mobile_sam.pt", "xfeat_256x256.onnx")
    recipe = recipe_of(preset, models, server(preset), video_server)
    _, result = accept(recipe, tmp_path / "a", "--budget", 5)
    assert result["complete"]
    found = failures(result)
    # Random decoders see nothing and random videos show nothing: what must hold is that nothing breaks.
    assert all(not names for names in found.values()), found
    done = {one["name"] for stage in result["stages"] for one in stage["findings"] if one["level"] == "pass"}
    assert {"one plan", "one keyframe"} <= done or preset in ("photo", "sandbox")
    assert ("one video" in done) is (preset == "cloud")
    methods = METHODS if preset in ("home", "desk") else [name for name in METHODS if name != "conditioned"]
    if preset not in ("storyboard", "cloud", "photo", "sandbox"):
        assert {f"{method}: video" for method in methods} <= done
    text = (tmp_path / "a" / "acceptance.json").read_text()
    assert str(tmp_path) not in text
    assert str(models) not in text
    page = (tmp_path / "a" / "index.html").read_text()
    assert all(f"<h2>{number}." in page for number in range(1, 7))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_acceptance_killed_in_each_stage_continues_after_those_that_are_done(
    models: Path, server: Callable[[str], str], tmp_path: Path
) -> None:
    file = written(recipe_of("open", models, server("open")), tmp_path / "a")
    done = []
    for stage in (2, 3, 4, 5, 6, None):
        command = [sys.executable, "-m", "physplan", "accept", str(file), "-o", str(tmp_path / "a")]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if stage and line.startswith(f"stage {stage}, ") and "done before" not in line:
                time.sleep(1.0)  # in the middle of it
                process.kill()
        assert process.wait() == (-signal.SIGKILL if stage else 0), lines
        done.append(sum("done before" in line for line in lines))
        assert (tmp_path / "a" / running.RESULT).exists() is (stage is None)
    assert done == [0, 1, 2, 3, 4, 5]
    result = load_acceptance(tmp_path / "a" / running.RESULT)
    assert result["complete"]
    assert all(not names for names in failures(result).values())


@pytest.mark.slow
def test_without_a_key_or_a_budget_no_service_is_called_and_nothing_fails(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GeminiServer(tiny_pipelines.respond) as gemini:
        monkeypatch.setenv("GEMINI_API_KEY", gemini.key)
        recipe = recipe_of("paper", models, gemini.url)
        for said in ("give --budget USD", "it lacks the key"):
            _, result = accept(recipe, tmp_path / "a", "--stages", 6)
            (stage,) = result["stages"]
            assert [one["level"] for one in stage["findings"]] == ["skipped", "skipped"]
            assert all(said in one["meaning"] for one in stage["findings"])
            monkeypatch.delenv("GEMINI_API_KEY", raising=False)
        assert gemini.asked == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_by_its_stage(
    fault: str, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = FAULTS[fault]
    talks = Answer(text="I would rather not.") if fault == "a service that talks" else None
    with GeminiServer(lambda asked: talks or tiny_pipelines.respond(asked)) as gemini:
        monkeypatch.setenv("GEMINI_API_KEY", gemini.key)
        recipe = recipe_of("paper", models, gemini.url)
        with monkeypatch.context() as patch:
            recipe = planted.plant(recipe, tmp_path, patch) or recipe
            code, result = accept(recipe, tmp_path / "a", "--budget", 5, "--stages", planted.stage)
    assert code == 1
    assert planted.finding in failures(result)[planted.stage], result["stages"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ltx_video_2b_goes_through_stages_1_2_and_4_within_20_gb(models: Path, tmp_path: Path) -> None:
    """Full size, random weights in bf16; its text encoder has one layer (with T5-XXL's: docs/video.md)."""
    folder, recipe = tmp_path / "ltx", recipe_of("open", models, "http://127.0.0.1:9")
    size = {"width": 128, "height": 96, "num_frames": 17, "num_inference_steps": 8}
    recipe |= {"video": {"model": "ltx", "source": str(folder), "dtype": "bf16", **size}}
    build = "import sys, pathlib, physplan_testing.real_size as r; r.build('ltx', pathlib.Path(sys.argv[1]))"
    try:
        subprocess.run([sys.executable, "-c", build, str(folder)], check=True, capture_output=True)
        command = [sys.executable, "-m", "physplan", "accept", str(written(recipe, tmp_path / "a"))]
        process = subprocess.Popen([*command, "-o", str(tmp_path / "a"), "--stages", "1", "2", "4"])
        _, status, used = os.wait4(process.pid, 0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result = load_acceptance(tmp_path / "a" / running.RESULT)
    assert status == 0, result["stages"]
    assert all(stage["level"] != "skipped" for stage in result["stages"])
    assert used.ru_maxrss * 1024 / 1e9 <= 20
