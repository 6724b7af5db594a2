"""English words: forms of a verb, articles, directions, colours, and what the ground is called."""

from __future__ import annotations

import re
from functools import cache


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ARTICLES = _set("a an the this that these those its his her their my our your some one")
FILLERS = _set(
    "is are was were be been being will would can may starts start started begins begin began to suddenly "
    "slowly quickly gently softly gradually soon now just finally completely all both each it they he she "
    "also gets get again very"
)
NEGATIONS = frozenset({"not", "no", "never", "without", "don't", "doesn't", "isn't", "won't", "cannot"})
PICKS = {
    "left": "left", "leftmost": "left", "right": "right", "rightmost": "right", "largest": "largest",
    "biggest": "largest", "bigger": "largest", "larger": "largest", "smallest": "smallest",
    "smaller": "smallest", "upper": "top", "topmost": "top", "top": "top", "lower": "bottom",
    "bottom": "bottom", "middle": "middle", "central": "middle",
}  # fmt: skip
DIRECTIONS = {
    "left": "left", "leftward": "left", "leftwards": "left", "right": "right", "rightward": "right",
    "rightwards": "right", "up": "up", "upward": "up", "upwards": "up", "down": "down", "downward": "down",
    "downwards": "down",
}  # fmt: skip
SIDES = frozenset({"side", "edge", "one", "hand"})  # "to the left side"
PREPOSITIONS = _set(
    "onto on upon into in inside off from over against to toward towards out away across at with through "
    "behind beside under of up down along past"
)
FRAME = _set("frame picture image photo photograph view sight screen")
COLOURS = _set("red green blue yellow orange purple pink brown black white grey gray golden gold silver cyan")
# What an object may stand on without having been found: it has no outline of its own.
GROUNDS = _set(
    "table desk floor ground grass lawn road street pavement shelf counter bench water sea lake river snow "
    "sand carpet tray plate earth wall"
)
LIQUIDS = _set("water coffee tea milk juice wine oil beer soup paint liquid")
_IRREGULAR = {
    "rise": ("rose", "risen"), "fall": ("fell", "fallen"), "go": ("goes", "went", "gone"),
    "drive": ("drove", "driven"), "break": ("broke", "broken"), "burst": ("burst",), "catch": ("caught",),
    "freeze": ("froze", "frozen"), "get": ("got", "gotten"), "swing": ("swung",), "bend": ("bent",),
    "spin": ("spun",), "fly": ("flew", "flown"), "shrink": ("shrank", "shrunk"), "grow": ("grew", "grown"),
    "light": ("lit",), "blow": ("blew", "blown"), "run": ("ran",), "sink": ("sank", "sunk"),
    "split": ("split",), "spill": ("spilt",), "burn": ("burnt",), "come": ("came",),
    "take": ("took", "taken"),
    "shake": ("shook", "shaken"), "leave": ("left",), "hit": ("hit",), "become": ("became",),
    "slide": ("slid",), "swell": ("swollen",), "set": ("set",), "lean": ("leant",), "leap": ("leapt",),
}  # fmt: skip
_DOUBLED = _set("tip drop spin stop pop hop run get swim chop dim snap flip drip knit hit set")


@cache
def forms(verb: str) -> frozenset[str]:
    """Every form of a verb that a sentence may hold."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        regular = {f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"}
    elif verb.endswith("e"):
        regular = {f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"}
    else:
        stem = verb + verb[-1] if verb in _DOUBLED else verb
        plural = "es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s"
        regular = {f"{verb}{plural}", f"{stem}ed", f"{stem}ing"}
    return frozenset({verb, *regular, *_IRREGULAR.get(verb, ())})


def tokens(text: str) -> list[str]:
    return re.findall(r"[a-z]+(?:[-'][a-z]+)*", text.lower().replace("’", "'"))
