"""What a picture is made of, whatever it is written as: rectangles, lines and text, in CSS pixels."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0
    radius: float = 0.0
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    points: tuple[Point, ...]
    stroke: str
    width: float = 1.0
    dash: tuple[float, float] | None = None
    arrow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One line of text; `y` is its baseline, `x` its start, or its middle when `centred`."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    bold: bool = False
    centred: bool = False
    struck: bool = False


Shape = Rect | Line | Text


@dataclass(slots=True)
class Picture:
    width: float
    height: float
    title: str
    background: str = "#ffffff"
    shapes: list[Shape] = field(default_factory=list)


@lru_cache(maxsize=64)
def font(size: float) -> Any:
    """Pillow's built-in outline font: no file of ours, none of the system's."""
    from PIL import ImageFont

    return ImageFont.load_default(size)


@lru_cache(maxsize=20_000)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Measured with the PNG's font; the SVG's may be a little wider, hence the few percent more."""
    return float(font(size).getlength(text)) * (1.09 if bold else 1.04)


def wrap(text: str, size: float, width: float, bold: bool = False) -> list[str]:
    """Lines of at most `width`; a word that is longer by itself is broken."""
    lines: list[str] = []
    line = ""
    most = _most(size, width)
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if len(joined) <= most and text_width(joined, size, bold) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *broken, line = _break(word, size, width, bold)
        lines += broken
    return [*lines, line] if line else lines


def fitting(text: str, size: float, width: float, bold: bool = False) -> int:
    """How many of the first characters fit. Long texts are not measured beyond what could fit at all."""
    return (
        bisect_right(
            range(min(len(text), _most(size, width)) + 1),
            width,
            key=lambda count: text_width(text[:count], size, bold),
        )
        - 1
    )


def _most(size: float, width: float) -> int:
    """No character is narrower than a sixth of its height."""
    return int(6 * width / size) + 1


def _break(word: str, size: float, width: float, bold: bool) -> list[str]:
    pieces = []
    while (cut := max(1, fitting(word, size, width, bold))) < len(word):
        pieces.append(word[:cut])
        word = word[cut:]
    return [*pieces, word]
