"""What lies around a moving thing: its shadow, the ground behind it, its round outline, fire, steam."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

cv2 = pytest.importorskip("cv2")

from physplan.graph import (  # noqa: E402  # noqa: E402
    Consume,
    Edge,
    EventChain,
    Link,
    NewObject,
    Node,
    PhysicalDelta,
    Spawn,
    StateChange,
    StateGraph,
    Unlink,
    Update,
    motion,
)
from physplan_photo.background import structure  # noqa: E402
from physplan_photo.compose.camera_zoom import moved_in  # noqa: E402
from physplan_photo.compose.config import ComposeConfig  # noqa: E402
from physplan_photo.compose.cutouts import cut_out, fringe, oval_of, rolled  # noqa: E402
from physplan_photo.compose.render import Renderer  # noqa: E402
from physplan_photo.compose.shadow import measured_region  # noqa: E402
from physplan_photo.effects import Emitter  # noqa: E402
from physplan_photo.grain import SIDES, grain  # noqa: E402

H, W = 160, 240
NONE = np.zeros((H, W), bool)


@pytest.fixture(autouse=True)
def _no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("physplan_photo.compose.plate.have", lambda name: None)


def disk(x: float, y: float, wide: float, tall: float) -> np.ndarray:
    ys, xs = np.mgrid[:H, :W]
    return ((xs - x) / wide) ** 2 + ((ys - y) / tall) ** 2 < 1


def lit_scene() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A red disc on a grey ground that grows lighter to the right, with its shadow at the upper left."""
    ball, shadow = disk(120, 90, 30, 30), disk(107, 77, 30, 30)
    shadow &= ~ball
    image = np.repeat(np.linspace(0.5, 0.75, W)[None, :, None], H, 0).repeat(3, 2)
    image[shadow] *= 0.4
    image[ball] = (0.8, 0.1, 0.1)
    return image.astype(np.float32), ball, shadow


def chain(edits, motions, *, nodes=("ball#1",), edges=(), new=()) -> EventChain:
    changes = [StateChange("ball#1", "so", "a rule", NewObject(new[0], "ball#1") if new else None)]
    return EventChain.build(
        prompt="it happens", num_frames=17,
        graph=StateGraph([Node(id, id.split("#")[0]) for id in nodes], list(edges)),
        deltas=[PhysicalDelta(tuple(changes), 0.9)], edits=[edits], motions=[motions],
    )  # fmt: skip


def drawn(plan: EventChain, image: np.ndarray, **masks: np.ndarray) -> Renderer:
    named = {f"{name}#{number}": mask for number, (name, mask) in enumerate(masks.items(), start=1)}
    return Renderer(chain=plan, image=image, masks=named, seed=0)


def test_a_cast_shadow_is_found_on_any_side_and_a_gradient_is_none() -> None:
    image, ball, shadow = lit_scene()
    found = measured_region(image, ball, NONE)
    assert found is not None
    assert (found & shadow).sum() > 0.85 * shadow.sum()
    assert (found & ~shadow).sum() < 0.15 * shadow.sum()
    image[shadow] = np.repeat(np.linspace(0.5, 0.75, W)[None, :, None], H, 0).repeat(3, 2)[shadow]
    assert measured_region(image, ball, NONE) is None


def test_a_shadow_goes_along_and_leaves_its_place() -> None:
    image, ball, shadow = lit_scene()
    plan = chain([Update("ball#1", "configuration", "moved")], [motion("ball#1", "linear", dx=0.45, dy=0.0)])
    last = drawn(plan, image, ball=ball).frame(16).image
    went = np.roll(shadow, round(0.45 * H), axis=1)
    old, new = (
        cv2.erode(shadow.astype(np.uint8), np.ones((9, 9))) > 0,
        cv2.erode(went.astype(np.uint8), np.ones((9, 9))) > 0,
    )
    assert last[old].mean() > 0.45, "its place is light again"
    assert last[new].mean() < 0.4, "and dark where it went"


