"""A run with an edited plan: the reasoner rewrites what changed, and only those keyframes are drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.pipeline import tiny_pipelines
from tests.pipeline.tiny_pipelines import PROMPT

from physplan.graph import EventChain, Update
from physplan.pipeline import PhysPlan
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked, GeminiServer


def respond(asked: Asked) -> Answer:
    """Words the extent of the puddle as the net edits have it."""
    if "IMAGE" in asked.modalities or asked.act != "instruction":
        return tiny_pipelines.respond(asked)
    extents = [e["value"] for e in melting.block(asked, "net_edits") if e.get("key") == "extent"]
    text = melting.INSTRUCTIONS[melting.keyframe_of(asked)]
    changed = (
        f"Replace the ice cube with a puddle {extents[0]}, and make the tray wet. {melting.KEEP}"
        if extents
        else text
    )
    return Answer(text=json.dumps({"instruction": changed}))


def edited(plan: EventChain) -> EventChain:
    last = plan.events[-1]
    event = replace(last, edits=(Update("puddle#3", "extent", "running over the rim"),))
    return replace(plan, events=(*plan.events[:-1], event))


def test_what_changed_is_rewritten_by_the_reasoner_and_drawn_and_the_rest_kept(
    models: Path, ice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", GeminiServer.key)
    with GeminiServer(respond) as server:
        pp = PhysPlan.from_preset(tiny_pipelines.paper(models, server.url))
        plan = pp.plan(ice, PROMPT)
        pp.keyframes(ice, plan=plan, output_dir=tmp_path / "run")
        before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run/drawings").iterdir()}
        server.asked.clear()
        forecast = pp.forecast(ice, plan=edited(plan), output_dir=tmp_path / "other")
        assert "instructions rewritten by" in forecast.work[0].what
        assert forecast.work[0].calls == 1
        assert server.asked == []
        pp.keyframes(ice, plan=edited(plan), output_dir=tmp_path / "run", redo=True)
        texts = [asked for asked in server.asked if "IMAGE" not in asked.modalities]
        assert [asked.act for asked in texts] == ["instruction"]
        told = {asked.text for asked in server.asked if "IMAGE" in asked.modalities}
    assert told
    assert all("running over the rim" in text for text in told)
    saved = EventChain.load(tmp_path / "run/plan.json")
    assert [event.instruction for event in saved.events[:2]] == [e.instruction for e in plan.events[:2]]
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run/drawings").iterdir()}
    assert before.items() <= after.items()
    drawn = json.loads((tmp_path / "run/keyframes.json").read_text())
    assert "running over the rim" in drawn[2]["instruction"]


def test_without_a_key_rules_write_it(models: Path, ice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from physplan.pipeline.planning import renew_plan

    monkeypatch.setenv("GEMINI_API_KEY", GeminiServer.key)
    with GeminiServer(respond) as server:
        pp = PhysPlan.from_preset(tiny_pipelines.paper(models, server.url))
        plan = pp.plan(ice, PROMPT)
        monkeypatch.delenv("GEMINI_API_KEY")
        asked = len(server.asked)
        from physplan.reasoning.picture import Picture

        chain, notes = renew_plan(pp.config, pp.backends, Picture.of(ice), edited(plan).rebuilt())
        assert len(server.asked) == asked
    assert "running over the rim" in (chain.events[-1].instruction or "")
    assert notes == ["event 3: the instruction was rewritten, because it was written for other net edits"]
