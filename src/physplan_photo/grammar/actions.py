"""What each verb does: states, edits and laws of one clause. Distances are in heights of the frame."""

from __future__ import annotations

from collections.abc import Callable

from physplan.errors import PhysPlanError
from physplan.graph import Consume, Link, motion
from physplan_photo.grammar import collisions, looks
from physplan_photo.grammar.clauses import Clause
from physplan_photo.grammar.scene import FRAME_MARGIN, Event, Scene, Update
from physplan_photo.grammar.words import forms
from physplan_photo.stands import dish_of

Action = Callable[[Scene, Event, Clause, str], None]
RISE_HEIGHT = 0.4  # heights of the frame, where there is room
STRIDE_LENGTH = 0.45
CLIMB_SLOPE = 0.32  # of the way across, for what flies: it leaves its ground, and its shadow there
LAWS = {"slide": "decelerating", "glide": "decelerating"}  # by the verb's first form; the rest is linear


def act(scene: Scene, event: Event, clause: Clause) -> None:
    """Add a clause to its event."""
    for noun in clause.subjects:
        id = scene.find(noun)
        if clause.target is not None and scene.find(clause.target) == id:
            raise PhysPlanError(
                f"Both things that the sentence calls {noun.name!r} are one object here: give the other one "
                "a name of its own."
            )
        ACTIONS[clause.verb.name](scene, event, clause, id)


def shifted(scene: Scene, event: Event, id: str, law: str, shift: tuple[float, float], **more: float) -> None:
    """The object and what it carries go together."""
    for one in dict.fromkeys((id, *scene.carried(id))):
        if one in scene.boxes:
            event.motions[one] = collisions.travels(one, law, *shift, **more)
            if one != id:
                event.change(
                    one, "carried along", "what something carries goes with it",
                    Update(one, "configuration", "carried along"),
                )  # fmt: skip


def leave(scene: Scene, event: Event, id: str, law: str, shift: tuple[float, float], **more: float) -> None:
    """Out of the frame, with what it carries: consumed there."""
    for one in dict.fromkeys((id, *scene.carried(id))):
        if one in scene.boxes:
            event.change(one, "out of the frame", "what moves on leaves the view", Consume(one))
            event.motions[one] = collisions.travels(one, law, *shift, **more)
    event.weight = max(event.weight, 1.2)


