"""The grammar: every verb gives a plan that passes the checks; what it does not know it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("cv2")

from physplan.errors import PhysPlanError
from physplan.graph import Consume, EventChain, Link, Spawn, Update
from physplan.perception import Evidence, KeyframeEvidence
from physplan_photo.compose.editor import as_simulated, make_photo_sketch
from physplan_photo.grammar.clauses import NotAVerb, nouns, read_prompt
from physplan_photo.grammar.reasoner import plan_sentence
from physplan_photo.grammar.verbs import VERBS
from physplan_photo.graph.layout import Mask
from physplan_photo.graph.relations import Seen, photo_graph

HEIGHT, WIDTH = 240, 352
DOCS = Path(__file__).parents[2] / "docs" / "photo.md"


def block(left: int, top: int, right: int, bottom: int) -> Mask:
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[top:bottom, left:right] = True
    return mask


def disk(x: int, y: int, radius: int) -> Mask:
    yy, xx = np.mgrid[:HEIGHT, :WIDTH]
    return (xx - x) ** 2 + (yy - y) ** 2 < radius**2


def seen(prompt: str) -> list[Seen]:
    """The first thing on the left, a second on the right, a table under both."""
    found = []
    for number, name in enumerate(nouns(prompt)):
        if name == "table":
            found.append(Seen(name, block(0, 178, WIDTH, HEIGHT)))
        elif number == 0:
            found.append(Seen(name, disk(85, 155, 24) if name == "ball" else block(60, 80, 100, 180)))
        else:
            found.append(Seen(name, block(200, 100, 230, 180)))
    return found


def planned(prompt: str, objects: Sequence[Seen] | None = None) -> tuple[EventChain, tuple[str, ...]]:
    """The plan, and what it notes."""
    graph, masks = photo_graph(seen(prompt) if objects is None else objects)
    deltas, translations, told = plan_sentence(prompt, graph, masks, width=WIDTH / HEIGHT)
    chain = EventChain.build(
        prompt=prompt,
        num_frames=49,
        graph=graph,
        deltas=deltas,
        edits=[one.edits for one in translations],
        motions=[one.motion for one in translations],
        provenance=told,
    )
    return chain, tuple(told.get("notes", ()))


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_every_verb_gives_a_plan_that_passes_the_checks_and_is_read_back(verb) -> None:
    chain, _ = planned(verb.example)
    assert EventChain.from_json(chain.to_json()) == chain
    assert any(
        clause.verb is verb or clause.value == verb.name for s in read_prompt(verb.example) for clause in s
    )


def test_the_table_in_the_docs_is_the_grammar() -> None:
    text = DOCS.read_text("utf-8")
    for verb in VERBS.values():
        assert f"| {verb.name} | {', '.join(verb.says)} | {verb.does} | {verb.example} |" in text


def test_leaving_the_frame_is_a_consume_with_a_shift_beyond_its_edge() -> None:
    chain, _ = planned("the car drives off to the left")
    (event,) = chain.events
    assert [type(edit) for edit in event.edits] == [Consume]
    assert event.motion[0].shift is not None
    assert event.motion[0].shift[0] < -100 / HEIGHT  # its right edge is at 100


def test_a_fall_onto_something_ends_on_it_by_simulation() -> None:
    ball, table = Seen("ball", disk(85, 60, 24)), Seen("table", block(0, 170, WIDTH, HEIGHT))
    chain, notes = planned("the ball falls onto the table and bounces", [ball, table])
    (event,) = chain.events
    assert not notes
    held = chain.graph.node(next(i for i in chain.graph.ids if i.startswith("ball"))).id
    assert any(isinstance(edit, Link) and edit.r == "support" and edit.b == held for edit in event.edits)
    (moving,) = event.motion
    assert (moving.law, moving.get("by")) == ("trajectory", "simulation")
    heights = [sample[2] for sample in moving.path]
    assert max(heights) == pytest.approx(heights[-1], abs=0.01)
    first = heights.index(max(heights[:20]))
    assert min(heights[first:]) < heights[-1] - 0.1  # it comes up again


def test_a_thing_knocked_over_lies_on_its_side_and_its_neighbour_has_come_to_it() -> None:
    chain, notes = planned("the ball knocks the bottle over")
    laws = {entry.o.split("#")[0]: entry for entry in chain.events[0].motion}
    assert not notes
    assert 50 < laws["bottle"].path[-1][3] < 135
    assert laws["ball"].path[-1][1] > 0.2


def test_steps_follow_each_other_and_clauses_happen_together() -> None:
    chain, _ = planned("the balloon grows, then it bursts")
    assert len(chain.events) == 2
    assert isinstance(chain.events[0].edits[0], Update)
    assert any(isinstance(edit, Spawn) for edit in chain.events[1].edits)
    together, _ = planned("the cup tips over and the lamp goes out")
    assert len(together.events) == 1
    assert len(together.events[0].delta.states) == 2


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("the cup yodels", "knows no verb in 'the cup yodels'"),
        ("the cup mells", "Did you mean 'melts' for 'mells'"),
        ("the cup does not fall", "say what happens"),
        ("falls", "It is not said what"),
    ],
)
def test_what_the_grammar_cannot_read_it_says(prompt: str, says: str) -> None:
    with pytest.raises(NotAVerb, match=says):
        read_prompt(prompt)


def test_one_of_several_is_picked_by_its_side() -> None:
    (step,) = read_prompt("the left cup falls")
    assert (step[0].subjects[0].name, step[0].subjects[0].pick) == ("cup", "left")
    (step,) = read_prompt("the lamp on the right goes out")
    assert (step[0].subjects[0].name, step[0].subjects[0].pick) == ("lamp", "right")


def test_one_object_with_two_roles_is_refused() -> None:
    with pytest.raises(PhysPlanError, match="are one object here"):
        planned("the box lands on the box")


def test_relations_follow_from_outlines() -> None:
    table, cup = Seen("table", block(0, 178, WIDTH, HEIGHT)), Seen("cup", block(60, 120, 90, 180))
    spoon, lamp = Seen("spoon", block(65, 130, 75, 150)), Seen("lamp", block(94, 90, 120, 180))
    graph, _ = photo_graph([table, cup, spoon, lamp])
    told = {f"{e.a.split('#')[0]} {e.r} {e.b.split('#')[0]}" for e in graph.edges}
    assert {"table support cup", "table support lamp", "cup containment spoon", "cup left of lamp"} <= told
    assert "lamp left of cup" not in told


def test_a_simulation_that_contradicts_the_plan_is_said_and_both_are_drawn() -> None:
    post, wall = block(60, 80, 80, 180), block(82, 40, 180, 180)
    objects = [Seen("post", post), Seen("wall", wall)]
    chain, notes = planned("the post tips over to the right", objects)
    assert "contradicts the plan for the post" in notes[0]
    image = np.full((HEIGHT, WIDTH, 3), 0.7, np.float32)
    image[post], image[wall] = (0.8, 0.1, 0.1), (0.2, 0.2, 0.3)
    ids = {node.category: node.id for node in chain.graph.nodes}
    masks = {ids["post"]: torch.from_numpy(post), ids["wall"]: torch.from_numpy(wall)}
    first = KeyframeEvidence(
        image=torch.from_numpy(image).permute(2, 0, 1), masks=masks, depth=torch.ones(HEIGHT, WIDTH)
    )
    made = make_photo_sketch(chain, Evidence(first=first, keyframes=()))
    assert made.otherwise is not None
    assert made.notes[0] == notes[0]
    assert (made.otherwise[-1] - made.frames[-1]).abs().amax(0).gt(0.2).sum() > 0.3 * post.sum()
    agreed, _ = planned("the post tips over to the left", objects)
    assert "simulated" not in agreed.provenance
    assert make_photo_sketch(agreed, Evidence(first=first, keyframes=())).otherwise is None
    meddled = replace(chain, provenance={"simulated": [[{"o": "post#1", "law": "spin"}]]})
    assert as_simulated(meddled) is None
