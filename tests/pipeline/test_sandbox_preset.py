"""The default preset, with the weights that come with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.pictures import to_tensor
from physplan.pipeline import PhysPlan
from physplan.video.files import read_video
from physplan_sandbox.demo import SCENES, first_frame
from physplan_testing.ice import PROMPT, ice_on_a_tray

SHORT = {
    "video.num_inference_steps": 4,
    "guided_sketch.schedule": {"layout_steps": 1, "guided_steps": 2, "repeats": 1},
}


def test_a_guided_video_without_key_or_network(tmp_path: Path) -> None:
    pp = PhysPlan.from_preset("sandbox", **SHORT)
    result = pp.generate(ice_on_a_tray(), PROMPT, output_dir=tmp_path / "run")
    assert result.video.shape == (33, 3, 96, 96)
    assert result.plan is not None
    assert "puddle" in str(result.plan.events[-1].graph.to_json())
    assert result.cost.usd == 0
    first = to_tensor(ice_on_a_tray())
    assert (result.video[0] - first).abs().mean() < 0.1


def test_a_size_that_the_sandbox_cannot_make() -> None:
    pp = PhysPlan.from_preset("sandbox", **SHORT)
    with pytest.raises(PhysPlanError, match="33 frames of 96 x 96"):
        pp.generate(ice_on_a_tray(), PROMPT, num_frames=49)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_quick_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--quick", "-o", str(tmp_path)]) == 0
    assert "demo.png" in capsys.readouterr().out
    frames = read_video(tmp_path / "demo.mp4").frames
    assert frames.shape == (33, 3, 4 * 2 * 104, 4 * 3 * 104)
    assert len(list(tmp_path.rglob("report.html"))) == 6


@pytest.mark.parametrize(("variant", "number"), SCENES.items())
def test_the_scenes_of_the_demo_are_different_pictures(variant: str, number: int) -> None:
    picture = first_frame(variant, number)
    assert picture.size == (96, 96)
    others = [first_frame(other, n) for other, n in SCENES.items() if other != variant]
    assert all(picture.tobytes() != other.tobytes() for other in others)
