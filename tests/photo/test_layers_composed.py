"""The composing editor with a source of layers: what is half hidden comes out whole."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

pytest.importorskip("cv2")

from physplan.errors import PhysPlanError
from physplan.graph import (
    Edge,
    EventChain,
    Node,
    PhysicalDelta,
    StateChange,
    StateGraph,
    Unlink,
    Update,
    motion,
)
from physplan.keyframes import EditRequest
from physplan.perception import Evidence, KeyframeEvidence
from physplan.pictures import to_picture, to_tensor
from physplan.sketch.registry import LAYERS
from physplan.sketch.whole import Layers, LayerSource
from physplan_photo.compose import ComposeEditor, make_photo_sketch

H, W = 96, 160
RED, BLUE = torch.tensor([0.8, 0.1, 0.1]), torch.tensor([0.1, 0.2, 0.8])
BOX, VASE = (slice(40, 70), slice(30, 60)), (slice(20, 75), slice(40, 70))  # a third of the box is seen
AREA = 30 * 30
ASKED: list[Mapping[str, str]] = []


def of(where: tuple[slice, slice]) -> Tensor:
    mask = torch.zeros(H, W, dtype=torch.bool)
    mask[where] = True
    return mask


def half_hidden() -> KeyframeEvidence:
    image = torch.full((3, H, W), 0.6)
    image[(slice(None), *BOX)] = RED[:, None, None]
    image[(slice(None), *VASE)] = BLUE[:, None, None]
    masks = {"box#1": of(BOX) & ~of(VASE), "vase#2": of(VASE)}
    return KeyframeEvidence(image=image, masks=masks, depth=torch.zeros(H, W))


def drawn() -> LayerSource:
    """A source that knows the whole box, and that the ground behind it is green."""

    def source(image: Tensor, words: Mapping[str, str], masks: Mapping[str, Tensor]) -> Layers:
        ASKED.append(words)
        layer = torch.zeros(4, H, W)
        layer[(slice(None, 3), *BOX)] = RED[:, None, None]
        layer[(3, *BOX)] = 1
        plate = torch.tensor([0.3, 0.7, 0.3])[:, None, None].expand(3, H, W)
        return Layers(plate=plate.clone(), objects={"box#1": layer})

    return source


@pytest.fixture(autouse=True)
def _source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("physplan_photo.compose.plate.have", lambda name: None)
    load = LAYERS.load
    monkeypatch.setattr(type(LAYERS), "check", lambda self, name: None)
    monkeypatch.setattr(type(LAYERS), "load", lambda self, name: drawn if name == "drawn" else load(name))
    monkeypatch.setattr("physplan_photo.compose.editor._renderers", OrderedDict())
    ASKED.clear()


def plan() -> EventChain:
    return EventChain.build(
        prompt="the box slides out",
        num_frames=17,
        graph=StateGraph(
            [Node("box#1", "box"), Node("vase#2", "vase")], [Edge("vase#2", "in front of", "box#1")]
        ),
        deltas=[PhysicalDelta((StateChange("box#1", "out", "a rule", None),), 0.9)],
        edits=[[Update("box#1", "configuration", "moved"), Unlink("vase#2", "in front of", "box#1")]],
        motions=[[motion("box#1", "linear", dx=0.7, dy=0.0)]],
    )


def red(image: Tensor) -> Tensor:
    return (image[0] - image[1] > 0.4) & (image[0] - image[2] > 0.4)


def sketch_with(**settings: str) -> Tensor:
    first = half_hidden()
    return make_photo_sketch(plan(), Evidence(first=first, keyframes=(first,)), **settings).frames


def test_what_is_half_hidden_moves_out_whole() -> None:
    parts, whole = sketch_with()[-1], sketch_with(layers="drawn")[-1]
    assert int(red(parts).sum()) < 0.5 * AREA
    assert int(red(whole).sum()) == pytest.approx(AREA, rel=0.1)
    assert ASKED == [{"box#1": "box"}]
    columns = torch.nonzero(red(whole)[:, 75:].any(0)).flatten().float() + 75  # right of the vase
    assert float(columns.mean()) == pytest.approx(44.5 + 0.7 * H, abs=1.5)


def test_its_old_place_shows_the_sources_ground_and_what_hid_it_stays() -> None:
    frames = sketch_with(layers="drawn")
    assert torch.equal(frames[0], half_hidden().image)
    old = frames[-1][:, 46:64, 32:37]
    assert float((old[1] - old[0]).min()) > 0.25
    vase = frames[-1][:, 25:70, 45:65]
    assert float((vase - BLUE[:, None, None]).abs().max()) < 0.02


def test_the_keyframe_is_the_frame_of_the_sketch_and_says_so_in_its_key() -> None:
    editor, plain = ComposeEditor(layers="drawn"), ComposeEditor()
    assert editor.identity != plain.identity
    first, chain = half_hidden(), plan()
    request = EditRequest(image=to_picture(first.image), instruction="", event=0, chain=chain, first=first)
    drawn_keyframe = to_tensor(editor.edit(request))
    frame = sketch_with(layers="drawn")[chain.events[0].anchor]
    assert float((drawn_keyframe - frame).abs().max()) <= 1 / 255
    assert len(ASKED) == 1, "one renderer draws both"


def test_an_unknown_source_is_refused_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(PhysPlanError, match="no source of layers called 'qwne'"):
        ComposeEditor(layers="qwne")
