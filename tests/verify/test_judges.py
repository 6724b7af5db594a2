"""A second judge: it is asked each edit and each bystander with a time, and stands beside the verdict."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from physplan import PhysPlan
from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.report import write_report
from physplan.runs import RunFolder, layout
from physplan.verify.by_judge import Answered, Judgement, agreement_with, read_answers, times_shown
from physplan.verify.questions import questions_of
from physplan.verify.verdict import Verdict
from physplan_sandbox.world.phenomena import scene
from physplan_testing.loopback import Answer, Asked, GeminiServer, OpenAIServer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged") / "run"
    picture = Image.fromarray(scene("validation", 200).render().frames[0])
    pp = PhysPlan.from_preset("sandbox")
    pp.generate(picture, "the ball drops", method="storyboard", output_dir=folder)
    return folder


def numbered(asked: Asked) -> list[str]:
    return re.findall(r"^\d+\. (.*)$", asked.text, re.MULTILINE)


def all_yes(asked: Asked) -> Answer:
    entries = [
        {"number": i, "answer": "yes", "reason": "it is seen"} for i, _ in enumerate(numbered(asked), 1)
    ]
    return Answer(text=json.dumps({"answers": entries}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(all_yes) as one:
        monkeypatch.setenv("OPENAI_API_KEY", one.key)
        yield one


def test_every_net_edit_and_bystander_becomes_a_question_with_a_time(run: Path) -> None:
    plan = EventChain.load(run / layout.PLAN)
    asked = questions_of(plan, fps=8)
    edits = [str(edit) for event in plan.events for edit in event.net_edits]
    assert [one.edit for one in asked if one.event] == edits
    bystanders = {one.objects[0] for one in asked if one.event is None}
    named = {id for event in plan.events for edit in event.edits for id in edit.targets()}
    assert bystanders
    assert not bystanders & {id for id in named if id not in plan.graph}
    last = [one for one in asked if one.event == len(plan.events)]
    assert all(one.end == pytest.approx((plan.num_frames - 1) / 8) for one in last)
    shown = times_shown(last, plan.num_frames, 8)
    assert shown[0] == 0
    assert shown[-1] == plan.num_frames - 1


@pytest.mark.parametrize(("kind", "provider"), [(OpenAIServer, "server"), (GeminiServer, "gemini")])
def test_the_command_asks_once_keeps_the_answers_and_reports_the_agreement(
    kind: type, provider: str, run: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    here = tmp_path / "run"
    shutil.copytree(run, here)
    with kind(all_yes) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        monkeypatch.setenv("GEMINI_API_KEY", server.key)
        arguments = ["verify", str(here / layout.EXACT_VIDEO), "--plan", str(here / layout.PLAN)]
        arguments += ["--image", str(here / layout.FRAME), "--evidence", str(here / layout.EVIDENCE)]
        arguments += ["--judge", f"{provider}:seer@{server.url}"]
        assert main(arguments) == 0
        printed = capsys.readouterr().out
        calls = len(server.asked)
        plan = EventChain.load(here / layout.PLAN)
        assert calls == len(plan.events) + 1  # and the bystanders
        assert all("at 0.00 s" in asked.text and asked.images for asked in server.asked)
        main([*arguments, "--json"])
        assert len(server.asked) == calls  # nothing is paid twice
    found = json.loads(capsys.readouterr().out)["judgement"]
    assert found["score"] == 1
    assert f"agree on {found['agreement']['agree']}" in printed
    assert found["agreement"]["compared"] > 0
    write_report(RunFolder(here))
    page = (here / layout.REPORT).read_text()
    assert "What a second judge says" in page
    assert f"they agree on {found['agreement']['agree']}" in page
    (here / layout.EXACT_VIDEO).write_bytes(b"another video")
    assert layout.load_judgement(here) is None  # its answers were about the old one


def test_agreement_counts_where_both_say_yes_or_no(run: Path) -> None:
    verdict = layout.load_verdict(run)
    assert isinstance(verdict, Verdict)
    asked = questions_of(EventChain.load(run / layout.PLAN), fps=8)

    def said(answer: str) -> Judgement:
        return Judgement(
            judge="x",
            answers=tuple(Answered(question=one, answer=answer, reason="") for one in asked),  # type: ignore[arg-type]
        )

    yes, no, unclear = (agreement_with(verdict, said(word)) for word in ("yes", "no", "unclear"))
    assert yes["compared"] == no["compared"] == yes["agree"] + no["agree"]
    assert yes["agree"] > no["agree"]
    assert unclear == {"compared": 0, "agree": 0, "kappa": None}


def test_what_a_judge_leaves_out_is_unclear_and_prose_is_refused(run: Path) -> None:
    asked = questions_of(EventChain.load(run / layout.PLAN), fps=8)[:2]
    found = read_answers('{"answers": [{"number": 2, "answer": "No", "reason": "gone"}]}', asked)
    assert [one.answer for one in found] == ["unclear", "no"]
    with pytest.raises(PhysPlanError, match="cannot be read"):
        read_answers("It looks fine.", asked)


@pytest.mark.parametrize("spec", ["gpt", "server:llava", "bing:x"])
def test_a_judge_that_is_none_is_refused(spec: str, run: Path, capsys) -> None:
    arguments = ["verify", str(run / layout.EXACT_VIDEO), "--plan", str(run / layout.PLAN)]
    assert main([*arguments, "--image", str(run / layout.FRAME), "--judge", spec]) == 2
    assert "names no judge" in capsys.readouterr().err
