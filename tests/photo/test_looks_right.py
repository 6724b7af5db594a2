"""What makes a result worth showing: things are carried along, holes are plain, masks end at their boxes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

pytest.importorskip("cv2")

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan_photo.background import complete_background
from physplan_photo.cutting import enclosed, within
from physplan_photo.grammar.reasoner import plan_sentence
from physplan_photo.graph.relations import Seen, photo_graph
from physplan_photo.objects import Box, Cut, Mask
from physplan_photo.segmenter import PhotoSegmenter

H, W = 200, 300


def disk(x: float, y: float, wide: float, tall: float) -> Mask:
    ys, xs = np.mgrid[:H, :W]
    return ((xs - x) / wide) ** 2 + ((ys - y) / tall) ** 2 < 1


def plan_of(prompt: str, seen: list[Seen]) -> EventChain:
    graph, masks = photo_graph(seen)
    deltas, translations, _ = plan_sentence(prompt, graph, masks, width=W / H)
    edits, motions = [t.edits for t in translations], [t.motion for t in translations]
    return EventChain.build(
        prompt=prompt, num_frames=49, graph=graph, deltas=deltas, edits=edits, motions=motions
    )


def test_a_cup_seen_from_above_goes_with_its_saucer() -> None:
    cup = disk(150, 90, 40, 45)
    saucer = disk(150, 120, 90, 60) & ~cup
    plan = plan_of("the saucer slides to the left", [Seen("saucer", saucer), Seen("cup", cup)])
    shifts = {entry.o.split("#")[0]: entry.shift for entry in plan.events[0].motion}
    assert shifts["cup"] == shifts["saucer"]
    assert shifts["cup"] is not None
    assert shifts["cup"][0] < -0.1


def test_what_falls_onto_something_beside_it_ends_above_it() -> None:
    ball, box = disk(60, 40, 15, 15), disk(220, 150, 40, 30)
    plan = plan_of("the ball falls onto the box", [Seen("ball", ball), Seen("box", box)])
    (entry,) = [entry for entry in plan.events[0].motion if entry.o.startswith("ball")]
    assert entry.shift is not None
    assert abs(60 + entry.shift[0] * H - 220) < 42


def test_what_two_touching_things_enclose_belongs_to_the_larger_one() -> None:
    cup, spoon = disk(150, 90, 40, 45), disk(170, 135, 12, 10)
    saucer = disk(150, 120, 90, 60) & ~cup & ~spoon
    cuts = {
        cut.name: cut.mask for cut in enclosed([Cut("cup", cup, 1, "box"), Cut("saucer", saucer, 1, "box")])
    }
    assert cuts["saucer"][138, 170]
    assert not (cuts["saucer"] & cuts["cup"]).any()


def test_a_hole_in_a_small_thing_is_not_a_large_thing_s() -> None:
    lid, ring = disk(60, 60, 40, 40), disk(220, 140, 20, 20) & ~disk(220, 140, 6, 6)
    cuts = {cut.name: cut.mask for cut in enclosed([Cut("lid", lid, 1, "box"), Cut("ring", ring, 1, "box")])}
    assert (cuts["lid"] == lid).all()


def test_a_mask_ends_at_its_box() -> None:
    kept = within(np.ones((H, W), bool), Box(100, 50, 200, 150))
    assert kept[100, 150]
    assert not kept[100, 230]
    assert int(kept.any(0).sum()) == 112


def test_a_large_hole_in_an_even_ground_is_filled_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr("physplan_photo.background.session", no_network)
    ramp = np.repeat(np.linspace(90, 150, W)[None], H, 0)
    picture = np.repeat(ramp[..., None], 3, -1).astype(np.uint8)
    hole = disk(150, 100, 70, 70)
    picture[hole] = (255, 0, 0)
    filled = np.asarray(complete_background(Image.fromarray(picture), hole), float)
    assert np.abs(filled - ramp[..., None])[hole].mean() < 15
    assert (filled[~hole] == picture[~hole]).all()


def test_a_small_hole_in_a_plain_ground_takes_no_colour_from_its_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("physplan_photo.background.session", None)  # the network would be an error
    picture = np.full((H, W, 3), 250, np.uint8)
    picture[disk(60, 90, 10, 10)] = (255, 0, 0)
    hole = disk(105, 90, 16, 16)
    picture[hole] = (0, 0, 255)
    filled = np.asarray(complete_background(Image.fromarray(picture), hole), int)
    assert np.abs(filled[hole] - 250).max() < 4


def test_an_object_that_covers_everything_is_refused_in_a_sentence() -> None:
    with pytest.raises(PhysPlanError, match="covers the whole picture"):
        complete_background(Image.new("RGB", (W, H)), np.ones((H, W), bool))


def test_two_things_of_one_category_are_both_remembered() -> None:
    image = torch.rand(3, H, W)
    segmenter = PhotoSegmenter()
    segmenter.remember(image, {"cup": [disk(80, 90, 20, 20), disk(220, 90, 30, 30)]})
    assert len(segmenter.segment(image, ["cup"])) == 2
