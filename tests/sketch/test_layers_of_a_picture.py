"""Layers of the first frame in the sketch: what is behind things, and what of them is hidden."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from sketch_scenes import COLOURS, area, chain_of, evidence, mask_of, seen
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import Edge, EventChain, Unlink, motion
from physplan.guidance import Guide
from physplan.perception import Evidence
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.latents_stage import held_against
from physplan.pipeline.requirements import check_names
from physplan.sketch import make_sketch
from physplan.sketch.compose import aligned_evidence
from physplan.sketch.registry import LAYERS
from physplan.sketch.whole import Layers, LayerSource
from physplan_models.keyframes.layered import layer_of

NEAR = {"ball#1": 0.4, "vase#3": 0.8}
VASE = (26, 36, 38, 58)
WHOLE = 100  # pixels of the ball


def half_hidden() -> tuple[EventChain, Evidence]:
    """A ball of which 4 columns are seen beside a vase rolls out; the keyframe shows a fragment as well."""
    chain = chain_of(
        ["ball#1", "vase#3"],
        (["ball#1"], [Unlink("vase#3", "in front of", "ball#1")], [motion("ball#1", "linear")]),
        edges=[Edge("vase#3", "in front of", "ball#1")],
    )
    first = seen({"ball#1": (32, 40, 42, 50), "vase#3": VASE}, NEAR)
    return chain, evidence(first, seen({"ball#1": (52, 40, 56, 50), "vase#3": VASE}, NEAR))


def ball(left: int) -> Tensor:
    layer = torch.zeros(4, 64, 64)
    layer[:3, 40:50, left : left + 10] = torch.tensor(COLOURS["ball"])[:, None, None]
    layer[3, 40:50, left : left + 10] = 1
    return layer


def test_a_layer_shows_the_whole_of_what_is_half_hidden() -> None:
    chain, found = half_hidden()
    asked: list[Mapping[str, str]] = []

    def source(image: Tensor, words: Mapping[str, str], masks: Mapping[str, Tensor]) -> Layers:
        asked.append(words)
        return Layers(objects={"ball#1": ball(32)})

    without = area(make_sketch(chain, found).frames[-1], COLOURS["ball"])
    whole = area(make_sketch(chain, found, source).frames[-1], COLOURS["ball"])
    assert without < 50
    assert whole > 0.9 * WHOLE
    assert asked == [{"ball#1": "ball"}]


def test_a_keyframe_that_guidance_is_held_against_shows_the_same_whole_and_plate() -> None:
    chain, found = half_hidden()
    asked = Layers(plate=torch.full((3, 64, 64), 0.5), objects={"ball#1": ball(32)})
    first, raw = found.first, found.keyframes[0]
    [with_layers] = aligned_evidence(chain, found, composed=True, source=lambda *_: asked).keyframes
    [without] = aligned_evidence(chain, found, composed=True).keyframes
    [not_composed] = aligned_evidence(chain, found, source=lambda *_: asked).keyframes
    for drawn in (without, not_composed):
        assert area(drawn.image, COLOURS["ball"]) == raw.masks["ball#1"].sum()
    whole = with_layers.masks["ball#1"]
    assert area(with_layers.image, COLOURS["ball"]) > 0.9 * WHOLE
    assert 0.9 * WHOLE < whole.sum() <= WHOLE
    assert set(with_layers.depth[whole].tolist()) == set(raw.depth[raw.masks["ball#1"]].tolist())
    sketch = make_sketch(chain, found, lambda *_: asked)
    assert (with_layers.image - sketch.frames[chain.anchors[0]]).abs().max() < 0.02
    before = (with_layers.image - first.image)[:, mask_of(VASE)].abs().max()
    assert before < 0.02, "it stands before the ball"


def test_composed_keyframes_of_guidance_ask_the_source_that_a_run_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain, found = half_hidden()
    monkeypatch.setitem(LAYERS, "painted", f"{__name__}:painted")

    def seen_whole(keyframes: str, layers: str) -> bool:
        config = load_config("sandbox", {"sketch.layers": layers, "guidance.keyframes": keyframes})
        by = Guide(chain=chain, evidence=found, config=config.guidance)
        return area(held_against(by, config).keyframes[0].image, COLOURS["ball"]) > 0.9 * WHOLE

    assert seen_whole("composed", "painted")
    assert not seen_whole("composed", "none")
    assert not seen_whole("raw", "painted")


def painted() -> LayerSource:
    return lambda *_: Layers(objects={"ball#1": ball(32)})


def test_a_layer_of_another_colour_is_not_used() -> None:
    chain, found = half_hidden()
    blue = ball(32)
    blue[:3] = torch.tensor(COLOURS["pool"])[:, None, None] * blue[3]
    sketch = make_sketch(chain, found, lambda *_: Layers(objects={"ball#1": blue}))
    assert area(sketch.frames[-1], COLOURS["ball"]) < 50
    assert area(sketch.frames[-1], COLOURS["pool"]) < 10


def test_the_plate_is_seen_where_no_keyframe_shows_the_ground() -> None:
    chain = chain_of(
        ["ball#1", "vase#3"],
        (["ball#1"], [Unlink("vase#3", "in front of", "ball#1")], [motion("ball#1", "linear")]),
        edges=[Edge("vase#3", "in front of", "ball#1")],
    )
    first = seen({"ball#1": (10, 40, 20, 50), "vase#3": (44, 10, 54, 20)}, NEAR)
    then = seen(
        {"ball#1": (16, 40, 26, 50), "vase#3": (44, 10, 54, 20)}, NEAR
    )  # it hides a part of its old place
    found, plate = evidence(first, then), torch.zeros(3, 64, 64)
    plate[1] = 1
    before = make_sketch(chain, found).frames
    after = make_sketch(chain, found, lambda *_: Layers(plate=plate)).frames
    green = ((after - plate[None]).abs().amax(1) < 0.02).flatten(1).sum(1)
    assert green.max() > 5
    assert not ((before - plate[None]).abs().amax(1) < 0.02).any()
    assert torch.equal(after[:, :, :30], before[:, :, :30]), "what nothing left is as it was"


def test_of_several_layers_an_object_has_the_one_that_shows_least_beside_it() -> None:
    mask = ball(32)[3] > 0
    everything = torch.ones(4, 64, 64)
    found = layer_of([everything, ball(32), ball(10)], mask)
    assert found is not None
    assert torch.equal(found, ball(32))
    assert layer_of([ball(10)], mask) is None


def test_another_name_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(PhysPlanError, match="no source of layers called 'qwne'"):
        check_names(load_config("sandbox", {"sketch.layers": "qwne"}))
