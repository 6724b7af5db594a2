from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.graph import Edge, Node, StateGraph
from physplan.perception import (
    Evidence,
    Instance,
    Segmenter,
    Sighting,
    first_frame_evidence,
    gather_evidence,
    keyframe_evidence,
    sightings,
)
from physplan.perception.assignment import assign, centroid
from physplan.perception.preview import save_previews
from scenes import (
    MELTING_FIRST,
    MELTING_KEYFRAMES,
    SIZE,
    Box,
    ColourSegmenter,
    draw,
    melting_chain,
    row_depth,
)


def look(graph: StateGraph, *boxes: Box):
    return first_frame_evidence(graph, sighting(graph, draw(*boxes)))


def sighting(graph: StateGraph, image: torch.Tensor, segmenter: Segmenter | None = None) -> Sighting:
    return sightings.look(graph, image, segmenter=segmenter or ColourSegmenter(), depth=row_depth)


def place(mask: torch.Tensor) -> tuple[float, float]:
    """Where a mask is, in pixels."""
    x, y = centroid(mask)
    return round(x * SIZE[1], 2), round(y * SIZE[0], 2)


def balls(*edges: Edge, count: int = 2) -> StateGraph:
    nodes = [Node(f"ball#{number}", "ball") for number in range(1, count + 1)]
    return StateGraph([*nodes, Node("tray#9", "tray")], edges)


LEFT, RIGHT = ("ball", 4, 10, 10, 16), ("ball", 50, 10, 56, 16)


def test_evidence_of_a_chain_has_every_node_of_every_state_and_no_consumed_one() -> None:
    segmenter = ColourSegmenter()
    evidence = gather_evidence(
        melting_chain(), MELTING_FIRST, MELTING_KEYFRAMES, segmenter=segmenter, depth=row_depth
    )
    assert [sorted(frame.masks) for frame in (evidence.first, *evidence.keyframes)] == [
        ["ice#1", "tray#2"],
        ["ice#1", "puddle#3", "tray#2"],
        ["puddle#3", "tray#2"],
    ]
    assert evidence.missing == ()
    assert int(evidence.keyframes[0].masks["ice#1"].sum()) == 8 * 8
    assert segmenter.asked == [("ice cube", "tray"), ("ice cube", "tray", "puddle"), ("tray", "puddle")]
    assert all(float(frame.depth.max()) == 1 for frame in evidence.keyframes)


def test_a_node_that_is_not_found_is_reported() -> None:
    frames = (draw(("tray", 8, 30, 56, 40)), MELTING_KEYFRAMES[1])
    evidence = gather_evidence(
        melting_chain(), MELTING_FIRST, frames, segmenter=ColourSegmenter(), depth=row_depth
    )
    assert evidence.keyframes[0].missing == ("ice#1", "puddle#3")
    assert evidence.missing == ("ice#1 was not found in keyframe 1", "puddle#3 was not found in keyframe 1")


@pytest.mark.parametrize(
    ("edge", "expected"),
    [
        (Edge("ball#1", "left of", "ball#2"), [7, 53]),
        (Edge("ball#2", "left of", "ball#1"), [53, 7]),
        (Edge("tray#9", "support", "ball#1"), [53, 7]),
        (Edge("ball#2", "near", "tray#9"), [7, 53]),
        (Edge("tray#9", "left of", "ball#2"), [7, 53]),
    ],
    ids=lambda value: f"{value.a} {value.r} {value.b}" if isinstance(value, Edge) else None,
)
def test_relations_tell_two_nodes_of_a_category_apart_in_the_first_frame(
    edge: Edge, expected: list[int]
) -> None:
    seen = look(balls(edge), LEFT, RIGHT, ("tray", 44, 17, 62, 20))
    assert [place(seen.masks[f"ball#{number}"])[0] for number in (1, 2)] == expected


