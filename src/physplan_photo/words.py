"""The detector's 80 classes (COCO) and the everyday words for them."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import yaml

_DATA: dict[str, Any] = yaml.safe_load(
    resources.files(__package__).joinpath("words.yaml").read_text(encoding="utf-8")
)
CLASSES = tuple[str, ...](_DATA["classes"])
_SYNONYMS: dict[str, str] = _DATA["synonyms"]


def _table() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {name: [name] for name in CLASSES}
    for name, words in _SYNONYMS.items():
        for word in words.split():
            found.setdefault(word.replace("-", " "), []).append(name)
    return {word: tuple(names) for word, names in found.items()}


WORDS = _table()
_IRREGULAR: dict[str, str] = _DATA["irregular"]
_PLACES = {word: place for place, words in _DATA["places"].items() for word in words.split()}


def singular(word: str) -> str:
    """One of many, "kittens" -> "kitten": as far as the classes need it."""
    word = _IRREGULAR.get(word, word)
    if word in WORDS or not word.endswith("s"):
        return word
    options = (word[:-1], word[:-2], word[:-3] + "y", word[:-3] + "fe")
    return next((option for option in options if option in WORDS), word)


def classes_of(name: str) -> tuple[str, ...]:
    """The classes that a noun phrase may mean, by its longest known ending; () where it is none.

    "the big red fire hydrant" is a fire hydrant, "coffee cup" a cup, "cup of tea" a cup.
    """
    words = re.findall(r"[a-z]+", name.lower())
    if "of" in words:
        words = words[: words.index("of")]
    words = [word for word in words if word not in ("one", "ones")]
    for start in range(len(words)):
        phrase = " ".join([*words[start:-1], singular(words[-1])])
        if phrase in WORDS:
            return WORDS[phrase]
    return ()


def place_of(name: str) -> str:
    """Which of several is meant: left, right, top, bottom, middle, largest, smallest, second, third or ""."""
    return next((_PLACES[word] for word in re.findall(r"[a-z]+", name.lower()) if word in _PLACES), "")
