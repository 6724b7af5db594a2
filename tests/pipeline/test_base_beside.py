"""The video model alone beside the guided video: same seed, same plan, checked alike, in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from physplan import PhysPlan
from physplan.errors import PhysPlanError
from physplan.runs import layout
from physplan_bench.cost import read_runs
from physplan_sandbox.world.phenomena import scene

PROMPT = "the ball drops"
WORDS = "The video model alone, with the same seed"


@pytest.fixture(scope="module")
def pp() -> PhysPlan:
    return PhysPlan.from_preset("sandbox")


@pytest.fixture(scope="module")
def picture() -> Image.Image:
    return Image.fromarray(scene("validation", 200).render().frames[0])


def test_the_report_shows_the_base_video_of_the_same_seed(
    pp: PhysPlan, picture: Image.Image, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    given: dict[str, Any] = {"num_inference_steps": 1, "output_dir": run}
    pp.generate(picture, PROMPT, method="sketch", seed=3, with_base=True, **given)
    alone = pp.generate(picture, PROMPT, method="base", seed=3, num_inference_steps=1)
    assert torch.equal(layout.load_video(run / "base").frames, alone.video)
    assert WORDS in (run / "report.html").read_text("utf-8")
    assert (run / "base" / "verdict.json").exists()
    assert len(read_runs([tmp_path])) == 1

    pp.generate(picture, PROMPT, method="storyboard", redo=True, **given)
    assert WORDS not in (run / "report.html").read_text("utf-8"), "it was beside another run"


@pytest.mark.parametrize("method", ["base", "storyboard"])
def test_there_must_be_another_video_of_the_model_to_compare_with(
    pp: PhysPlan, picture: Image.Image, tmp_path: Path, method: str
) -> None:
    with pytest.raises(PhysPlanError, match="beside that of another method"):
        pp.generate(picture, PROMPT, method=method, with_base=True, output_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()
