"""Where moving objects are between the anchors, and the scenes in which things move, crowd and hide."""

from __future__ import annotations

import numpy as np
import pytest

from physplan.errors import PhysPlanError
from physplan_bench.sandbox import subsets
from physplan_bench.sandbox.movement import between, centroid_errors, hides, movers, place, true_tracks
from physplan_bench.sandbox.subsets import SUBSETS, chosen_scenes, crowded, half_hidden, moving
from physplan_sandbox.truth import true_chain
from physplan_sandbox.world.phenomena import scene
from physplan_sandbox.world.render import Clip


def clip(*frames: str, near: dict[str, float] | None = None) -> Clip:
    """Rows of one picture per frame, separated by /: . is the wall, letters are objects."""
    letters = sorted({letter for frame in frames for letter in frame if letter.isalpha()})
    names = ("wall", "table", *letters)
    grids = [frame.split("/") for frame in frames]
    index = {".": 0, **{letter: 2 + i for i, letter in enumerate(letters)}}
    objects = np.array([[[index[c] for c in row] for row in grid] for grid in grids], dtype=np.uint8)
    depth = np.zeros(objects.shape, np.float32)
    for letter, value in (near or {}).items():
        depth[objects == index[letter]] = value
    return Clip(np.zeros((*objects.shape, 3), np.uint8), objects, depth, names)


def test_a_place_is_a_centroid_in_fractions_of_the_frame() -> None:
    mask = np.zeros((4, 8), bool)
    mask[2:, 4:] = True
    assert place(mask) == (0.75, 0.75)
    assert place(mask & False) is None
    assert place(mask, least=9) is None


def test_frames_between_anchors_are_no_anchors() -> None:
    assert between((3, 6)) == [1, 2, 4, 5]
    assert between((1,)) == []


def test_an_object_in_its_place_has_no_error_and_one_that_stays_has_its_way() -> None:
    track = [(0.1 * t, 0.5) for t in range(5)]
    moved = [[spot] for spot in track]
    stayed = [[track[0]]] * 5
    assert centroid_errors({"ball": track}, moved, [1, 2, 3]) == {"ball": pytest.approx(0)}
    assert centroid_errors({"ball": track}, stayed, [1, 2, 3]) == {"ball": pytest.approx(0.2)}


def test_an_object_that_is_not_seen_is_where_it_was_last() -> None:
    track = [(0.1 * t, 0.5) for t in range(5)]
    vanishes = [[track[0]], [track[1]], [], [], []]
    assert centroid_errors({"ball": track}, vanishes, [2, 3]) == {"ball": pytest.approx(0.15)}


def test_of_two_alike_each_gets_the_place_that_suits_both_best() -> None:
    left, right = [(0.2, 0.5)] * 3, [(0.8, 0.5)] * 3
    seen = [[(0.8, 0.5), (0.2, 0.5)]] * 3
    found = centroid_errors({"left": left, "right": right}, seen, [1, 2])
    assert found == {"left": pytest.approx(0), "right": pytest.approx(0)}
    alone = centroid_errors({"left": left, "right": right}, [[(0.8, 0.5)]] * 3, [1, 2])
    assert alone == {"left": pytest.approx(0), "right": pytest.approx(0)}  # the left one is where it was


def test_the_truth_follows_itself() -> None:
    shown = scene("validation", 3, phenomenon="drop", variant="table")
    truth = shown.render()
    tracks = true_tracks(truth, ["ball"])
    seen = [[spot] if spot else [] for spot in tracks["ball"]]
    frames = between(true_chain(shown).anchors)
    assert centroid_errors(tracks, seen, frames) == {"ball": 0.0}
    assert centroid_errors(tracks, [seen[0]] * len(seen), frames)["ball"] > 0.03


def rows(row: str) -> str:
    return "/".join([row] * 5)


START = rows("AAAA..BBB.")


def test_something_that_comes_before_another_hides_it() -> None:
    before = rows("....AAAAB.")
    assert hides(clip(START, before), ["A"])
    assert not hides(clip(START, START), ["A"])
    assert not hides(clip(START, rows("..AAAABBB.")), ["A"])  # beside it


def test_something_that_goes_behind_another_is_hidden() -> None:
    behind = rows("...AAABBB.")
    assert hides(clip(START, behind, near={"A": 0.2, "B": 0.8}), ["A"])
    assert not hides(clip(START, behind, near={"A": 0.8, "B": 0.2}), ["A"])  # it shrank, before B


def test_the_rules_look_at_the_truth() -> None:
    falls, glows = (scene("test", 3, phenomenon=name) for name in ("drop", "lamp"))
    assert moving(falls)
    assert movers(true_chain(falls)) == ("ball#2",)
    assert not moving(glows)
    assert crowded(falls) == (len(falls.things) >= subsets.CROWD_SIZE)


def test_a_subset_of_a_term_has_plans_that_select_it() -> None:
    lamp, filter_ = (scene("train", 1, phenomenon=name) for name in ("lamp", "filter"))
    assert not SUBSETS["depth-term"](lamp)
    assert SUBSETS["depth-term"](filter_)
    assert SUBSETS["appearance-term"](lamp)
    assert not SUBSETS["extent-term"](lamp)


def test_a_vessel_is_not_half_hidden_by_what_it_holds() -> None:
    assert half_hidden(scene("validation", 557, phenomenon="behind", variant="twins"))
    assert not half_hidden(scene("validation", 571, phenomenon="cascade", variant="cloth"))


def test_a_subset_is_the_first_scenes_that_the_rule_holds_for() -> None:
    found = chosen_scenes("moving", "validation", first=200, number=6)
    assert len(found) == 6
    assert all(moving(scene("validation", index)) for index in found)
    skipped = set(range(200, found[-1])) - set(found)
    assert not any(moving(scene("validation", index)) for index in skipped)
    assert chosen_scenes("all", "test", first=500, number=3) == (500, 501, 502)


def test_scenes_that_there_are_not_enough_of_are_said_to_be_missing(monkeypatch) -> None:
    monkeypatch.setattr(subsets, "SUBSETS", {"rare": lambda shown: shown.index == 7})
    monkeypatch.setattr(subsets, "MAX_SCENES_PER_FIND", 5)
    with pytest.raises(PhysPlanError, match="Only 1 of 10 test scenes are rare"):
        chosen_scenes("rare", "test", first=5, number=2)


def test_a_thing_that_has_left_the_picture_has_no_error_there() -> None:
    there, away = (0.5, 0.5), None
    found = centroid_errors({"ball": [there, there, away]}, [[there], [(0.5, 0.6)], [(0.9, 0.9)]], [1, 2])
    assert found == {"ball": pytest.approx(0.1)}


def test_half_hidden_movers_are_found_in_the_truth() -> None:
    """A ball half behind a carton that rolls out, and two weights that are put on a balance in full view."""
    assert half_hidden(scene("test", 1607))
    assert not half_hidden(scene("validation", 541))
