"""The true plan of a scene is verified, and each of its states holds in the simulated clip at its anchor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import numpy as np
import pytest

from physplan.graph import Consume, EventChain, GraphEdit, Link, Spawn, Term, Unlink, Update, measure
from physplan_sandbox.rules import load_rules
from physplan_sandbox.truth import object_ids, true_chain, true_graph, uninvolved
from physplan_sandbox.world.phenomena import PHENOMENA, scene
from physplan_sandbox.world.render import FRAMES, Clip
from physplan_sandbox.world.scene import Scene

KINDS = [(name, variant) for name, p in PHENOMENA.items() for variant in p.variants]
EACH_KIND = pytest.mark.parametrize(("name", "variant"), KINDS)
INDICES = (0, 1, 2)


@cache
def played(name: str, variant: str, index: int) -> tuple[Scene, EventChain, Clip]:
    world = scene("validation", index, phenomenon=name, variant=variant)
    return world, true_chain(world), world.render()


class Frame:
    """Where things are in one frame of a clip, by node id."""

    def __init__(self, world: Scene, clip: Clip, frame: int) -> None:
        self.clip, self.frame, self.name = clip, frame, world.name
        self.keys = {id: key for key, id in object_ids(world).items()}
        self.sprites = {sprite.object: sprite.at([frame]) for sprite in world.sprites()}

    def mask(self, id: str) -> np.ndarray:
        key = self.keys[id]
        return self.clip.mask(key, self.frame) if key in self.clip.names else np.zeros((96, 96), bool)

    def seen(self, id: str) -> bool:
        return bool(self.mask(id).sum() >= 4)

    def there(self, id: str) -> bool:
        """Whether it can be seen, or is hidden by something else only."""
        sprite = self.sprites.get(self.keys[id])
        return self.seen(id) or (sprite is not None and float(np.max(sprite.alpha)) > 0)

    def box(self, id: str) -> tuple[float, float, float, float]:
        """Of what is seen of it; of what is there, when it is hidden."""
        if not self.seen(id):
            sprite = self.sprites[self.keys[id]]
            x, y, w, h = (float(np.max(value)) for value in (sprite.x, sprite.y, sprite.w, sprite.h))
            return x - w / 2, y - h / 2, x + w / 2, y + h / 2
        rows, columns = np.nonzero(self.mask(id))
        return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1

    def x(self, id: str) -> float:
        left, _, right, _ = self.box(id)
        return 0.5 * (left + right)

    def holds(self, a: str, r: str, b: str) -> bool:
        if r == "in front of" and not (self.seen(a) and self.seen(b)):
            return self.seen(a) and self.there(b)  # the one behind is hidden by the one in front
        if not self.there(a) or not self.there(b):
            return False
        (al, at, ar, ab), (bl, bt, br, bb) = self.box(a), self.box(b)
        gap = max(al, bl) - min(ar, br)
        down = max(at, bt) - min(ab, bb)
        wide = min(ar, br) - max(al, bl)
        if r == "containment":
            return bl >= al - 1 and br <= ar + 1 and bb <= ab + 2
        if r == "support":
            return bb >= at - 1 and wide > 0
        if r in ("contact", "attachment"):
            return gap <= 2 and down <= 2
        if r == "near":
            return gap <= 22 and down <= 22 and (gap > 0 or down > 0)
        if r == "left of":
            return self.x(a) < self.x(b) and gap >= -4
        if r == "above":
            return ab < bb and (al - 2 <= self.x(b) <= ar + 2 or bl - 2 <= self.x(a) <= br + 2)
        return wide > 0


@EACH_KIND
def test_chain_is_verified_and_anchors_fit_the_clip(name: str, variant: str) -> None:
    for index in INDICES:
        _, chain, _ = played(name, variant, index)
        chain.verify()
        assert chain.anchors[-1] <= FRAMES - 3  # the last state stays to be seen


def edits_at_anchors(name: str, variant: str) -> Iterator[tuple[GraphEdit, Frame]]:
    for index in INDICES:
        world, chain, clip = played(name, variant, index)
        for event in chain.events:
            frame = Frame(world, clip, event.anchor)
            yield from ((edit, frame) for edit in event.net_edits)


@EACH_KIND
def test_relations_and_presence_hold_at_each_anchor(name: str, variant: str) -> None:
    for edit, frame in edits_at_anchors(name, variant):
        if isinstance(edit, Spawn):
            assert frame.seen(edit.id), (frame.name, str(edit))
        elif isinstance(edit, Consume):
            assert not frame.seen(edit.o), (frame.name, str(edit))
        elif isinstance(edit, Link):
            assert frame.holds(edit.a, edit.r, edit.b), (frame.name, str(edit))
        elif isinstance(edit, Unlink) and edit.r in ("attachment", "left of"):
            assert not frame.holds(edit.a, edit.r, edit.b), (frame.name, str(edit))


@EACH_KIND
def test_nothing_uninvolved_moves(name: str, variant: str) -> None:
    for index in INDICES:
        world, chain, clip = played(name, variant, index)
        frame0, frame1 = Frame(world, clip, 0), Frame(world, clip, FRAMES - 1)
        for id in uninvolved(chain):
            if id.startswith(("table", "flame")):
                continue
            # Nothing that stays moves; something may pass in front of it.
            fresh = frame1.mask(id) & ~frame0.mask(id)
            assert fresh.sum() <= 0.25 * frame0.mask(id).sum(), (world.name, id)


@pytest.mark.parametrize(
    ("name", "variant"), [("ice", "tray"), ("shadow", "from_left"), ("shadow", "from_right")]
)
def test_extent_shrinks_where_the_words_say_so(name: str, variant: str) -> None:
    for index in INDICES:
        world, chain, clip = played(name, variant, index)
        event = chain.events[0]
        (update,) = (e for e in event.edits if isinstance(e, Update) and e.key == "extent")
        before = Frame(world, clip, 0).mask(update.o).sum()
        assert Frame(world, clip, event.anchor).mask(update.o).sum() < before


def test_pose_has_turned_when_blocks_and_dominoes_lean_and_lie() -> None:
    wanted = {"leaning to the right": (22, 50), "leaning a little to the right": (5, 16)}
    wanted |= {"tipped onto the next": (57, 72), "lying on its side": (85, 95)}
    for name, variant in (("push", "tall"), ("dominoes", "row"), ("dominoes", "gap")):
        for index in INDICES:
            world, chain, _ = played(name, variant, index)
            keys = {id: key for key, id in object_ids(world).items()}
            sprites = {sprite.object: sprite for sprite in world.sprites()}
            for event in chain.events:
                for edit in event.edits:
                    if isinstance(edit, Update) and edit.value in wanted:
                        angle = np.degrees(np.asarray(sprites[keys[edit.o]].angle)[event.anchor])
                        low, high = wanted[edit.value]
                        assert low <= angle <= high, (world.name, str(edit), angle)


def test_every_guidance_term_is_exercised_by_some_phenomenon() -> None:
    chains = (true_chain(scene("validation", 0, phenomenon=n, variant=v)) for n, v in KINDS)
    assert {measure(e) for chain in chains for event in chain.events for e in event.edits} == set(Term)


def test_rules_cover_exactly_the_world_and_answer_to_its_prompts_only() -> None:
    rules = load_rules().phenomena
    assert {(n, v) for n, r in rules.items() for v in r.cases} == set(KINDS)
    for name, phenomenon in PHENOMENA.items():
        for prompt in phenomenon.prompts:
            assert [n for n, r in rules.items() if r.answers(prompt)] == [name], prompt


def test_prompts_that_deny_or_reverse_an_event_are_not_answered() -> None:
    rules = load_rules().phenomena
    for prompt in ("the ball does not drop", "the tap is turned off", "the block is pushed from the right"):
        assert not any(r.answers(prompt) for r in rules.values()), prompt


def test_same_words_lead_to_different_edits_in_different_scenes() -> None:
    for name, phenomenon in PHENOMENA.items():
        plans = [true_chain(scene("validation", 3, phenomenon=name, variant=v)) for v in phenomenon.variants]
        described = [
            [(e.op, *(t.split("#")[0] for t in e.targets())) for event in plan.events for e in event.edits]
            for plan in plans
        ]
        if name not in ("filter", "shadow", "lamp"):
            assert described[0] != described[1], name


def test_ids_are_stable_and_name_every_object() -> None:
    world = scene("test", 20, phenomenon="ice", variant="tray")
    assert object_ids(world) == object_ids(scene("test", 20, phenomenon="ice", variant="tray"))
    ids = object_ids(world)
    assert set(true_graph(world).ids) == {ids[key] for key in ("table", *world.things)}
    assert "puddle" in ids  # spawned later


def test_no_phenomenon_stands_twice_in_the_rules() -> None:
    """YAML takes the last of two equal keys without a word."""
    text = files("physplan_sandbox").joinpath("rules.yaml").read_text("utf-8")
    names = re.findall(r"^(?:  )?(\w+):(?=\n|  #| .*$)", text, flags=re.MULTILINE)
    twice = {name for name in load_rules().phenomena if text.count(f"\n  {name}:\n") != 1}
    assert not twice
    assert names.count("phenomena") == names.count("kinds") == 1
