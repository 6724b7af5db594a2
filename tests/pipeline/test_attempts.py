"""Several seeds of one plan: until a video holds, or on purpose; plan and keyframes are made once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from physplan import PhysPlan
from physplan.errors import PhysPlanError
from physplan.pipeline import RunEvent
from physplan.pipeline.run import Run
from physplan.runs.records import StageRecord
from physplan.verify import Checked, NotChecked, Verdict
from physplan.verify.limits import Limits, answer
from physplan_sandbox.world.phenomena import scene

SHORT: dict[str, Any] = {"method": "sketch", "num_inference_steps": 2}
PROMPT = "the ball drops"


@pytest.fixture(scope="module")
def pp() -> PhysPlan:
    return PhysPlan.from_preset("sandbox")


@pytest.fixture(scope="module")
def picture() -> Image.Image:
    return Image.fromarray(scene("validation", 200).render().frames[0])


@pytest.fixture(scope="module")
def planned(pp: PhysPlan, picture: Image.Image, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose plan, keyframes and evidence the others take over."""
    folder = tmp_path_factory.mktemp("planned") / "run"
    pp.generate(picture, PROMPT, method="storyboard", output_dir=folder)
    return folder


class Judge:
    """Finds what it is told to find, by the seed; seeds that it is told nothing about stop the run."""

    def __init__(self, **scores: float | None) -> None:
        self.scores = {int(name.removeprefix("seed")): score for name, score in scores.items()}

    def __call__(self, run: Run, *rest: object) -> Checked:
        if run.inputs.seed not in self.scores:
            raise KeyboardInterrupt
        score, limits = self.scores[run.inputs.seed], Limits()
        if score is None:
            return NotChecked(reason="nobody can see")
        return Verdict(
            verdict=answer(score, limits.holds, limits.fails),
            score=score,
            compared_with="keyframes",
            events=(),
            bystanders=(),
            motion={},
        )


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Any:
    def by(**scores: float | None) -> None:
        monkeypatch.setattr("physplan.pipeline.stage_runner.check_video", Judge(**scores))

    return by


def test_seeds_are_tried_until_one_holds(
    pp: PhysPlan, picture: Image.Image, planned: Path, tmp_path: Path, judged: Any
) -> None:
    judged(seed3=0.3, seed4=0.1)
    given: dict[str, Any] = {**SHORT, "seed": 3, "attempts": 4, "output_dir": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        pp.generate(picture, PROMPT, reuse=planned, **given)  # stopped at the check of seed 5
    first = (tmp_path / "run" / "attempts" / "seed3" / "stages" / "latents.json").read_bytes()
    judged(seed5=0.6)
    seen: list[RunEvent] = []
    result = pp.generate(picture, PROMPT, on_event=seen.append, **given)
    assert [(one.seed, one.verdict, one.chosen) for one in result.attempts] == [
        (3, "doubtful", False),
        (4, "fails", False),
        (5, "holds", True),
    ]
    assert (tmp_path / "run" / "attempts" / "seed3" / "stages" / "latents.json").read_bytes() == first
    assert result.verdict.verdict == "holds"
    alone = pp.generate(picture, PROMPT, seed=5, reuse=planned, **SHORT)
    assert torch.equal(result.video, alone.video)
    assert {event.stage for event in seen if event.kind == "started"} == {"latents", "video", "verdict"}
    page = (tmp_path / "run" / "report.html").read_text()
    assert 'href="attempts/seed4/report.html"' in page
    assert (tmp_path / "run" / "attempts" / "seed4" / "report.html").exists()
    seen.clear()
    pp.generate(picture, PROMPT, on_event=seen.append, **given)
    assert {event.kind for event in seen} == {"kept"}


@pytest.mark.parametrize(
    ("scores", "kept"), [({"seed0": 0.1, "seed1": 0.2}, 1), ({"seed0": 0.2, "seed1": 0.2}, 0)]
)
def test_the_highest_score_is_kept_where_none_holds(
    pp: PhysPlan, picture: Image.Image, planned: Path, judged: Any, scores: dict[str, float], kept: int
) -> None:
    judged(**scores)
    result = pp.generate(picture, PROMPT, attempts=2, reuse=planned, **SHORT)
    assert [one.chosen for one in result.attempts] == [kept == 0, kept == 1]
    assert result.verdict.verdict == "fails"


def test_what_cannot_be_checked_is_not_tried_again(
    pp: PhysPlan, picture: Image.Image, planned: Path, judged: Any
) -> None:
    judged(seed0=None)
    result = pp.generate(picture, PROMPT, attempts=3, reuse=planned, **SHORT)
    assert [one.verdict for one in result.attempts] == ["not checked"]


def test_seeds_on_purpose_share_what_does_not_depend_on_them(
    pp: PhysPlan, picture: Image.Image, planned: Path, tmp_path: Path
) -> None:
    seen: list[RunEvent] = []
    first, second = pp.generate_seeds(
        picture, PROMPT, seeds=[0, 2], output_dir=tmp_path / "seeds", on_event=seen.append, **SHORT
    )
    assert [one.folder for one in (first, second)] == [tmp_path / "seeds" / f"seed{n}" for n in (0, 2)]
    assert not torch.equal(first.video, second.video)
    started = [event.stage for event in seen if event.kind == "started"]
    assert started.count("plan") == started.count("keyframes") == started.count("evidence") == 1
    assert started.count("latents") == 2
    record = StageRecord.load(tmp_path / "seeds" / "seed2", "stages/evidence.json")
    assert record is not None
    assert not record.changed(tmp_path / "seeds" / "seed2")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"attempts": 0}, "give a number from 1"),
        ({"attempts": 2, "method": "storyboard"}, "the same with every seed"),
    ],
)
def test_attempts_that_make_no_sense_are_refused(
    pp: PhysPlan, picture: Image.Image, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(PhysPlanError, match=words):
        pp.generate(picture, PROMPT, **given)
