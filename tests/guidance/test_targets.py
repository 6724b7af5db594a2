"""Where an object's reference comes from, what counts as the object, and what is reported as unusable."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

from physplan.errors import PhysPlanError
from physplan.graph import (
    Consume,
    EventChain,
    Link,
    NewObject,
    Node,
    PhysicalDelta,
    Spawn,
    StateChange,
    StateGraph,
    Term,
    Update,
)
from physplan.guidance import MeasureConfig, build_objective
from physplan.guidance.extensions.lookalikes import lookalikes
from physplan.guidance.extensions.selection import chosen_terms
from physplan.guidance.objective import GraphObjective, measure_frame
from physplan.guidance.paper.keyframes import reference_picture
from physplan.guidance.paper.selection import select_terms
from physplan.perception import Evidence
from physplan_testing.pictures import ColourFeatures, box, evidence_of, ground_depth, paint

SIZE = (32, 48)
RED, GREEN, BLUE = (0.9, 0.1, 0.1), (0.1, 0.7, 0.2), (0.1, 0.2, 0.9)


def chain() -> EventChain:
    """ice -> drops (spawned), drops -> puddle (spawned), drops consumed."""
    return EventChain.build(
        prompt="ice melts",
        num_frames=17,
        graph=StateGraph([Node("ice#1", "ice"), Node("tray#2", "tray")], []),
        deltas=[
            PhysicalDelta((StateChange("ice#1", "dripping", "melts", NewObject("drops#3", "ice#1")),), 0.4),
            PhysicalDelta((StateChange("drops#3", "merged", "flow", NewObject("puddle#4", "drops#3")),), 0.4),
        ],
        edits=[
            [
                Spawn("drops#3", "ice#1", "drops", {}),
                Update("ice#1", "surface", "wet"),
                Update("ice#1", "material_phase", "slush"),
            ],
            [Spawn("puddle#4", "drops#3", "puddle", {}), Consume("drops#3")],
        ],
    )


ICE, TRAY = box(SIZE, 4, 4, 16, 12), box(SIZE, 2, 24, 46, 30)
DROPS, PUDDLE = box(SIZE, 30, 10, 36, 16), box(SIZE, 24, 14, 44, 20)


def evidence(**missing: object) -> Evidence:
    first = {"ice#1": (ICE, GREEN), "tray#2": (TRAY, RED)}
    second = {**first, "drops#3": (DROPS, BLUE)}
    third = {**first, "puddle#4": (PUDDLE, (0.4, 0.6, 0.95))}
    pictures = [
        (
            paint(SIZE, *layers.values()),
            {node: mask for node, (mask, _) in layers.items() if node not in missing},
        )
        for layers in (first, second, third)
    ]
    return evidence_of(chain(), *pictures)


def objective(seen: Evidence, **settings: object) -> GraphObjective:
    return GraphObjective(
        chain(),
        seen,
        encoder=ColourFeatures(),
        depth=ground_depth,
        size=SIZE,
        device=torch.device("cpu"),
        config=MeasureConfig(**settings),  # type: ignore[arg-type]
    )


def test_the_objective_has_a_term_per_net_edit_and_a_count_per_object_so_far():
    first, second = (select_terms(chain(), event) for event in (0, 1))
    assert Counter(map(str, first)) == Counter(
        ["appearance(ice#1)", "count(ice#1)", "count(tray#2)", "count(drops#3)"]
    )
    assert {str(t): t.weight for t in first}["appearance(ice#1)"] == 2  # two edits, one computation
    assert {str(t) for t in second} == {
        "appearance(ice#1)", "count(ice#1)", "count(tray#2)", "count(drops#3)", "count(puddle#4)"
    }  # fmt: skip


def test_removed_terms_leave_their_edits_unmeasured():
    assert {t.name for t in chosen_terms(chain(), 0, count="all", without={Term.APPEARANCE})} == {"count"}


def test_a_consumed_object_is_described_by_the_latest_picture_that_shows_it():
    seen = evidence()
    pictures = (seen.first, *seen.keyframes)
    assert reference_picture("ice#1", 2, pictures, present=True) == 2
    assert reference_picture("drops#3", 2, pictures, present=False) == 1
    assert reference_picture("ice#1", 2, pictures, present=False) == 0
    blue = ColourFeatures()(paint(SIZE, (DROPS, BLUE))[None])[0][:, 6, 16]
    built = objective(seen).keyframes[1].target.objects["drops#3"]
    torch.testing.assert_close(built.reference, blue, atol=1e-5, rtol=1e-5)
    assert len(built.instances) == 0


def test_what_the_segmenter_missed_is_skipped_with_a_reason_and_the_rest_goes_on():
    measured = measure_frame(objective(evidence(**{"ice#1": 0})), 0, evidence().keyframes[0].image)
    skipped = {str(m.spec): m.skipped for m in measured if m.value is None}
    assert skipped == {
        "appearance(ice#1)": "ice#1: not found in keyframe 1",
        "count(ice#1)": "ice#1: not found in keyframe 1",
    }


def test_a_term_without_a_matched_pair_is_skipped():
    empty = paint(SIZE)
    measured = {str(m.spec): m for m in measure_frame(objective(evidence()), 0, empty)}
    assert "no instance" in (measured["appearance(ice#1)"].skipped or "")
    assert measured["count(ice#1)"].value is not None


def test_two_objects_that_look_alike_do_not_suppress_each_other():
    """Both balls are red: each is a lookalike of the other in the keyframe, so neither counts as a copy."""
    left, right, moved = box(SIZE, 4, 4, 12, 12), box(SIZE, 20, 4, 28, 12), box(SIZE, 36, 4, 44, 12)
    plan = EventChain.build(
        prompt="a ball rolls",
        num_frames=9,
        graph=StateGraph([Node("ball#1", "ball"), Node("ball#2", "ball")], []),
        deltas=[
            PhysicalDelta(
                (StateChange("ball#1", "far", "it rolls"), StateChange("ball#2", "far", "apart")), 0.9
            )
        ],
        edits=[[Link("ball#2", "left of", "ball#1")]],
    )
    seen = evidence_of(
        plan,
        (paint(SIZE, (left, RED), (right, RED)), {"ball#1": right, "ball#2": left}),
        (paint(SIZE, (left, RED), (moved, RED)), {"ball#1": moved, "ball#2": left}),
    )
    config = MeasureConfig()
    for ignore, count in ((True, 0), (False, 1)):
        built = GraphObjective(
            plan,
            seen,
            encoder=ColourFeatures(),
            depth=ground_depth,
            size=SIZE,
            device=torch.device("cpu"),
            config=replace(config, ignore_lookalikes=ignore),
        )
        at_keyframe = measure_frame(built, 0, seen.keyframes[0].image)
        total = sum(float(m.value) for m in at_keyframe if m.spec.name == "count" and m.value is not None)
        assert (total > 0.5) == bool(count)


@pytest.mark.parametrize("ignore", [True, False])
def test_a_consumed_object_is_suppressed_but_for_cells_of_an_object_that_looks_like_it(ignore):
    """The drops are gone and the puddle looks like them: what is left of the drops must still go."""
    seen = evidence()
    alike = paint(SIZE, (ICE, GREEN), (TRAY, RED), (PUDDLE, BLUE))
    seen = replace(seen, keyframes=(seen.keyframes[0], replace(seen.keyframes[1], image=alike)))
    left = paint(SIZE, (ICE, GREEN), (TRAY, RED), (DROPS, BLUE))
    built = objective(seen, ignore_lookalikes=ignore)
    level = built.config.instance_similarity
    assert lookalikes(built.keyframes[1].target, "drops#3", level).any()
    terms = {str(m.spec): m for m in measure_frame(built, 1, left)}
    assert float(terms["count(drops#3)"].value) > 0.9


def test_an_object_that_no_edit_names_can_be_left_uncounted_so_that_no_error_of_the_editor_reaches_it():
    named = [{str(t) for t in chosen_terms(chain(), event, count="named", without=())} for event in (0, 1)]
    assert named[0] == {"appearance(ice#1)", "count(ice#1)", "count(drops#3)"}
    assert named[1] == {"appearance(ice#1)", "count(ice#1)", "count(drops#3)", "count(puddle#4)"}
    assert set(objective(evidence(), count="named").keyframes[0].target.objects) == {"ice#1", "drops#3"}

    seen = evidence()
    recoloured = paint(SIZE, (ICE, GREEN), (TRAY, BLUE), (DROPS, BLUE))
    seen = replace(seen, keyframes=(replace(seen.keyframes[0], image=recoloured), seen.keyframes[1]))
    unchanged = paint(SIZE, (ICE, GREEN), (TRAY, RED), (DROPS, BLUE))

    def off_target(count: str) -> set[str]:
        terms = measure_frame(objective(seen, count=count, fill_matched="all"), 0, unchanged)
        return {str(m.spec) for m in terms if m.value is not None and float(m.value) > 1e-3}

    assert off_target("all") == {"count(tray#2)"}
    assert off_target("named") == set()


def test_evidence_of_another_plan_is_refused():
    with pytest.raises(PhysPlanError, match="2 events, but the evidence 1 keyframes"):
        build_objective(
            ("terms",),
            chain(),
            Evidence(first=evidence().first, keyframes=evidence().keyframes[:1]),
            encoder=ColourFeatures(),
            depth=ground_depth,
            size=SIZE,
            device=torch.device("cpu"),
            config=MeasureConfig(),
        )


def test_an_object_that_another_one_parts_in_the_preview_has_no_copy_to_suppress():
    """The tray is whole in the keyframe; in the preview something narrow stands before it."""
    seen = evidence()
    post = box(SIZE, 20, 20, 24, 32)
    parted = paint(SIZE, (ICE, GREEN), (TRAY, RED), (DROPS, BLUE), (post, GREEN))
    values = {}
    for share in (0.0, 0.25):
        built = objective(seen, smallest_extra=share)
        terms = {str(m.spec): m for m in measure_frame(built, 0, parted)}
        values[share] = float(terms["count(tray#2)"].value)
    assert values[0.0] > 0.5
    assert values[0.25] == 0


def test_a_second_copy_elsewhere_is_still_suppressed_with_specks_left_alone():
    copy, speck = box(SIZE, 24, 20, 36, 24), box(SIZE, 40, 2, 44, 6)
    for extra, wrong in ((copy, True), (speck, False)):
        frame = paint(SIZE, (ICE, GREEN), (TRAY, RED), (DROPS, BLUE), (extra, GREEN))
        built = objective(evidence(), smallest_extra=0.25)
        terms = {str(m.spec): m for m in measure_frame(built, 0, frame)}
        assert (float(terms["count(ice#1)"].value) > 0.5) == wrong


def test_an_instance_a_cell_beside_its_place_is_filled_and_one_that_is_gone_is_not():
    ice = box(SIZE, 8, 4, 20, 12)
    for shown, filled in ((ice, True), (box(SIZE, 30, 22, 40, 24), False)):
        frame = paint(SIZE, (shown, GREEN), (TRAY, RED), (DROPS, BLUE))
        built = objective(evidence(), fill="log", fill_matched="all", filled=0.6, smallest_extra=1.0)
        terms = {str(m.spec): m for m in measure_frame(built, 0, frame)}
        assert (float(terms["count(ice#1)"].value) == 0) == filled


def test_a_pale_trace_satisfies_occupancy_and_not_the_cells():
    """Drops of another hue on half of their place: near enough to their reference, not to the keyframe."""
    pale = tuple(0.75 * blue + 0.25 * red for blue, red in zip(BLUE, RED, strict=True))
    for shown, wrong in ((BLUE, False), (pale, True)):
        frame = paint(SIZE, (ICE, GREEN), (TRAY, RED), (DROPS, shown))
        found = {}
        for fill, filled in (("log", 0.8), ("cells", 0.97)):
            built = objective(evidence(), fill=fill, fill_matched="all", filled=filled, threshold=0.3)
            terms = {str(m.spec): m for m in measure_frame(built, 0, frame)}
            found[fill] = next(float(m.value) for name, m in terms.items() if "count(drops" in name)
        assert found["log"] == 0
        assert (found["cells"] > 0) == wrong
