"""A picture as PNG, drawn with Pillow at twice the size, so that small text stays legible."""

from __future__ import annotations

import math
import os
import unicodedata
from itertools import pairwise
from typing import Any

from physplan.drawing.shapes import Line, Picture, Point, Rect, Text, font
from physplan.drawing.svg import arrow_head

_MAX_PIXELS = 60_000_000


def save_png(picture: Picture, path: str | os.PathLike[str]) -> None:
    from PIL import Image, ImageDraw

    from physplan.files import atomic_path

    scale = min(2.0, math.sqrt(_MAX_PIXELS / (picture.width * picture.height)))
    size = (math.ceil(picture.width * scale), math.ceil(picture.height * scale))
    image = Image.new("RGB", size, picture.background)
    draw = ImageDraw.Draw(image)
    for shape in picture.shapes:
        if isinstance(shape, Rect):
            _rect(draw, shape, scale)
        elif isinstance(shape, Line):
            _line(draw, shape, scale)
        else:
            _text(draw, shape, scale)
    with atomic_path(path) as temporary:
        image.save(temporary, format="PNG", optimize=True)


def latin(text: str) -> str:
    """The text in the characters of Pillow's built-in font: accents dropped, others as question marks."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return "".join(c if c.isprintable() and (c.isascii() or c in "·’“”…") else "?" for c in plain)


def _rect(draw: Any, rect: Rect, scale: float) -> None:
    left, top = rect.x * scale, rect.y * scale
    right, bottom = left + rect.width * scale, top + rect.height * scale
    outline = None if rect.dashed else rect.stroke
    width = max(1, round(rect.stroke_width * scale))
    draw.rounded_rectangle((left, top, right, bottom), rect.radius * scale, rect.fill, outline, width)
    if rect.dashed and rect.stroke:
        corners = ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))
        _dashed(draw, corners, rect.stroke, width, (5 * scale, 4 * scale))


def _line(draw: Any, line: Line, scale: float) -> None:
    points = tuple((x * scale, y * scale) for x, y in line.points)
    width = max(1, round(line.width * scale))
    if line.dash:
        _dashed(draw, points, line.stroke, width, (line.dash[0] * scale, line.dash[1] * scale))
    else:
        draw.line(points, line.stroke, width, joint="curve")
    if line.arrow:
        draw.polygon([(x * scale, y * scale) for x, y in arrow_head(line)], fill=line.stroke)


def _dashed(draw: Any, points: tuple[Point, ...], stroke: str, width: int, dash: tuple[float, float]) -> None:
    on, off = dash
    for (x0, y0), (x1, y1) in pairwise(points):
        length = math.hypot(x1 - x0, y1 - y0)
        start = 0.0
        while start < length:
            a, b = start / length, min(start + on, length) / length
            ends = (x0 + (x1 - x0) * a, y0 + (y1 - y0) * a, x0 + (x1 - x0) * b, y0 + (y1 - y0) * b)
            draw.line(ends, stroke, width)
            start += on + off


def _text(draw: Any, text: Text, scale: float) -> None:
    face = font(text.size * scale)
    printable = latin(text.text)
    length = face.getlength(printable)
    left = text.x * scale - (length / 2 if text.centred else 0)
    bold = 0.013 * text.size * scale if text.bold else 0  # the built-in font has one weight
    draw.text((left, text.y * scale), printable, text.fill, face, anchor="ls", stroke_width=bold)
    if text.struck:
        middle = (text.y - 0.3 * text.size) * scale
        draw.line((left, middle, left + length, middle), text.fill, max(1, round(scale)))
