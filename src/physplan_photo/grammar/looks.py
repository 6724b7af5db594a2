"""Verbs that turn an object in its place, change its size or its look, or let something come from it."""

from __future__ import annotations

import math
from collections.abc import Callable

from physplan.graph import Consume, Link, motion
from physplan_photo.grammar.clauses import Clause
from physplan_photo.grammar.scene import Event, Scene, Update

PATH_STEPS = 36


def swing(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    """A pendulum about the middle of the object's upper edge, two and a half times to and fro."""
    box = scene.box(id)
    reach, widest = box.height / 2, 14.0
    path = []
    for k in range(PATH_STEPS + 1):
        u = k / PATH_STEPS
        angle = widest * math.sin(2 * math.pi * 2.5 * u) * (1 - u) ** 0.6
        turned = math.radians(angle)
        path.append(
            (
                round(u, 5),
                round(-reach * math.sin(turned), 5),
                round(reach * (math.cos(turned) - 1), 5),
                round(angle, 3),
            )
        )
    event.change(
        id, "swinging to rest", "what hangs swings about where it is held",
        Update(id, "configuration", "hanging after a swing"),
    )  # fmt: skip
    event.motions[id] = motion(id, "trajectory", path=_tidied(path))


def shake(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    path = []
    for k in range(2 * PATH_STEPS + 1):
        u = k / (2 * PATH_STEPS)
        hard = math.sin(math.pi * u)
        path.append(
            (
                round(u, 5),
                round(0.006 * hard * math.sin(38 * math.pi * u), 5),
                0.0,
                round(2.0 * hard * math.sin(30 * math.pi * u), 3),
            )
        )
    event.change(id, "after a tremor", "a push to and fro dies away", Update(id, "configuration", "shaken"))
    event.motions[id] = motion(id, "trajectory", path=_tidied(path))


def _tidied(path: list[tuple[float, float, float, float]]) -> tuple[tuple[float, float, float, float], ...]:
    """From its place back to its place."""
    return ((0.0, 0.0, 0.0, 0.0), *path[1:-1], (1.0, 0.0, 0.0, 0.0))


def spin(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    way = -1.0 if clause.direction == "left" else 1.0
    met = [edge for edge in scene.graph.edges_of(id) if edge.r == "contact"]
    turning = [event.motions[o] for edge in met for o in (edge.a, edge.b) if o in event.motions]
    if (wheel := next((one for one in turning if one.law == "spin"), None)) is not None:
        way = -math.copysign(1.0, wheel.number("angle"))  # wheels that touch turn against each other
    event.change(id, "turned", "a twist turns it about its middle", Update(id, "configuration", "spun round"))
    event.motions[id] = motion(id, "spin", angle=360.0 * way)


def lean(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    _turned(scene, event, clause, id, "leaning", 18.0)


def bend(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    side = clause.direction if clause.direction in ("left", "right") else "right"
    event.change(
        id, f"bent to the {side}", "a push bends what is held at its foot",
        Update(id, "configuration", f"bent to the {side}"),
    )  # fmt: skip


def _turned(scene: Scene, event: Event, clause: Clause, id: str, word: str, angle: float) -> None:
    side = clause.direction if clause.direction in ("left", "right") else "right"
    event.change(
        id, f"{word} to the {side}", "a push tilts it about its foot",
        Update(id, "configuration", f"{word} to the {side}"),
    )  # fmt: skip
    event.motions[id] = motion(id, "tip", angle=-angle if side == "left" else angle, speed=0.5)


def grow(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    box = scene.box(id)
    scale = min(1.5, max(1.15, 0.95 / box.height))
    event.change(id, "larger", "what is filled takes more room", Update(id, "extent", "large"))
    event.motions[id] = motion(id, "grow", scale=round(scale, 3))


def shrink(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    event.change(id, "smaller", "what is emptied takes less room", Update(id, "extent", "small"))
    event.motions[id] = motion(id, "shrink", scale=0.55)


def melt(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    event.change(
        id, "mostly melted", "warmth turns a solid into a liquid that runs down",
        Update(id, "material_phase", "partially melted"), Update(id, "extent", "small"),
    )  # fmt: skip
    event.motions[id] = motion(id, "shrink", scale=0.5)
    puddle = scene.spawn(event, id, "puddle", "warmth turns a solid into a liquid", material_phase="liquid")
    _held(scene, event, id, puddle)
    event.motions[puddle] = motion(puddle, "spread", begins=0.2)


def _held(scene: Scene, event: Event, id: str, new: str) -> None:
    """A new thing lies where the object that it comes from stands."""
    ground = next((a for a, r in scene.holders(id) if r == "support"), None)
    if ground is not None:
        event.edits.append(Link(ground, "support", new))


def burst(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    event.change(id, "burst", "a skin that is stretched too far tears at once", Consume(id))
    event.motions[id] = motion(id, "fade", ends=0.05)
    dust = scene.spawn(event, id, "dust", "what tears scatters", material_phase="gas")
    event.motions[dust] = motion(dust, "fade", ends=0.1)
    event.weight = 0.5


def break_(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    cracked = clause.said.startswith("crack")
    word = "cracked" if cracked else "shattered into pieces"
    event.change(id, word, "a brittle thing breaks under a blow", Update(id, "integrity", word))
    event.motions[id] = motion(id, "fade", ends=0.8 if cracked else 1.0)


def vanish(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    event.change(id, "gone", "it fades from view", Consume(id))
    event.motions[id] = motion(id, "fade")


def _look(scene: Scene, event: Event, id: str, key: str, word: str, rule: str) -> None:
    event.change(id, word, rule, Update(id, key, word))
    event.motions[id] = motion(id, "fade")


def _wearing(key: str, word: str, rule: str) -> Callable[[Scene, Event, Clause, str], None]:
    """A verb that changes one attribute, and no more."""
    return lambda scene, event, clause, id: _look(scene, event, id, key, word, rule)


split = _wearing("integrity", "split in two", "a cut parts it")
freeze = _wearing("surface", "frosted", "moisture freezes on what is cold")
wet = _wearing("surface", "wet", "water darkens what it soaks")
rust = _wearing("surface", "rusted", "iron rusts in moist air")
darken = _wearing("color", "dark", "without power there is no light")
light = _wearing("color", "glowing", "a current makes it shine")


def burn(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    _look(scene, event, id, "surface", "charred", "fire leaves char behind")
    _rising(scene, event, id, "smoke", "what burns gives off smoke")


def ignite(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    _look(scene, event, id, "surface", "charred", "fire leaves char behind")
    flame = scene.spawn(event, id, "flame", "what is hot enough takes fire", material_phase="gas")
    event.edits.append(Link(id, "attachment", flame))
    event.motions[flame] = motion(flame, "grow", ends=0.6)
    _rising(scene, event, id, "smoke", "what burns gives off smoke")


def smoke(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    name = "steam" if clause.said.startswith("steam") else "smoke"
    event.change(
        id, f"giving off {name}", "what is hot gives off vapour", Update(id, "surface", f"giving off {name}")
    )
    _rising(scene, event, id, name, "what is hot gives off vapour")


def _rising(scene: Scene, event: Event, id: str, name: str, rule: str) -> str:
    new = scene.spawn(event, id, name, rule, material_phase="gas")
    event.edits.append(Link(new, "above", id))
    event.motions[new] = motion(new, "fade", ends=0.3)
    return new


def exhaust(scene: Scene, event: Event, id: str) -> None:
    """A rocket's flame goes with it."""
    flame = scene.spawn(event, id, "flame", "burning gas drives it up", material_phase="gas")
    if id in scene.graph and not any(isinstance(e, Consume) and e.o == id for e in event.edits):
        event.edits.append(Link(id, "attachment", flame))
    event.motions[flame] = motion(flame, "fade", ends=0.3)


def colour(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    _look(scene, event, id, "color", clause.value or "red", "its colour changes")


def spill(scene: Scene, event: Event, clause: Clause, id: str) -> None:
    name = clause.value or ("coffee" if "coffee" in scene.graph.node(id).category else "water")
    event.change(id, f"losing {name}", "a liquid runs out and down", Update(id, "surface", "wet"))
    pool = scene.spawn(event, id, name, "a liquid spreads where it lands", material_phase="liquid")
    target = scene.find(clause.target) if clause.target is not None else None
    if target is not None and clause.relation in ("into", "in", "inside"):
        event.edits.append(Link(target, "containment", pool))
        event.motions[pool] = motion(pool, "pour", way="up")
        return
    if target is not None:
        event.edits.append(Link(target, "support", pool))
    else:
        _held(scene, event, id, pool)
    event.motions[pool] = motion(pool, "spread")
