"""Rerunning continues: what is done is kept, what a change touches is redone, and nothing more."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from tests.pipeline import tiny_pipelines
from tests.pipeline.tiny_pipelines import PROMPT

from physplan import files
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.pipeline import PhysPlan, RunEvent
from physplan.pipeline.pipeline import seed_of
from physplan.runs.layout import STAGES
from physplan_models.families.cogvideox import CogVideoX
from physplan_testing.loopback import GeminiServer


@pytest.fixture(scope="module")
def server() -> Any:
    with GeminiServer(tiny_pipelines.respond) as server:
        yield server


@pytest.fixture(scope="module")
def pp(models: Path, server: GeminiServer) -> PhysPlan:
    return PhysPlan.from_preset(tiny_pipelines.paper(models, server.url))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", GeminiServer.key)


@pytest.fixture(scope="module")
def folder(pp: PhysPlan, ice: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "ice"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEMINI_API_KEY", GeminiServer.key)
        pp.generate(ice, PROMPT, output_dir=path)
    return path


def since(stage: str) -> list[str]:
    """A stage and all after it."""
    return [*STAGES[[*STAGES].index(stage) :]]


def done_by(pp: PhysPlan, ice: Path, folder: Path, **given: Any) -> list[str]:
    """The stages that a call does, rather than keeps."""
    seen: list[RunEvent] = []
    pp.generate(ice, given.pop("prompt", PROMPT), output_dir=folder, on_event=seen.append, **given)
    return [event.stage for event in seen if event.kind == "started"]


@pytest.mark.slow
def test_one_folder_through_all_changes(pp: PhysPlan, server: GeminiServer, ice: Path, folder: Path) -> None:
    asked = len(server.asked)
    assert done_by(pp, ice, folder) == []
    with pytest.raises(PhysPlanError, match="holds a run with other settings \\(seed 0, not 1\\)"):
        done_by(pp, ice, folder, seed=1)
    assert done_by(pp, ice, folder) == [], "a refused call changes nothing"
    first = (folder / "latents.safetensors").read_bytes()
    assert done_by(pp, ice, folder, seed=1, redo=True) == since("latents")
    assert (folder / "latents.safetensors").read_bytes() != first
    assert done_by(pp, ice, folder, seed=0, redo=True) == since("latents")
    assert (folder / "latents.safetensors").read_bytes() == first, "a seed gives the same latents again"
    assert len(server.asked) == asked, "none of this is paid for"
    (folder / "video.mp4").unlink()
    assert done_by(pp, ice, folder) == since("video")
    (folder / "keyframes" / "1.png").write_bytes((folder / "frame.png").read_bytes())
    with pytest.raises(PhysPlanError, match="was changed after the run made it"):
        done_by(pp, ice, folder)
    (folder / "keyframes" / "1.png").unlink()
    assert done_by(pp, ice, folder) == since("keyframes")
    assert len(server.asked) == asked, "drawings are stored"
    assert done_by(pp, ice, folder, prompt="the ice melts", redo=True) == list(STAGES)


def test_no_picture_is_looked_at_twice(
    pp: PhysPlan, ice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keyframes' check hands on what it saw; a run that goes on after it looks again, once."""
    seen: list[object] = []
    real = pp.backends.segmenter.segment

    def segment(image: torch.Tensor, categories: tuple[str, ...]) -> Any:
        if len(categories) > 1:  # for one alone is a question about a consumed object
            seen.append(categories)
        return real(image, categories)

    monkeypatch.setattr(pp.backends.segmenter, "segment", segment)
    pp.generate(ice, PROMPT, output_dir=tmp_path / "run")
    assert len(seen) == 4, "the first frame and three keyframes"
    evidence = load_file(tmp_path / "run" / "evidence.safetensors")
    (tmp_path / "run" / "stages" / "evidence.json").unlink()
    seen.clear()
    assert done_by(pp, ice, tmp_path / "run")[0] == "evidence"
    assert len(seen) == 4
    again = load_file(tmp_path / "run" / "evidence.safetensors")
    assert again.keys() == evidence.keys()
    assert all(torch.equal(again[name], evidence[name]) for name in evidence)


