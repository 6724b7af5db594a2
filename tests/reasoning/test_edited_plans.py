"""An instruction is bound to its net edits: an edited plan never gives the image editor the old words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from physplan.cli import main
from physplan.graph import EventChain, edits_from_json
from physplan.reasoning.recheck import instruction_for, read_edited, recheck_json, renew
from physplan_testing import melting


@pytest.fixture
def plan() -> dict[str, Any]:
    """The melting ice with its instructions, as a version without bindings saved it."""
    chain = EventChain.load(Path(__file__).parents[2] / "src/physplan/data/melting_ice.json", recompute=True)
    value = chain.to_json()
    for entry, words in zip(value["events"], melting.INSTRUCTIONS, strict=True):
        entry["instruction"] = words
    return value


def frosted(plan: dict[str, Any]) -> dict[str, Any]:
    for edit in plan["events"][0]["edits"]:
        if edit.get("key") == "surface":
            edit["value"] = "frosted"
    return plan


def words(chain: EventChain) -> list[str]:
    return [event.instruction or "" for event in chain.events]


def test_a_plan_from_before_keeps_its_instructions_until_it_is_edited(plan: dict[str, Any]) -> None:
    untouched, notes = recheck_json(plan)
    assert words(untouched) == melting.INSTRUCTIONS
    assert notes == []
    edited, notes = recheck_json(frosted(plan))
    assert all("frosted" in text and "wet" not in text for text in words(edited))
    assert sum("rewritten" in note for note in notes) == 3


def test_an_edit_that_was_removed_is_no_longer_asked_for(plan: dict[str, Any], tmp_path: Path) -> None:
    event = plan["events"][0]
    event["edits"] = [edit for edit in event["edits"] if edit.get("key") != "surface"]
    event["delta"]["states"] = [s for s in event["delta"]["states"] if not s["object"].startswith("tray")]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    chain, _ = renew(*read_edited(tmp_path / "plan.json"))
    assert not any("wet" in text for text in words(chain))


def test_only_the_events_that_changed_are_rewritten(plan: dict[str, Any]) -> None:
    bound = recheck_json(plan)[0].to_json()
    for edit in bound["events"][2]["edits"]:
        if edit["op"] == "Update":
            edit["value"] = "covering half of the tray"
    chain, notes = recheck_json(bound)
    assert words(chain)[:2] == melting.INSTRUCTIONS[:2]
    assert "covering half" in words(chain)[2]
    assert len([note for note in notes if "rewritten" in note]) == 1


def test_derived_fields_may_be_deleted_and_the_words_still_do_not_go_stale(plan: dict[str, Any]) -> None:
    bound = frosted(recheck_json(plan)[0].to_json())
    for entry in bound["events"]:
        for name in ("net_edits", "graph", "anchor"):
            del entry[name]
    assert all("frosted" in text for text in words(recheck_json(bound)[0]))


def test_a_person_keeps_their_words_only_by_saying_so(plan: dict[str, Any]) -> None:
    bound = recheck_json(plan)[0].to_json()
    mine = "Make the ice cube half melted and the tray glisten. Keep everything else in the image unchanged."
    bound["events"][0]["instruction"] = mine
    chain, notes = recheck_json(bound)
    assert words(chain)[0] != mine
    assert mine in notes[0]  # nothing is lost without a word
    bound["events"][0]["instruction_by"] = "user"
    chain, _ = recheck_json(frosted(bound))
    assert words(chain)[0] == mine
    assert chain.events[0].by_user
    assert all("frosted" in text for text in words(chain)[1:])


def test_python_edits_and_the_drawing_of_keyframes_see_the_new_edits(plan: dict[str, Any]) -> None:
    from dataclasses import replace

    chain = recheck_json(plan)[0]
    first = chain.events[0]
    edits = edits_from_json(frosted(chain.to_json())["events"][0]["edits"])
    edited = replace(chain, events=(replace(first, edits=edits), *chain.events[1:])).rebuilt()
    assert all("frosted" in instruction_for(edited, event) for event in range(3))


def test_check_and_show_name_the_words_of_a_person(
    plan: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan["events"][0]["instruction_by"] = "user"
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(frosted(plan)))
    assert main(["plan", "--check", str(path), "-o", str(path)]) == 0
    shown = capsys.readouterr().out
    assert f"keyframe 1, in your words: {melting.INSTRUCTIONS[0]}" in shown
    assert "the edits changed; your own instruction is kept" in shown
    assert main(["show", str(path)]) == 0
    assert "in your words" in capsys.readouterr().out
