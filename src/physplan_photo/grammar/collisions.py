"""Verbs whose motion comes from rigid bodies: falling, landing, tipping, sliding off, knocking over.

The plan says the end (what holds or touches what); the simulation says the way. Where the simulation ends
otherwise, the plan's own law is used; the scene's notes say so, and the event keeps both.
"""

from __future__ import annotations

import math

from physplan.graph import Consume, Link, Motion, motion
from physplan_photo.grammar.clauses import Clause
from physplan_photo.grammar.scene import FRAME_MARGIN, Event, Scene, Update
from physplan_photo.graph.layout import extent_of
from physplan_photo.simulate.bodies import GRAVITY, Body, Floor, Simulated, is_round, outline_of, simulate

PUSH_SPEED = 0.9  # heights of the frame a second
HIGH_BOUNCE = 0.7
LOW_BOUNCE = 0.12


def body_of(scene: Scene, id: str, **given: object) -> Body:
    """The object's outline where it is now."""
    mask = scene.masks[id]
    first, now = extent_of(mask), scene.box(id)
    dx, dy = now.centre[0] - first.centre[0], now.bottom - first.bottom
    outline = tuple((x + dx, y + dy) for x, y in outline_of(mask))
    return Body(outline=outline, round=is_round(mask), **given)  # type: ignore[arg-type]


def by_simulation(path: tuple[tuple[float, float, float, float], ...], id: str) -> Motion:
    return motion(id, "trajectory", path=path, by="simulation")


def travels(id: str, law: str, dx: float, dy: float, **more: float) -> Motion:
    rounded = {name: round(value, 4) for name, value in {"dx": dx, "dy": dy, **more}.items()}
    return motion(id, law, **rounded)