def test_a_full_disk_costs_only_what_was_not_written(
    pp: PhysPlan, server: GeminiServer, ice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = files.os.fsync
    with monkeypatch.context() as patch:

        def full(descriptor: int) -> None:
            if (tmp_path / "run" / "plan.json").exists():
                raise OSError(errno.ENOSPC, "No space left on device")
            real(descriptor)

        patch.setattr(files.os, "fsync", full)
        with pytest.raises((OSError, PhysPlanError), match="No space left"):
            pp.generate(ice, PROMPT, output_dir=tmp_path / "run")
    asked = len(server.asked)
    assert not list((tmp_path / "run").glob(f"{files.TEMPORARY}*"))
    assert done_by(pp, ice, tmp_path / "run")[0] in ("plan", "keyframes")
    assert len(server.asked) - asked <= 3, "the plan's eight answers were stored"


def test_ctrl_c_leaves_a_folder_to_go_on_from(pp: PhysPlan, ice: Path, tmp_path: Path) -> None:
    def stop(event: RunEvent) -> None:
        if event.stage == "latents" and event.done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pp.generate(ice, PROMPT, output_dir=tmp_path / "run", on_event=stop)
    assert "latents: stopped" in (tmp_path / "run" / "log.txt").read_text()
    assert (tmp_path / "run" / "preview.png").exists()
    why = json.loads((tmp_path / "run" / "failure.json").read_text())
    assert why == {"error": "It was stopped.", "same_command": "Run it again: it continues where it stopped."}
    assert "Run it again: it continues where it stopped." in (tmp_path / "run" / "report.html").read_text()
    assert done_by(pp, ice, tmp_path / "run") == since("latents")
    assert not (tmp_path / "run" / "failure.json").exists()


def test_plan_and_keyframes_by_themselves_and_given(
    pp: PhysPlan, server: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    plan = pp.plan(ice, PROMPT)
    assert isinstance(plan, EventChain)
    pictures = pp.keyframes(ice, plan=plan)
    assert {picture.size for picture in pictures} == {(32, 32)}
    asked = len(server.asked)
    mine = [Image.new("RGB", (64, 64), "white"), *pictures[1:]]
    result = pp.generate(ice, plan=plan, keyframes=mine, output_type="pil", method="no_regions")
    assert len(server.asked) == asked
    assert result.folder is None
    assert [frame.size for frame in result.video] == [(32, 32)] * 9
    assert result.keyframes[0].getpixel((3, 3)) == (255, 255, 255)


def test_a_plan_is_timed_anew_for_another_length(pp: PhysPlan, ice: Path) -> None:
    plan = pp.plan(ice, PROMPT)
    result = pp.generate(ice, plan=plan, num_frames=17, num_inference_steps=2)
    assert len(result.video) == 17
    assert result.plan is not None
    assert result.plan.num_frames == 17


def test_of_a_generator_the_seed_counts() -> None:
    assert seed_of(torch.Generator().manual_seed(4), None) == 4
    assert seed_of(None, None) == 0
    used = torch.Generator().manual_seed(4)
    torch.randn(3, generator=used)
    with pytest.raises(PhysPlanError, match="must be fresh"):
        seed_of(used, None)
    with pytest.raises(PhysPlanError, match="not both"):
        seed_of(torch.Generator().manual_seed(4), 3)


def test_a_wrong_argument_is_answered(pp: PhysPlan, ice: Path) -> None:
    with pytest.raises(PhysPlanError, match="Did you mean 'num_frames'"):
        pp.generate(ice, PROMPT, frames=9)


@pytest.mark.parametrize("method", ["physplan", "frame_guidance", "base"])
def test_a_sampling_that_was_cut_off_goes_on_at_its_step_to_the_bit(
    models: Path,
    server: GeminiServer,
    ice: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
) -> None:
    """With fresh noise in every step, as the sandbox's model has it, and with time travel: the generator's
    state counts."""
    monkeypatch.setattr(CogVideoX, "has_eta", True)
    recipe = tiny_pipelines.paper(models, server.url)
    recipe["video"]["eta"] = 1.0
    recipe["frame_guidance"] = {"schedule": {"repeats": [1, 1], "travel": [1, 1]}}
    pp = PhysPlan.from_preset(recipe)
    whole = tmp_path / "whole"
    pp.generate(ice, PROMPT, method=method, output_dir=whole)

    def stop(event: RunEvent) -> None:
        if event.stage == "latents" and "step 2 of 3" in event.message and event.done >= event.total / 2:
            raise KeyboardInterrupt

    cut = tmp_path / "cut"
    with pytest.raises(KeyboardInterrupt):
        pp.generate(ice, PROMPT, method=method, output_dir=cut, on_event=stop)
    kept = cut / "sampling.safetensors"
    assert kept.exists()
    steps: list[str] = []
    pp.generate(
        ice, PROMPT, method=method, output_dir=cut, on_event=lambda event: steps.append(event.message)
    )
    assert not any(message.startswith("step 1 of 3") for message in steps), "the first step is not done again"
    assert not kept.exists()
    for name in ("latents.safetensors", "losses.json"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()


def test_a_checkpoint_of_another_sampling_is_not_gone_on_from(
    pp: PhysPlan, ice: Path, folder: Path, tmp_path: Path
) -> None:
    def stop(event: RunEvent) -> None:
        if event.stage == "latents" and event.message.startswith("step 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pp.generate(ice, PROMPT, seed=9, output_dir=tmp_path / "run", on_event=stop)
    pp.generate(ice, PROMPT, seed=0, output_dir=tmp_path / "run", redo=True)
    again = (tmp_path / "run" / "latents.safetensors").read_bytes()
    pp.generate(ice, PROMPT, seed=0, output_dir=tmp_path / "other")
    assert again == (tmp_path / "other" / "latents.safetensors").read_bytes()
