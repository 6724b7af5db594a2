"""The plan in motion on the command line: drawn with the plan, and from a run's folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from physplan.cli import main
from physplan.cli.generate import read_seeds
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.video.files import read_video
from physplan_sandbox.world.phenomena import scene


@pytest.fixture
def ball(tmp_path: Path) -> Path:
    Image.fromarray(scene("validation", 200).render().frames[0]).save(tmp_path / "ball.png")
    return tmp_path / "ball.png"


def test_a_plan_is_seen_in_motion_at_once(
    ball: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    film, strip, plan = (tmp_path / name for name in ("sketch.mp4", "sketch.png", "plan.json"))
    asked = ["plan", "--image", str(ball), "--prompt", "the ball drops", "-o", str(plan)]
    assert main([*asked, "--sketch", str(film), "--sketch", str(strip)]) == 0
    assert f"The plan in motion is {film}" in capsys.readouterr().out
    assert len(read_video(film).frames) == EventChain.load(plan).num_frames
    assert Image.open(strip).width > 500
    assert main(["show", str(plan), "--sketch", str(film)]) == 2
    assert "plan with --sketch" in capsys.readouterr().err
    edited = EventChain.load(plan).with_fraction(1, 0.9)
    edited.save(plan)
    assert main([*asked, "--sketch", str(film)]) == 2
    assert "maybe an edited one" in capsys.readouterr().err
    assert EventChain.load(plan) == edited


def test_a_run_shows_its_sketch_and_its_verdict(
    ball: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, again = tmp_path / "run", tmp_path / "again.mkv"
    asked = ["generate", "--image", str(ball), "--prompt", "the ball drops", "--method", "storyboard"]
    assert main([*asked, "-o", str(run)]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith("The video ")
    assert main(["show", str(run), "--sketch", str(again)]) == 0
    told = capsys.readouterr().out
    assert f"The plan in motion is {run / 'sketch.mp4'}" in told
    assert said in told
    assert len(read_video(again).frames) == len(read_video(run / "sketch.mp4").frames)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sketch", "sketch.gif"], "name a sketch .mp4"),
        (["--sketch", "s.mp4", "--no-instructions"], "not both"),
    ],
)
def test_a_sketch_that_cannot_be_is_refused_before_anything_is_planned(
    ball: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--image", str(ball), "--prompt", "the ball drops", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_seeds_are_ranges_and_lists() -> None:
    assert read_seeds("0-3") == [0, 1, 2, 3]
    assert read_seeds("0,2, 5") == [0, 2, 5]
    assert read_seeds("7,0-2,1") == [7, 0, 1, 2]


@pytest.mark.parametrize("text", ["", "3-1", "a", "0-", "-1", "0,,2", "0-99999999"])
def test_seeds_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(PhysPlanError, match="0-3 or 0,2,5"):
        read_seeds(text)
