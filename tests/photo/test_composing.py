"""The composer without weights: what moves leaves its place, looks are drawn or refused, frames repeat."""

from __future__ import annotations

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")

from physplan.errors import PhysPlanError  # noqa: E402
from physplan.graph import (  # noqa: E402
    EventChain,
    Link,
    NewObject,
    Node,
    PhysicalDelta,
    Spawn,
    StateChange,
    StateGraph,
    Update,
    motion,
)
from physplan.perception import Evidence, KeyframeEvidence  # noqa: E402
from physplan_photo.compose import make_photo_sketch  # noqa: E402
from physplan_photo.compose.looks import COLOURS, LOOKS, look_of  # noqa: E402
from physplan_photo.effects import MATERIALS, Emitter, material_of  # noqa: E402

H, W = 96, 160


@pytest.fixture(autouse=True)
def _no_weights(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr("physplan_photo.compose.plate.have", lambda name: None)


def scene() -> KeyframeEvidence:
    image = torch.linspace(0.5, 0.7, W).expand(3, H, W).clone()
    mask = torch.zeros(H, W, dtype=torch.bool)
    mask[40:70, 20:50] = True
    image[:, mask] = torch.tensor([0.8, 0.1, 0.1])[:, None]
    return KeyframeEvidence(image=image, masks={"box#1": mask}, depth=torch.zeros(H, W))


def chain(edits, motions, new: str | None = None) -> EventChain:
    change = StateChange("box#1", "so", "a rule", NewObject(new, "box#1") if new else None)
    return EventChain.build(
        prompt="it happens",
        num_frames=17,
        graph=StateGraph([Node("box#1", "box")], []),
        deltas=[PhysicalDelta((change,), 0.9)],
        edits=[edits],
        motions=[motions],
    )


def test_what_moves_leaves_its_place_and_arrives_where_its_law_says() -> None:
    first = scene()
    plan = chain([Update("box#1", "configuration", "moved")], [motion("box#1", "linear", dx=0.8, dy=0.0)])
    sketch = make_photo_sketch(plan, Evidence(first=first, keyframes=(first,)))
    assert torch.equal(sketch.frames[0], first.image)
    red = sketch.frames[-1][0] - sketch.frames[-1][1] > 0.4
    columns = torch.nonzero(red.any(0)).flatten()
    assert float(columns.float().mean()) == pytest.approx(34.5 + 0.8 * H, abs=1.5)
    old = sketch.frames[-1][:, 45:65, 25:45]
    assert (old - 0.57).abs().max() < 0.12
    assert any("OpenCV" in note for note in sketch.notes)
    assert torch.equal(
        make_photo_sketch(plan, Evidence(first=first, keyframes=(first,))).frames, sketch.frames
    )


def test_every_look_changes_the_picture_and_an_unknown_one_is_refused_by_name() -> None:
    first = scene()
    for key, entries in LOOKS.items():
        for words, look in entries:
            if look.__name__ == "same":
                continue
            plan = chain([Update("box#1", key, words[0])], [motion("box#1", "fade")])
            frames = make_photo_sketch(plan, Evidence(first=first, keyframes=(first,))).frames
            assert (frames[-1] - first.image).abs().max() > 0.03, (key, words[0])
    assert look_of("color", "turned blue", moves=False) is not None
    assert "blue" in COLOURS
    with pytest.raises(PhysPlanError, match="purring"):
        look_of("surface", "purring", moves=False)


@pytest.mark.parametrize("material", MATERIALS)
def test_every_material_is_drawn_moves_and_repeats(material: str) -> None:
    emitter = Emitter(
        material=material, category=material, seed=3, source=lambda now: (60.0, 40.0, 90.0, 70.0), stops=9.0
    )
    drawn = []
    for now in (0.8, 1.0, 1.0):
        canvas = np.full((H, W, 3), 0.4, np.float32)
        assert emitter.draw(canvas, now, 1.0).max() > 0.05
        drawn.append(canvas)
    assert np.abs(drawn[0] - drawn[1]).max() > 0.01
    assert np.array_equal(drawn[1], drawn[2])
    assert material_of(material) == material


def test_what_bursts_flies_off_in_its_own_colour() -> None:
    emitter = Emitter(
        material="dust", category="dust", seed=3, source=lambda now: (60.0, 40.0, 90.0, 70.0), stops=9.0,
        colour=(0.0, 0.9, 0.1),
    )  # fmt: skip
    canvas = np.full((H, W, 3), 0.9, np.float32)
    emitter.draw(canvas, 0.2, 1.0)
    pieces = (canvas[..., 1] - canvas[..., 0]) > 0.6
    rows, columns = np.nonzero(pieces)
    assert len(rows) > 30
    assert columns.min() < 60 < 90 < columns.max()


def test_a_spawned_flame_comes_with_its_source() -> None:
    first = scene()
    edits = [
        Update("box#1", "configuration", "raised"),
        Spawn("flame#2", "box#1", "flame", {"material_phase": "gas"}),
        Link("box#1", "attachment", "flame#2"),
    ]
    motions = [motion("box#1", "linear", dx=0.0, dy=-0.3), motion("flame#2", "fade", ends=0.3)]
    sketch = make_photo_sketch(chain(edits, motions, "flame#2"), Evidence(first=first, keyframes=(first,)))
    bright = (sketch.frames[-1][0] > 0.9) & (sketch.frames[-1][2] < 0.8)
    rows = torch.nonzero(bright.any(1)).flatten()
    assert len(rows)
    assert float(rows.float().mean()) == pytest.approx(70 - 0.3 * H + 12, abs=14)
