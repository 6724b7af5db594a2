"""Several attempts at one video: what the verdict asks for, or further seeds; and seeds on purpose."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from tests.pipeline import tiny_pipelines

from physplan import PhysPlan
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.pipeline import Result, RunEvent
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.latents_stage import SamplingRequest
from physplan.pipeline.run import Run
from physplan.runs import layout
from physplan.runs.records import StageRecord
from physplan.verify import Checked, NotChecked, Verdict
from physplan.verify.limits import Limits, answer
from physplan.verify.verdict import EditFound, EventFound
from physplan_models.reasoning.polish import usable
from physplan_sandbox.world.phenomena import scene
from physplan_testing.loopback import Answer, Asked, GeminiServer, OpenAIServer

SHORT: dict[str, Any] = {"method": "sketch", "num_inference_steps": 2}
PROMPT = "the ball drops"


@pytest.fixture(scope="module")
def pp() -> PhysPlan:
    return PhysPlan.from_preset("sandbox", next_attempt="seed")


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


def test_the_words_for_the_video_model_are_rewritten_by_a_model_that_sees_the_picture(
    picture: Image.Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    asked: list[Asked] = []

    def rewritten(request: Asked) -> Answer:
        asked.append(request)
        return Answer(text=json.dumps({"words": "The ball\nfalls onto the table."}))

    def listen(request: SamplingRequest) -> Any:
        told.append(request.prompt)
        raise KeyboardInterrupt

    monkeypatch.setattr("physplan.pipeline.stage_runner.make_latents", listen)
    with OpenAIServer(rewritten) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        wanted = {"video.prompt": "both", "video.polish": f"server:writer@{server.url}"}
        for _ in range(2):  # the second time from the stored answer
            with pytest.raises(KeyboardInterrupt):
                PhysPlan.from_preset("sandbox", **wanted).generate(
                    picture, PROMPT, method="sketch", output_dir=tmp_path / "run"
                )
    assert told == ["The ball falls onto the table."] * 2
    assert len(asked) == 1
    assert f"{PROMPT}. First, the ball" in asked[0].text
    assert len(asked[0].images) == 1


@pytest.mark.parametrize(
    ("writer", "words"), [("someone", "names no writer"), ("openai:x", "OPENAI_API_KEY")]
)
def test_a_writer_that_cannot_be_asked_is_refused_at_once(
    writer: str, words: str, picture: Image.Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pp = PhysPlan.from_preset("sandbox", **{"video.polish": writer})
    with pytest.raises(PhysPlanError, match=words):
        pp.generate(picture, PROMPT, output_dir=tmp_path / "run", **SHORT)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("answer", ["no JSON", '{"words": 3}', json.dumps({"words": "a" * 2000}), "[" * 9999])
def test_an_answer_that_is_no_sentence_leaves_the_words_as_they_are(answer: str) -> None:
    assert usable(answer) == ""


def event(value: float | None) -> EventFound:
    edit = EditFound(
        edit="Link(table#1, containment, ball#2)", objects=("ball#2",), value=value, frame=9, verdict="fails"
    )
    return EventFound(event=1, anchor=9, verdict="fails", value=value or 0.0, stray=0.0, edits=(edit,))


def test_the_verdict_decides_what_the_next_attempt_changes_and_the_run_takes_it_over(
    pp: PhysPlan, picture: Image.Image, planned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first video misses what its keyframe does not show, the second is better, the fourth holds."""
    scores = iter([(0.1, None), (0.3, 0.5), (0.2, 0.5), (0.7, 0.9)])

    def judge(run: Run, *rest: object) -> Checked:
        score, value = next(scores)
        verdict = answer(score, Limits().holds, Limits().fails)
        found = {"events": (event(value),), "bystanders": (), "motion": {}}
        return Verdict(verdict=verdict, score=score, compared_with="keyframes", **found)

    monkeypatch.setattr("physplan.pipeline.stage_runner.check_video", judge)
    corrected = PhysPlan.from_preset(
        "sandbox", **{"sketch.weak": 0.1, "sketch.strong": 0.3, "editor.options": {"level": 2}}
    )
    folder, said = tmp_path / "run", list[RunEvent]()
    given: dict[str, Any] = {**SHORT, "attempts": 4, "output_dir": folder, "on_event": said.append}
    result = corrected.generate(picture, PROMPT, **given)
    changed = [[(one.kind, one.what) for one in attempt.changed] for attempt in result.attempts]
    assert changed == [
        [],
        [("keyframes 1", "keyframe 1 redrawn")],
        [("clock", "the sketch held longer")],
        [("seed", "another seed")],
    ]
    assert [one.name for one in result.attempts] == ["seed0", "change2", "change3", "seed1"]
    assert result.attempts[3].chosen
    clocks = load_config(folder / "attempts" / "change3" / "config.yaml").sketch
    assert (clocks.weak, clocks.strong) == (0.37, 0.65)
    own, first, redrawn = (
        folder / one / layout.keyframe(1) for one in (".", "attempts/seed0", "attempts/change2")
    )
    assert own.read_bytes() == redrawn.read_bytes() != first.read_bytes()  # the video's own keyframe
    told = f"keyframe 1 redrawn ({result.attempts[1].changed[0].why})"
    assert any(told in one.message for one in said)
    assert told in html.unescape((folder / layout.REPORT).read_text("utf-8"))
    assert Result.load(folder).attempts == result.attempts
    said.clear()
    corrected.generate(picture, PROMPT, **given)
    assert {one.kind for one in said} == {"kept"}


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


def test_a_model_that_plans_is_shown_its_plan_with_what_was_not_seen_of_it_once(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(run: Run, chain: EventChain, *rest: object) -> Checked:
        events = tuple(replace(event(0.1), event=n) for n in range(1, len(chain.events) + 1))
        found = {"events": events, "bystanders": (), "motion": {}}
        return Verdict(verdict="fails", score=0.1, compared_with="keyframes", **found)

    monkeypatch.setattr("physplan.pipeline.stage_runner.check_video", judge)
    pp = PhysPlan.from_preset(tiny_pipelines.paper(models, gemini.url))
    result = pp.generate(ice, tiny_pipelines.PROMPT, method="sketch", attempts=5, output_dir=tmp_path / "run")
    kinds = [[one.kind for one in attempt.changed] for attempt in result.attempts]
    later = kinds[kinds.index(["clock", "words"]) :]
    assert later[:2] == [["clock", "words"], ["plan"]]
    assert all(kind == ["seed"] for kind in later[2:])
    told = [asked.text for asked in gemini.asked if "a video was made from this plan" in asked.text]
    assert len(told) == 1
    number = kinds.index(["clock", "words"]) + 1
    words = load_config(tmp_path / "run" / "attempts" / f"change{number}" / "config.yaml").video.words
    assert words.startswith("It is clearly seen that the ball is in the table")
    # one ledger for all of it: what attempts draw and ask is in the run's own
    assert not list((tmp_path / "run" / "attempts").glob("*/calls/ledger.jsonl"))
    assert result.cost.calls.calls == len(gemini.asked)