def fall(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    """Straight down onto the target, the ground below, or out of the frame."""
    if clause.source is not None and clause.target is None:
        off_edge(scene, event, clause, id)
        return
    box = scene.box(id)
    target = scene.find(clause.target) if clause.target is not None else None
    there = scene.boxes.get(target) if target is not None else None
    if there is not None and not there.left <= box.centre[0] <= there.right:  # it is not above its target
        onto(scene, event, clause, id)
        return
    y = scene.surface(target, box.centre[0]) if target is not None else 1.0 - FRAME_MARGIN
    if y - box.bottom < 0.02:  # it is down already: it can only fall over
        if target is None and not clause.leaves and not scene.holders(id):
            tip(scene, event, clause, id)
            return
        y = box.bottom + 0.1
    if clause.leaves:
        event.change(id, "out of the frame", "gravity pulls down what nothing holds", Consume(id))
        event.motions[id] = travels(id, "accelerating", 0.0, 1.0 - box.top + FRAME_MARGIN)
        return
    links = [Link(target, "support", id)] if target is not None else []
    event.change(
        id, "lying lower down", "gravity pulls down what nothing holds, until something holds it",
        *scene.let_go(id, target), *links, Update(id, "configuration", "fallen down"),
    )  # fmt: skip
    springy = clause.value == "bounce"
    bodies = {id: body_of(scene, id, elasticity=HIGH_BOUNCE if springy else LOW_BOUNCE)}
    made = simulate(bodies, floor=Floor(y=y))
    planned = travels(id, "bounce" if springy else "accelerating", 0.0, y - box.bottom)
    _take(scene, event, made, {id: planned}, made.touch(id, "floor"), "it does not come to rest there")
    event.weight = 1.4 if springy else 1.0


def bounce(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    """Hops in its place, each lower than the one before."""
    box = scene.box(id)
    up = min(max(box.top - FRAME_MARGIN, 0.05), 0.2)
    path: list[tuple[float, float, float, float]] = [(0.0, 0.0, 0.0, 0.0)]
    durations = [HIGH_BOUNCE ** (k / 2) for k in range(4)]
    clock = 0.0
    for k, lasting in enumerate(durations):
        for step in range(1, 11):
            s = step / 10
            at = (clock + s * lasting) / sum(durations)
            path.append((round(at, 5), 0.0, round(-up * HIGH_BOUNCE**k * 4 * s * (1 - s), 5), 0.0))
        clock += lasting
    path[-1] = (1.0, 0.0, 0.0, 0.0)
    event.change(
        id, "after its hops", "what is springy comes up again, less each time",
        Update(id, "configuration", "having bounced"),
    )  # fmt: skip
    event.motions[id] = motion(id, "trajectory", path=tuple(path))


def onto(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    """Onto the target: over it, then down, and it must come to rest there."""
    if clause.target is None:
        fall(scene, event, clause, id)
        return
    target = scene.find(clause.target)
    box = scene.box(id)
    there = scene.boxes.get(target)
    x = there.centre[0] if there is not None and there.width < 2.5 * box.width else box.centre[0]
    if there is not None:
        x = min(max(x, there.left), there.right)
    y = scene.surface(target, x)
    relation = "containment" if clause.relation in ("into", "in", "inside") else "support"
    event.change(
        id, "on top of it", "what is let down rests on what holds it",
        *scene.let_go(id, target), Link(target, relation, id), Update(id, "configuration", "set down"),
    )  # fmt: skip
    rise_by = max(0.06, box.bottom - y + 0.05)
    shift = x - box.centre[0], y - box.bottom
    event.motions[id] = travels(id, "projectile", *shift, rise=min(rise_by, 1.0))


def off_edge(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    """Along its ground to the ground's edge, over it, and out of the frame below."""
    assert clause.source is not None
    ground = scene.find(clause.source)
    box = scene.box(id)
    edge = scene.boxes.get(ground)
    left = clause.direction == "left" or (not clause.direction and box.centre[0] <= scene.width / 2)
    stop = (edge.left if left else edge.right) if edge is not None else (0.0 if left else scene.width)
    ahead = abs(stop - box.centre[0])
    way = -1.0 if left else 1.0
    floor = Floor(y=box.bottom, left=stop if left else -4.0, right=8.0 if left else stop)
    speed = max(PUSH_SPEED, ahead * 1.2)
    bodies = {id: body_of(scene, id, velocity=(way * speed, 0.0), friction=0.05, elasticity=0.0)}
    made = simulate(bodies, floor=floor, seconds=3.0)
    path = _until_gone(made.paths[id], 1.0 - box.top + FRAME_MARGIN, box, scene.width)
    gone = path[-1][2] > 0.1 or abs(path[-1][1]) > ahead
    event.change(
        id, "over the edge and gone", "without its ground it falls", Consume(id),
    )  # fmt: skip
    shift = way * (ahead + box.width), 1.0 - box.top + FRAME_MARGIN
    planned = travels(id, "projectile", *shift, level=0.5)
    made = Simulated(paths={id: path}, touching=made.touching, seconds=made.seconds)
    _take(scene, event, made, {id: planned}, gone, "it stays on the edge")
    event.weight = 1.3


def _until_gone(
    path: tuple[tuple[float, float, float, float], ...], below: float, box: object, width: float
) -> tuple[tuple[float, float, float, float], ...]:
    """The part of a path until the object has left the frame, stretched over the event."""
    left, right = getattr(box, "left"), getattr(box, "right")  # noqa: B009
    last = next(
        (i for i, (_, dx, dy, _) in enumerate(path) if dy > below or right + dx < 0 or left + dx > width),
        len(path) - 1,
    )
    last = max(last, 2)
    end = path[last][0]
    kept = [(round(t / end, 5), x, y, angle) for t, x, y, angle in path[: last + 1]]
    kept[-1] = (1.0, *kept[-1][1:])
    return tuple(kept)


def tip(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    """Over its foot onto its side; a neighbour in the way stops it."""
    box = scene.box(id)
    side = clause.direction if clause.direction in ("left", "right") else _free_side(scene, id)
    way = -1.0 if side == "left" else 1.0
    event.change(
        id, f"lying on its {side} side", "a push beyond its foot lets gravity turn it over",
        Update(id, "configuration", f"tipped over to the {side}"),
    )  # fmt: skip
    around = {other: body_of(scene, other, moves=False) for other in _neighbours(scene, id, side)}
    for harder in (1.1, 1.3, 1.6, 2.0):
        push = harder * _push_over(box.width, box.height)
        away = (way * push * box.height / 2, -push * box.width / 2)  # about its lower corner
        turning = way * math.degrees(push)
        tipping = body_of(scene, id, velocity=away, spin=turning, friction=1.5, elasticity=0.02)
        made = simulate({id: tipping, **around}, floor=Floor(y=box.bottom), seconds=3.0)
        over = 60.0 < abs(made.turned(id)) < 130.0 and (made.turned(id) > 0) == (way > 0)
        if over:
            break
    planned = motion(id, "tip", angle=90.0 * way)
    _take(scene, event, made, {id: planned}, over, f"it turns by {made.turned(id):.0f} degrees")


def _push_over(width: float, height: float) -> float:
    """Radians a second about its lower corner that just bring a box over it."""
    lift = math.hypot(width, height) / 2 - height / 2
    return math.sqrt(6 * GRAVITY * lift / (width * width + height * height))


def _free_side(scene: Scene, id: str) -> str:
    box = scene.box(id)
    room = scene.width - box.right
    return "right" if room >= box.height * 0.6 or room >= box.left else "left"


def _neighbours(scene: Scene, id: str, side: str) -> list[str]:
    """Things on the side to which it falls that stand as it does: what is far behind is not hit."""
    box = scene.box(id)
    found = []
    for other, there in scene.boxes.items():
        beside = there.left > box.centre[0] if side == "right" else there.right < box.centre[0]
        level = abs(there.bottom - box.bottom) < 0.08
        if other != id and beside and level and other not in scene.carried(id):
            found.append(other)
    return found


def knock(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    """Into the target, which falls over, both by one simulation."""
    if clause.target is None:
        tip(scene, event, clause, id)
        return
    target = scene.find(clause.target)
    here, there = scene.box(id), scene.box(target)
    way = 1.0 if there.centre[0] > here.centre[0] else -1.0
    side = "right" if way > 0 else "left"
    event.change(
        id, "against it", "a moving thing hands its push on to what it meets",
        *scene.let_go(id, target), Link(id, "contact", target),
        Update(id, "configuration", f"moved to the {side}"),
    )  # fmt: skip
    event.change(
        target, f"lying on its {side} side", "a blow above its foot turns it over",
        Update(target, "configuration", f"tipped over to the {side}"),
    )  # fmt: skip
    gap = (there.left - here.right) if way > 0 else (here.left - there.right)
    speed = max(1.2, 1.5 * gap + 0.8)
    lift = here.bottom - there.bottom  # things at other depths stand on one line here
    outline = tuple((x, y + lift) for x, y in body_of(scene, target).outline)
    hit = Body(outline=outline, friction=1.1, elasticity=0.1)
    for harder in (1.0, 1.6, 2.4, 3.6):
        runner = body_of(scene, id, velocity=(way * speed * harder, 0.0), friction=0.25, elasticity=0.2)
        made = simulate({id: runner, target: hit}, floor=Floor(y=here.bottom), seconds=4.0)
        over = 50.0 < abs(made.turned(target)) < 135.0
        if over:
            break
    planned = {
        id: travels(id, "decelerating", way * max(gap, 0.0), 0.0, ends=0.45),
        target: motion(target, "tip", angle=90.0 * way, begins=0.4),
    }
    _take(scene, event, made, planned, over, f"it turns by {made.turned(target):.0f} degrees and stands")
    event.weight = 1.5


def _take(
    scene: Scene, event: Event, made: Simulated, planned: dict[str, Motion], agrees: bool, otherwise: str
) -> None:
    """The simulation's way where it ends as planned, else the plan's own law and a note with both."""
    for id, law in planned.items():
        event.motions[id] = by_simulation(made.paths[id], id) if agrees else law
    if not agrees:
        event.simulated |= {id: by_simulation(made.paths[id], id) for id in planned}
        names = " and ".join(f"the {scene.graph.node(id).category}" for id in planned)
        _, dx, dy, angle = made.paths[next(iter(planned))][-1]
        scene.notes.append(
            f"The simulation contradicts the plan for {names}: {otherwise} (it ends {dx:+.2f} right, "
            f"{dy:+.2f} down, {angle:+.0f} degrees). The plan's own law is drawn."
        )