def rise(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    box = scene.box(id)
    driven = "rocket" in scene.graph.node(id).category or clause.said.split()[0] in ("launches", "blasts")
    if clause.leaves:  # with the flame below it
        far = box.bottom + FRAME_MARGIN + (max(2.1 * box.width, 0.2) if driven else 0.0)
        leave(scene, event, id, "accelerating", (0.0, -far))
    else:
        room = box.top - FRAME_MARGIN
        far = min(room, RISE_HEIGHT) if room > 0.15 else min(RISE_HEIGHT, box.height * 0.6)
        event.change(
            id, "higher up", "lift carries it up against gravity",
            *scene.let_go(id), Update(id, "configuration", "raised above its place"),
        )  # fmt: skip
        shifted(scene, event, id, "accelerating", (0.0, -far), speed=0.15)
    if driven:
        looks.exhaust(scene, event, id)


def move(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    id = _with_dish(scene, clause, id)
    box = scene.box(id)
    if clause.direction == "up":
        rise(scene, event, clause, id)
        return
    if clause.source is not None and not clause.leaves:
        collisions.off_edge(scene, event, clause, id)
        return
    if clause.target is not None:
        _move_to(scene, event, clause, id)
        return
    left = clause.direction == "left" or (not clause.direction and _nearer_left(scene, id))
    flies = clause.said.split()[0] in forms("fly")
    if clause.leaves:
        far = -(box.right + FRAME_MARGIN) if left else scene.width - box.left + FRAME_MARGIN
        leave(scene, event, id, "accelerating", (far, -CLIMB_SLOPE * abs(far) if flies else 0.0), speed=0.35)
        return
    room = box.left - FRAME_MARGIN if left else scene.width - FRAME_MARGIN - box.right
    far = min(max(room, 0.12), STRIDE_LENGTH)
    side = "left" if left else "right"
    besides = next((a for a, r in scene.holders(id) if r == "support"), None)  # it stays on its ground
    event.change(
        id, f"further {side}", "a push moves it along its ground",
        *scene.let_go(id, besides), Update(id, "configuration", f"moved to the {side}"),
    )  # fmt: skip
    law = next((law for head, law in LAWS.items() if clause.said.startswith(head[:4])), "linear")
    law = "roll" if clause.verb.name == "roll" else law
    up = min(CLIMB_SLOPE * far, max(box.top - FRAME_MARGIN, 0.0)) if flies else 0.0
    shifted(
        scene, event, id, law, (-far if left else far, -up), **({"slowing": 1.0} if law == "roll" else {})
    )


def _with_dish(scene: Scene, clause: Clause, id: str) -> str:
    """The dish found below a thing: pushed along its ground, a cup goes with its saucer."""
    dish = next(
        (a for a, r in scene.holders(id) if r in ("support", "containment") and _is_dish(scene, a, id)), None
    )
    if dish is None or clause.direction == "up" or clause.target is not None or clause.source is not None:
        return id
    scene.notes.append(f"The {scene.graph.node(id).category} goes with the dish that it stands on.")
    return dish


def _is_dish(scene: Scene, holder: str, id: str) -> bool:
    return scene.graph.node(holder).category == dish_of(scene.graph.node(id).category)


def roll(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    box = scene.box(id)
    if clause.leaves:
        left = clause.direction == "left" or (not clause.direction and _nearer_left(scene, id))
        far = -(box.right + FRAME_MARGIN) if left else scene.width - box.left + FRAME_MARGIN
        leave(scene, event, id, "roll", (far, 0.0))
    else:
        move(scene, event, clause, id)


def _nearer_left(scene: Scene, id: str) -> bool:
    return scene.box(id).centre[0] <= scene.width / 2


def _move_to(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    """To the side of the target, on whose level it comes to lie, or onto it."""
    assert clause.target is not None
    target = scene.find(clause.target)
    if clause.relation in ("onto", "on", "upon", "into", "in", "inside"):
        collisions.onto(scene, event, clause, id)
        return
    here, there = scene.box(id), scene.box(target)
    right_of = here.centre[0] > there.centre[0]
    far = there.right - here.left + 0.005 if right_of else there.left - here.right - 0.005
    event.change(
        id, "beside it", "a push moves it along its ground",
        *scene.let_go(id, target), Link(id, "contact", target), Update(id, "configuration", "moved"),
    )  # fmt: skip
    law = "roll" if clause.verb.name == "roll" else "decelerating"
    shifted(scene, event, id, law, (far, there.bottom - here.bottom))  # as near to the camera as it


def jump(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    box = scene.box(id)
    if clause.target is not None:
        target = scene.find(clause.target)
        x = scene.box(target).centre[0] if target in scene.boxes else box.centre[0]
        shift = (x - box.centre[0], scene.surface(target, x) - box.bottom)
        event.change(
            id, "on top of it", "a leap ends where something holds it",
            *scene.let_go(id, target), Link(target, "support", id), Update(id, "configuration", "landed"),
        )  # fmt: skip
        event.motions[id] = collisions.travels(id, "projectile", *shift, rise=max(0.1, -shift[1] + 0.08))
        return
    far = {"left": -0.3, "right": 0.3}.get(clause.direction, 0.0)
    up = min(max(box.top - FRAME_MARGIN, 0.06), 0.22)
    path = tuple(
        (round(u / 24, 5), round(far * u / 24, 5), round(-4 * up * (u / 24) * (1 - u / 24), 5), 0.0)
        for u in range(25)
    )
    event.change(
        id, "after a leap", "what leaps up comes down again", Update(id, "configuration", "having leapt")
    )
    event.motions[id] = motion(id, "trajectory", path=path)


def drift(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    box = scene.box(id)
    y = 1.0 - FRAME_MARGIN
    links = []
    if clause.target is not None:
        target = scene.find(clause.target)
        y = scene.surface(target, box.centre[0])
        links = [Link(target, "support", id)]
    event.change(
        id, "lower down", "air slows what falls lightly",
        *scene.let_go(id), *links, Update(id, "configuration", "drifted down"),
    )  # fmt: skip
    event.motions[id] = motion(id, "flutter", dy=round(max(y - box.bottom, 0.08), 4), sway=0.06, times=2.0)


ACTIONS: dict[str, Action] = {
    "rise": rise,
    "fall": collisions.fall,
    "bounce": collisions.bounce,
    "jump": jump,
    "move": move,
    "roll": roll,
    "tip": collisions.tip,
    "knock": collisions.knock,
    "land": collisions.onto,
    "drift": drift,
    "swing": looks.swing,
    "shake": looks.shake,
    "spin": looks.spin,
    "lean": looks.lean,
    "bend": looks.bend,
    "grow": looks.grow,
    "shrink": looks.shrink,
    "melt": looks.melt,
    "burst": looks.burst,
    "break": looks.break_,
    "split": looks.split,
    "vanish": looks.vanish,
    "burn": looks.burn,
    "ignite": looks.ignite,
    "smoke": looks.smoke,
    "freeze": looks.freeze,
    "wet": looks.wet,
    "spill": looks.spill,
    "darken": looks.darken,
    "light": looks.light,
    "rust": looks.rust,
    "colour": looks.colour,
}