def test_grain_has_the_strength_of_the_ground_and_is_no_pattern() -> None:
    noise = np.random.default_rng(1).normal(size=(H, W, 1)) * 12
    pixels = np.clip(128 + noise.repeat(3, 2), 0, 255).astype(np.uint8)
    hole = disk(120, 80, 60, 40)
    made = grain(pixels, hole)
    assert (made[~hole] == 0).all()
    assert made[hole].std() == pytest.approx(pixels[~hole].std(), rel=0.25)
    inner = np.s_[60:100, 80:160]
    for side in SIDES:
        shifted = np.roll(made, side // 2, axis=1)
        assert abs(np.corrcoef(made[inner].ravel(), shifted[inner].ravel())[0, 1]) < 0.5, side
    assert not grain(pixels[:20, :20], hole[30:50, 110:130]).any(), "too small for a patch"


def test_edges_around_a_hole_are_structure_and_a_gradient_is_none() -> None:
    hole = disk(120, 80, 40, 40)
    smooth = np.repeat(np.linspace(90, 150, W)[None, :, None], H, 0).repeat(3, 2)
    stripes = smooth + 60 * (np.arange(W)[None, :, None] // 12 % 2)
    assert structure(smooth, hole) < 2 < 9 < structure(stripes, hole)


def test_fur_widens_the_rim_and_a_hard_edge_does_not() -> None:
    ball = disk(120, 80, 40, 40)
    image = np.full((H, W, 3), 0.5, np.float32)
    image[ball] = 0.2
    hard = fringe(image, ball)
    hair = disk(120, 80, 46, 46) & ~ball & (np.random.default_rng(0).random((H, W)) < 0.5)
    image[hair] = 0.1
    assert fringe(image, ball) > 1.5 * hard


def test_a_wheel_seen_obliquely_turns_within_its_outline() -> None:
    wheel = disk(120, 80, 60, 30)
    oval = oval_of(wheel)
    assert oval is not None
    assert oval_of(disk(60, 80, 30, 30) | disk(170, 80, 30, 30)) is None
    image = np.full((H, W, 3), 0.5, np.float32)
    image[disk(165, 80, 4, 4)] = 0.1  # a spot at its right end
    cut = cut_out(image, wheel, image)
    turned = rolled(cut, 90.0, oval)
    assert (turned.alpha == cut.alpha).all()
    here, there = ((y - cut.top, x - cut.left) for x, y in ((165, 80), (120, 102)))
    assert turned.colour[here].mean() > cut.colour[here].mean() + 0.1
    assert turned.colour[there].mean() < cut.colour[there].mean() - 0.1


def test_fire_stands_on_every_part_of_an_outline() -> None:
    towers = np.zeros((H, W), bool)
    towers[60:140, 40:70] = towers[60:140, 170:200] = towers[110:140, 40:200] = True
    emitter = Emitter(
        material="flame", category="flame", seed=3, source=lambda now: (40.0, 60.0, 200.0, 140.0),
        stops=9.0, outline=towers,
    )  # fmt: skip
    covered = emitter.draw(np.full((H, W, 3), 0.3, np.float32), 1.0, 1.0) > 0.3
    assert covered[40:64, 40:70].any(), "on the left tower"
    assert covered[40:64, 170:200].any(), "and on the right one"
    assert not covered[20:60, 100:140].any(), "but not high above the low part between them"


def test_steam_rises_far_above_its_source() -> None:
    emitter = Emitter(
        material="steam", category="steam", seed=3, source=lambda now: (90.0, 110.0, 150.0, 150.0), stops=9.0
    )
    early, late = (emitter.draw(np.zeros((H, W, 3), np.float32), now, 1.0) for now in (0.2, 2.0))
    assert np.flatnonzero((late > 0.08).any(1))[0] < 70 < np.flatnonzero((early > 0.08).any(1))[0]


def test_every_kind_of_edit_shows_or_is_named() -> None:
    image, ball, _ = lit_scene()
    box = np.zeros((H, W), bool)
    box[100:150, 180:230] = True
    nodes, masks = ("ball#1", "box#2"), {"ball": ball, "box": box}
    apart = [Edge("ball#1", "near", "box#2")]
    shown = {
        "update": chain([Update("ball#1", "color", "blue")], [], nodes=nodes),
        "consume": chain([Consume("ball#1")], [], nodes=nodes),
        "link": chain(
            [Unlink("ball#1", "near", "box#2"), Link("box#2", "support", "ball#1")],
            [],
            nodes=nodes,
            edges=apart,
        ),
        "spawn of a thing": chain([Spawn("ball#3", "ball#1", "ball", {})], [], nodes=nodes, new=("ball#3",)),
    }
    for name, plan in shown.items():
        last = drawn(plan, image, **masks).frame(16)
        assert np.abs(last.image - image).max() > 0.1, name
    assert "ball#1" not in drawn(shown["consume"], image, **masks).frame(16).masks
    assert "ball#3" in drawn(shown["spawn of a thing"], image, **masks).frame(16).masks


def test_the_camera_moves_in_and_what_acts_grows_faster() -> None:
    image, ball, _ = lit_scene()
    image[10:30, 10:30] = (0.1, 0.1, 0.9)
    plan = chain([Update("ball#1", "color", "green")], [])
    config = ComposeConfig(camera=0.1, parallax=1.0, shadows=False)
    still = Renderer(chain=plan, image=image, masks={"ball#1": ball}, seed=0).frame(16)
    drift = Renderer(chain=plan, image=image, masks={"ball#1": ball}, seed=0, config=config).frame(16)
    blue = [frame.image[..., 2] - frame.image[..., 0] > 0.4 for frame in (still, drift)]
    assert blue[1].sum() / blue[0].sum() == pytest.approx(1.1**2, rel=0.08)
    grown = drift.masks["ball#1"].sum() / still.masks["ball#1"].sum()
    assert grown == pytest.approx(1.2**2, rel=0.05)


def test_what_shines_through_smoke_stays_with_the_ground_when_the_camera_moves() -> None:
    far = np.zeros((60, 90, 3), np.float32)
    far[20:24, 20:24] = 1.0  # a highlight
    smoke = np.zeros((60, 90), np.float32)
    smoke[10:40, 10:50] = 0.5
    canvas = far * (1 - smoke[..., None]) + 0.3 * smoke[..., None]
    moved = moved_in(canvas, far, {"smoke#1": smoke}, {"smoke#1"}, share=0.05, near=0.5)
    spots, _ = ndimage.label(moved[..., 0] > 0.5)
    assert spots.max() == 1
    still = moved_in(canvas, far, {"smoke#1": smoke}, {"smoke#1"}, share=0.0, near=0.0)
    assert np.abs(still - canvas).max() < 1e-5
