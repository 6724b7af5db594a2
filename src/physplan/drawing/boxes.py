"""One card of the picture: a box in the colour of what happened to its object."""

from __future__ import annotations

from dataclasses import dataclass

from physplan.drawing.cards import Card, Mark
from physplan.drawing.paths import draw_path
from physplan.drawing.shapes import Rect, Shape, Text, fitting, text_width, wrap

CARD_WIDTH = 236.0  # width of a card
CARD_PAD = 11.0
PATH_HEIGHT = 24.0  # height of the line that shows how the object moves
BODY, SMALL, TITLE = 13.0, 12.0, 15.0

INK, MUTED, FAINT = "#1f2937", "#6b7280", "#a3abb8"
GREEN, RED, AMBER, SLATE = "#15803d", "#b91c1c", "#b45309", "#475569"


@dataclass(frozen=True, slots=True)
class Look:
    border: str
    fill: str
    title: str
    change: str
    width: float = 1.2
    dashed: bool = False


LOOKS = {
    Mark.FIRST: Look("#94a3b8", "#ffffff", INK, INK),
    Mark.SAME: Look("#e5e8ee", "#fafbfc", FAINT, FAINT),
    Mark.CHANGED: Look("#d97706", "#fff8eb", INK, AMBER, 2.0),
    Mark.NEW: Look("#16a34a", "#effcf3", INK, GREEN, 2.0),
    Mark.GONE: Look("#dc2626", "#fef4f4", MUTED, RED, 1.6, dashed=True),
}


def _card_lines(card: Card) -> list[tuple[str, float, str, bool]]:
    """The lines under a card's title: text, size, colour, bold."""
    look = LOOKS[card.mark]
    inner = CARD_WIDTH - 2 * CARD_PAD
    lines: list[tuple[str, float, str, bool]] = []
    for change, was in card.changes:
        lines += [(line, BODY, look.change, True) for line in wrap(change, BODY, inner, bold=True)]
        lines += [(line, SMALL, MUTED, False) for line in wrap(was or "", SMALL, inner)]
    for fact in card.facts:
        lines += [(line, SMALL, MUTED, False) for line in wrap(fact, SMALL, inner)]
    return lines


def card_height(card: Card) -> float:
    lines = len(_card_lines(card))
    return 20 + CARD_PAD + 17 * lines + (4 if lines else 0) + (PATH_HEIGHT if card.motion else 0)


def draw_card(card: Card, left: float, top: float) -> list[Shape]:
    look = LOOKS[card.mark]
    shapes: list[Shape] = [
        Rect(
            x=left, y=top, width=CARD_WIDTH, height=card_height(card), fill=look.fill, stroke=look.border,
            stroke_width=look.width, radius=7, dashed=look.dashed,
        )
    ]  # fmt: skip
    text_x = left + CARD_PAD
    title = _fit(card.id, TITLE, CARD_WIDTH - 2 * CARD_PAD, bold=True)
    struck = card.mark is Mark.GONE
    baseline = top + 20
    shapes.append(
        Text(x=text_x, y=baseline, text=title, size=TITLE, fill=look.title, bold=True, struck=struck)
    )
    used = text_width(title, TITLE, bold=True)
    if card.category != card.id.rpartition("#")[0]:
        category = _fit(card.category, SMALL, CARD_WIDTH - 2 * CARD_PAD - used - 8)
        fill = look.title if card.mark is Mark.SAME else MUTED
        shapes.append(Text(x=text_x + used + 8, y=baseline, text=category, size=SMALL, fill=fill))
    for line, size, fill, bold in _card_lines(card):
        baseline += 17
        shapes.append(Text(x=text_x, y=baseline + 2, text=line, size=size, fill=fill, bold=bold))
    if card.motion:
        shapes.append(draw_path(card.motion, text_x, baseline + 12, look.change))
        words = _fit(card.motion.law, SMALL, CARD_WIDTH - 2 * CARD_PAD - 54)
        shapes.append(Text(x=text_x + 54, y=baseline + PATH_HEIGHT - 1, text=words, size=SMALL, fill=MUTED))
    return shapes


def _fit(text: str, size: float, width: float, bold: bool = False) -> str:
    if (count := fitting(text, size, width, bold)) >= len(text):
        return text
    count = fitting(text[:count], size, width - text_width("…", size, bold), bold)
    return f"{text[:count]}…" if count > 0 else ""
