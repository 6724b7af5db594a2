"""Lit clips: effects fall where the light puts them, and a clip without one differs there alone."""

from __future__ import annotations

import numpy as np
import pytest

from physplan_sandbox.train.lit import cutout
from physplan_sandbox.world.light import EFFECTS, TABLE_INDEX, Lighting, LitClip, lighting_of, render_lit
from physplan_sandbox.world.render import Backdrop
from physplan_sandbox.world.sprites import Sprite

BACKDROP = Backdrop(horizon=44, wall=(0.8, 0.8, 0.8), table=(0.6, 0.5, 0.4))
LIGHT = Lighting(slant=0.7, shade=0.5, gloss=0.5, glow=0.5)
FRAMES = 3


def ball(x: float | np.ndarray) -> Sprite:
    return Sprite(
        object="ball",
        category="ball",
        kind="ball",
        x=x,
        y=68.0,
        w=12,
        h=12,
        near=0.595,
        color=(0.8, 0.2, 0.2),
    )


def lit(*sprites: Sprite) -> LitClip:
    return render_lit(sprites, BACKDROP, LIGHT, frames=FRAMES)


def where(clip: LitClip, effect: str, frame: int = 0) -> np.ndarray:
    return np.abs(clip.frames - clip.without[effect])[frame].max(-1) > 0.02


def test_a_shadow_falls_on_the_table_away_from_the_light_and_moves_with_its_thing() -> None:
    clip = lit(ball(np.array([30.0, 45.0, 60.0])))
    columns = [np.nonzero(where(clip, "shadow", frame))[1].mean() for frame in range(FRAMES)]
    assert columns[0] > 30  # to the right of the ball
    assert np.diff(columns) == pytest.approx(15, abs=1)
    assert (clip.objects[0][where(clip, "shadow")] == TABLE_INDEX).all()


def test_a_mirror_image_lies_below_the_foot() -> None:
    clip = lit(ball(40.0))
    rows, columns = np.nonzero(where(clip, "reflection"))
    assert rows.min() >= 72
    assert columns.mean() == pytest.approx(39.5, abs=1)


def test_a_lamp_lights_its_surroundings_as_far_as_it_is_on() -> None:
    lamp = Sprite(
        object="lamp", category="lamp", kind="lamp", x=48, y=60, w=15, h=36, near=0.6,
        level=np.array([0.0, 0.5, 1.0]), look={"facing": 1.0},
    )  # fmt: skip
    clip = lit(lamp)
    added = (clip.frames - clip.without["light"]).mean(axis=(1, 2, 3))
    assert added[0] == 0
    assert 0 < added[1] < added[2]


def test_without_things_nothing_is_lit() -> None:
    clip = lit()
    assert all(np.array_equal(clip.frames, clip.without[effect]) for effect in EFFECTS)


def test_the_light_of_a_scene_is_its_own_and_always_the_same() -> None:
    assert lighting_of("test-0001") == lighting_of("test-0001") != lighting_of("test-0002")


def test_a_cutout_moves_its_objects_and_leaves_their_light_behind() -> None:
    clip = lit(ball(np.array([30.0, 45.0, 60.0])))
    frames = cutout(clip.plain, clip.frames, clip.objects)
    old, new = where(clip, "shadow", 0), where(clip, "shadow", 2) & ~where(clip, "shadow", 0)
    alike = np.abs(clip.plain[2] - clip.plain[0]).max(-1) < 0.01  # no contact shadow in either
    bare = old & alike & (clip.objects[2] == TABLE_INDEX)
    assert bare.sum() > 20
    assert np.allclose(frames[2][bare], clip.frames[0][bare], atol=0.02)
    assert np.allclose(frames[2][new], clip.plain[2][new], atol=0.02)
