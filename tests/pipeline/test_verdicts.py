"""The last stage: the run's segmenter looks at its video; what is not looked at is not shown as checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from PIL import Image

from physplan import PhysPlan
from physplan.cli import main
from physplan.pipeline import RunEvent
from physplan.runs import RunFolder
from physplan.runs.verdicts import verdict_of
from physplan.verify import NotChecked, Verdict
from physplan.video.files import write_video
from physplan.video.fit import Fit
from physplan_sandbox.world.phenomena import scene

PROMPT = "the ball drops"


@pytest.fixture(scope="module")
def pp() -> PhysPlan:
    return PhysPlan.from_preset("sandbox")


@pytest.fixture(scope="module")
def picture() -> Image.Image:
    return Image.fromarray(scene("validation", 200).render().frames[0])


@pytest.fixture(scope="module")
def storyboard(pp: PhysPlan, picture: Image.Image, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("storyboard") / "run"
    result = pp.generate(picture, PROMPT, method="storyboard", output_dir=folder)
    assert isinstance(result.verdict, Verdict)
    assert result.verdict.compared_with == "keyframes"
    return folder


def done_by(pp: PhysPlan, picture: Image.Image, folder: Path) -> list[str]:
    seen: list[RunEvent] = []
    pp.generate(picture, PROMPT, method="storyboard", output_dir=folder, on_event=seen.append)
    return [event.stage for event in seen if event.kind == "started"]


def test_the_run_says_what_the_command_says(storyboard: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        [
            *("verify", str(storyboard / "video.mkv"), "--plan", str(storyboard / "plan.json")),
            *("--image", str(storyboard / "frame.png"), "--json"),
            *("--evidence", str(storyboard / "evidence.safetensors")),
        ]
    )
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((storyboard / "verdict.json").read_text())
    assert code == (0 if told["verdict"] == "holds" else 1)


def test_a_folder_from_before_is_not_checked_until_the_same_command_does(
    pp: PhysPlan, picture: Image.Image, storyboard: Path
) -> None:
    before = (storyboard / "verdict.json").read_bytes()
    RunFolder(storyboard).invalidate(["verdict"])
    assert isinstance(verdict_of(RunFolder(storyboard)), NotChecked)
    assert done_by(pp, picture, storyboard) == ["verdict"]
    assert (storyboard / "verdict.json").read_bytes() == before


def test_another_video_under_the_same_name_is_not_checked(
    pp: PhysPlan, picture: Image.Image, storyboard: Path
) -> None:
    checked = verdict_of(RunFolder(storyboard))
    kept = (storyboard / "video.mkv").read_bytes()
    write_video(storyboard / "video.mkv", torch.zeros(5, 3, 96, 96), fps=8)
    assert isinstance(verdict_of(RunFolder(storyboard)), NotChecked)
    (storyboard / "video.mkv").write_bytes(kept)
    assert verdict_of(RunFolder(storyboard)) == checked
    assert done_by(pp, picture, storyboard) == []


def test_a_base_video_is_checked_by_a_plan_that_is_given(
    pp: PhysPlan, picture: Image.Image, storyboard: Path, tmp_path: Path
) -> None:
    plan, short = storyboard / "plan.json", {"method": "base", "num_inference_steps": 2}
    given = pp.generate(picture, plan=plan, output_dir=tmp_path / "run", **short)
    assert isinstance(given.verdict, Verdict)
    assert given.verdict.compared_with == "plan"
    assert given.plan is not None
    assert given.keyframes == ()
    without = pp.generate(picture, PROMPT, **short)
    assert isinstance(without.verdict, NotChecked)
    assert "no plan" in without.verdict.reason
    assert torch.equal(given.video, without.video), "the plan is not followed"


def test_a_picture_from_elsewhere_is_not_judged_by_eyes_that_know_only_the_sandbox(
    pp: PhysPlan, picture: Image.Image, tmp_path: Path
) -> None:
    result = pp.generate(picture.resize((192, 192)), PROMPT, method="storyboard", output_dir=tmp_path / "run")
    assert isinstance(result.verdict, NotChecked)
    assert "small world" in result.verdict.reason
    assert json.loads((tmp_path / "run" / "verdict.json").read_text())["verdict"] == "not checked"


def test_a_letterboxed_video_is_judged_where_the_model_made_it() -> None:
    fit = Fit(mode="letterbox", source=(80, 40), target=(64, 64))
    made = torch.zeros(2, 3, 64, 64)
    made[..., 16:48, :] = torch.rand(2, 3, 32, 64)
    undone = fit.undo(made, Image.new("RGB", (80, 40)))
    assert undone.shape[-2:] == (32, 64)
    assert torch.equal(fit.framed(undone), made)