def test_order_in_height_and_in_depth_is_followed() -> None:
    high, low = ("ball", 30, 2, 36, 8), ("ball", 30, 40, 36, 46)
    for relation, expected in (("above", [5, 43]), ("in front of", [43, 5])):
        seen = look(balls(Edge("ball#1", relation, "ball#2")), high, low)
        assert [place(seen.masks[f"ball#{number}"])[1] for number in (1, 2)] == expected


def test_without_a_hint_nodes_go_from_left_to_right() -> None:
    seen = look(balls(), RIGHT, LEFT)
    assert place(seen.masks["ball#1"])[0] == 7
    assert seen.missing == ("tray#9",)


def keyframe(graph: StateGraph, known: dict[str, torch.Tensor], *boxes: Box):
    return keyframe_evidence(graph, sighting(graph, draw(*boxes)), known=known)


def test_two_nodes_of_a_category_keep_their_places_in_a_keyframe() -> None:
    graph = balls(Edge("ball#2", "left of", "ball#1"))
    known = dict(look(graph, LEFT, RIGHT).masks)
    moved = keyframe(graph, known, ("ball", 4, 14, 10, 20), ("ball", 54, 10, 60, 16))
    assert place(moved.masks["ball#2"])[0] == 7
    assert place(moved.masks["ball#1"])[0] == 57


def test_overlap_decides_before_distance() -> None:
    """ball#1 grew to the right, ball#2 went to the far left: by distance alone they would be swapped."""
    graph = balls()
    known = dict(look(graph, ("ball", 0, 10, 6, 16), ("ball", 24, 10, 30, 16)).masks)
    seen = keyframe(graph, known, ("ball", 0, 10, 23, 16), ("ball", 0, 0, 6, 6))
    assert int(seen.masks["ball#1"].sum()) == 23 * 6


def test_when_one_of_two_is_gone_the_other_is_missing_not_both() -> None:
    graph = balls()
    known = dict(look(graph, LEFT, RIGHT).masks)
    seen = keyframe(graph, known, RIGHT)
    assert list(seen.masks) == ["ball#2"]
    assert seen.missing == ("ball#1", "tray#9")


def test_extra_instances_are_kept_and_go_to_the_nearest_node() -> None:
    graph = balls()
    known = dict(look(graph, LEFT, RIGHT).masks)
    seen = keyframe(graph, known, LEFT, RIGHT, ("ball", 40, 30, 42, 32), ("ball", 0, 40, 3, 43))
    assert int(seen.masks["ball#1"].sum()) == 36 + 9
    assert int(seen.masks["ball#2"].sum()) == 36 + 4


def test_a_spawned_node_appears_where_its_source_was_without_taking_its_place() -> None:
    first = balls(count=1)
    known = dict(look(first, LEFT).masks)
    split = StateGraph([Node("ball#1", "ball"), Node("ball#2", "ball", source="ball#1")])
    seen = keyframe(split, known, LEFT, ("ball", 14, 10, 18, 14))
    assert place(seen.masks["ball#1"]) == (7, 13)
    assert place(seen.masks["ball#2"]) == (16, 12)


@given(
    nodes=st.integers(1, 4),
    corners=st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), max_size=6, unique=True),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=60, deadline=None)
def test_every_instance_has_one_node_and_no_node_starves_while_instances_last(
    nodes: int, corners: Sequence[tuple[int, int]], seed: int
) -> None:
    masks = [torch.zeros(12, 12, dtype=torch.bool) for _ in corners]
    for mask, (x, y) in zip(masks, corners, strict=True):
        mask[y : y + 2, x : x + 2] = True
    cost = torch.rand(nodes, len(masks), generator=torch.Generator().manual_seed(seed)).numpy()
    owned = assign(cost, masks)
    assert sorted(index for group in owned for index in group) == list(range(len(masks)))
    assert sum(bool(group) for group in owned) == min(nodes, len(masks))


def test_an_instance_without_a_pixel_is_not_an_object() -> None:
    class Empty:
        def segment(self, image: torch.Tensor, categories: Sequence[str]) -> tuple[Instance, ...]:
            return (Instance(category="ball", mask=torch.zeros(SIZE, dtype=torch.bool), score=0.9),)

    graph = balls(count=1)
    seen = first_frame_evidence(graph, sighting(graph, draw(), Empty()))
    assert seen.missing == ("ball#1", "tray#9")


