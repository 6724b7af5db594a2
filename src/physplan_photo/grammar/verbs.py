"""The verbs that the grammar knows: what each is called, how it is said, and what it does to the plan.

`docs/photo.md` shows this table; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """`says`: phrases in the base form; words after the first may also stand after the object."""

    name: str
    says: tuple[str, ...]
    does: str
    example: str


def _verb(name: str, says: str, does: str, example: str) -> Verb:
    return Verb(name=name, says=tuple(says.split(", ")), does=does, example=example)


_VERBS = (
    _verb(
        "rise",
        "rise, ascend, go up, move up, float up, fly up, lift off, take off, launch, blast off, climb",
        "up, faster and faster; out of the frame with `away`, `takes off`",
        "the rocket rises",
    ),
    _verb(
        "fall",
        "fall, drop, plummet, fall down, come down",
        "down onto the target, by simulation",
        "the ball falls onto the table",
    ),
    _verb(
        "bounce", "bounce, hop", "up and down, lower each time", "the ball falls onto the table and bounces"
    ),
    _verb(
        "jump",
        "jump, leap, jump up",
        "a parabola; onto the target where one is named",
        "the cat jumps onto the table",
    ),
    _verb(
        "move",
        "move, slide, drive, walk, run, go, glide, fly, float, crawl, travel, ride, sail, drift, leave",
        "to the left or right; `off`, `away`: out of the frame; `off the table`: over its edge",
        "the car drives off to the left",
    ),
    _verb("roll", "roll", "as move, turned by way over radius", "the ball rolls to the right"),
    _verb(
        "tip",
        "tip over, tip, fall over, topple, topple over, keel over, turn over, fall on",
        "turned about its foot, by simulation where it stands on or beside something",
        "the cup tips over",
    ),
    _verb(
        "knock",
        "knock over, knock down, hit, push over, bump into, crash into",
        "runs into the target, which falls over, by simulation",
        "the ball knocks the bottle over",
    ),
    _verb(
        "land",
        "land on, land, settle on, stack, stack on, come to rest",
        "onto the target, by simulation",
        "the box lands on the crate",
    ),
    _verb(
        "drift",
        "drift down, flutter down, float down, sail down, flutter",
        "down, to and fro",
        "the leaf drifts down",
    ),
    _verb("swing", "swing, sway, rock", "about its top, to and fro", "the lamp swings"),
    _verb(
        "shake", "shake, tremble, vibrate, wobble, rattle", "a quick tremor in its place", "the cup shakes"
    ),
    _verb("spin", "spin, rotate, turn around, whirl, twirl", "about its middle", "the wheel spins"),
    _verb("lean", "lean, tilt", "turned a little about its foot", "the bottle leans to the left"),
    _verb("bend", "bend, bow, droop", "bent over its foot", "the flower bends to the right"),
    _verb(
        "grow",
        "grow, inflate, swell, expand, get bigger, puff up",
        "half again as large",
        "the balloon grows",
    ),
    _verb("shrink", "shrink, deflate, contract, get smaller", "about half as large", "the balloon shrinks"),
    _verb("melt", "melt, melt away, thaw", "shrinks; a puddle spreads under it", "the ice melts"),
    _verb(
        "burst",
        "burst, pop, explode, blow up",
        "gone at once, with dust in its place",
        "the balloon grows and bursts",
    ),
    _verb(
        "break",
        "break, shatter, smash, crack, fall apart, crumble, break apart",
        "its integrity: cracked or in pieces",
        "the cup breaks",
    ),
    _verb("split", "split, come apart", "in two halves", "the apple splits in two"),
    _verb("vanish", "vanish, disappear, fade, fade away, dissolve, evaporate", "fades", "the cat disappears"),
    _verb("burn", "burn, char, scorch, burn down", "charred, with smoke", "the paper burns"),
    _verb(
        "ignite",
        "catch fire, ignite, burst into flames, go up in flames",
        "flames on it",
        "the boat catches fire",
    ),
    _verb("smoke", "smoke, steam", "smoke or steam rises from it", "the cup steams"),
    _verb("freeze", "freeze, freeze over, frost over, ice over", "frosted", "the car freezes over"),
    _verb("wet", "get wet, become wet, soak, get soaked, drench", "wet", "the cat gets wet"),
    _verb(
        "spill", "spill, leak, overflow, pour", "a liquid spreads under it", "the cup tips over and spills"
    ),
    _verb("darken", "go out, go dark, turn off, switch off, dim", "dark", "the lamp goes out"),
    _verb("light", "light up, turn on, switch on, glow", "bright", "the lamp lights up"),
    _verb("rust", "rust", "rusted", "the car rusts"),
    _verb("colour", "turn, become, change to, change into", "another colour", "the car turns red"),
)
VERBS: dict[str, Verb] = {verb.name: verb for verb in _VERBS}
# Phrases, the longest first: "fall over" is not "fall".
PHRASES: tuple[tuple[tuple[str, ...], Verb], ...] = tuple(
    sorted(
        ((tuple(phrase.split()), verb) for verb in _VERBS for phrase in verb.says),
        key=lambda entry: -len(entry[0]),
    )
)
