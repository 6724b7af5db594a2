"""A picture as SVG, written by hand."""

from __future__ import annotations

import math
from html import escape

from physplan.drawing.shapes import Line, Picture, Point, Rect, Shape, Text, text_width

_FONT = "'Inter','Helvetica Neue',Helvetica,Arial,'Liberation Sans',sans-serif"
_DRAWN = 0.94  # of the room kept for a text: there Helvetica and its like keep their shape


def to_svg(picture: Picture) -> str:
    width, height = f"{picture.width:g}", f"{picture.height:g}"
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    body = "\n".join(_shape(shape) for shape in picture.shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_FONT}">\n'
        f"<title>{_text(picture.title)}</title>\n"
        f'<rect width="100%" height="100%" fill="{picture.background}"/>\n{body}\n</svg>\n'
    )


def _shape(shape: Shape) -> str:
    if isinstance(shape, Rect):
        return _rect(shape)
    return _line(shape) if isinstance(shape, Line) else _label(shape)


def _rect(rect: Rect) -> str:
    place = (
        f'x="{rect.x:g}" y="{rect.y:g}" width="{rect.width:g}" height="{rect.height:g}" rx="{rect.radius:g}"'
    )
    stroke = f' stroke="{rect.stroke}" stroke-width="{rect.stroke_width:g}"' if rect.stroke else ""
    dash = ' stroke-dasharray="5 4"' if rect.dashed else ""
    return f'<rect {place} fill="{rect.fill or "none"}"{stroke}{dash}/>'


def _line(line: Line) -> str:
    points = " ".join(f"{x:g},{y:g}" for x, y in line.points)
    dash = f' stroke-dasharray="{line.dash[0]:g} {line.dash[1]:g}"' if line.dash else ""
    style = f'stroke="{line.stroke}" stroke-width="{line.width:g}" stroke-linejoin="round"'
    drawn = f'<polyline points="{points}" fill="none" {style}{dash}/>'
    if line.arrow:
        head = " ".join(f"{x:g},{y:g}" for x, y in arrow_head(line))
        drawn += f'<polygon points="{head}" fill="{line.stroke}"/>'
    return drawn


def arrow_head(line: Line) -> tuple[Point, Point, Point]:
    """A triangle at the end of the line, along its last piece."""
    (x0, y0), (x1, y1) = line.points[-2:]
    angle = math.atan2(y1 - y0, x1 - x0)
    length, half = 6.0 + line.width, 3.0 + 0.5 * line.width
    bx, by = x1 - length * math.cos(angle), y1 - length * math.sin(angle)
    dx, dy = half * math.sin(angle), half * math.cos(angle)
    return (x1, y1), (bx - dx, by + dy), (bx + dx, by - dy)


def _label(text: Text) -> str:
    """As wide as it was laid out, whichever of the fonts there is: some are a third wider in bold."""
    anchor = ' text-anchor="middle"' if text.centred else ""
    weight = ' font-weight="600"' if text.bold else ""
    struck = ' text-decoration="line-through"' if text.struck else ""
    style = f'font-size="{text.size:g}" fill="{text.fill}"{anchor}{weight}{struck}'
    width = _DRAWN * text_width(text.text, text.size, text.bold)
    fixed = f'textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{text.x:g}" y="{text.y:g}" {fixed} {style}>{_text(text.text)}</text>'


def _text(text: str) -> str:
    """XML allows no control characters, even escaped."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))