def test_evidence_saved_and_loaded_is_the_same(tmp_path: Path) -> None:
    frames = (draw(), MELTING_KEYFRAMES[1])
    evidence = gather_evidence(
        melting_chain(), MELTING_FIRST, frames, segmenter=ColourSegmenter(), depth=row_depth
    )
    evidence.save(tmp_path / "evidence.safetensors")
    again = Evidence.load(tmp_path / "evidence.safetensors")
    for before, after in zip(
        (evidence.first, *evidence.keyframes), (again.first, *again.keyframes), strict=True
    ):
        assert torch.equal(before.image, after.image)
        assert torch.equal(before.depth, after.depth)
        assert list(before.masks) == list(after.masks)
        assert all(torch.equal(before.masks[node], after.masks[node]) for node in before.masks)
        assert before.missing == after.missing


def test_keyframes_that_are_the_first_frame_itself_are_saved(tmp_path: Path) -> None:
    frames = (MELTING_FIRST, MELTING_FIRST)
    evidence = gather_evidence(
        melting_chain(), MELTING_FIRST, frames, segmenter=ColourSegmenter(), depth=row_depth
    )
    evidence.save(tmp_path / "evidence.safetensors")
    assert torch.equal(Evidence.load(tmp_path / "evidence.safetensors").keyframes[1].image, MELTING_FIRST)


def test_a_category_in_two_spellings_is_one_category() -> None:
    segmenter = ColourSegmenter()
    graph = StateGraph([Node("ball#1", "ball"), Node("ball#2", "Ball")])
    seen = first_frame_evidence(graph, sighting(graph, draw(LEFT, RIGHT), segmenter))
    assert segmenter.asked == [("ball",)]
    assert [place(seen.masks[f"ball#{number}"])[0] for number in (1, 2)] == [7, 53]


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = gather_evidence(
        melting_chain(), MELTING_FIRST, MELTING_KEYFRAMES, segmenter=ColourSegmenter(), depth=row_depth
    )
    path = tmp_path / "evidence.safetensors"
    evidence.save(path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("physplan.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        evidence.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["evidence.safetensors"]


@pytest.mark.parametrize("content", [b"", b"not safetensors", None], ids=["empty", "text", "absent"])
def test_evidence_that_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "evidence.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PhysPlanError, match=r"Cannot read the evidence in .*evidence.safetensors"):
        Evidence.load(path)


def test_keyframes_that_do_not_fit_the_plan_or_the_frame_are_refused() -> None:
    arguments = {"segmenter": ColourSegmenter(), "depth": row_depth}
    with pytest.raises(PhysPlanError, match="2 events but 1 keyframes"):
        gather_evidence(melting_chain(), MELTING_FIRST, MELTING_KEYFRAMES[:1], **arguments)
    small = torch.nn.functional.avg_pool2d(MELTING_KEYFRAMES[0], 2)
    with pytest.raises(PhysPlanError, match="resize the keyframes"):
        gather_evidence(melting_chain(), MELTING_FIRST, (small, small), **arguments)


def test_previews_colour_the_masks_and_leave_the_rest(tmp_path: Path) -> None:
    frames = (draw(), MELTING_KEYFRAMES[1])
    evidence = gather_evidence(
        melting_chain(), MELTING_FIRST, frames, segmenter=ColourSegmenter(), depth=row_depth
    )
    paths = save_previews(evidence, tmp_path)
    assert [path.name for path in paths] == ["first.png", "keyframe-1.png", "keyframe-2.png"]
    first = Image.open(paths[0])
    assert first.size == (2 * 5 * SIZE[1], 5 * SIZE[0])
    background, tray = first.getpixel((2, 2)), first.getpixel((5 * 10, 5 * 38))
    assert background == (153, 153, 153)
    assert tray != (128, 76, 26)
