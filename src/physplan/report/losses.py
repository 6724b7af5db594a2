"""The guidance's terms as they fell, drawn as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from physplan.report.escaping import escape

WIDTH, HEIGHT = 330.0, 178.0
LEFT, RIGHT, BASE, RISE = 30.0, WIDTH - 8, 152.0, 130  # of the plot in the picture
COLOURS = {
    "count": "#2f6fdb",
    "appearance": "#d9480f",
    "extent": "#2b8a3e",
    "position": "#9c36b5",
    "depth": "#0b7285",
    "keep": "#868e96",
}
OTHER = "#495057"
DASHES = ("", "6 4", "2 3", "9 3 2 3")  # for terms of one kind, by object

Name = tuple[str, str]  # the term's kind and its objects
Points = list[tuple[int, float]]  # number of the guided repeat, value


def loss_chart(steps: Sequence[dict[str, Any]], event: int) -> str:
    """The terms of one event over the guided repeats, each scaled to its own largest value."""
    measured = _measured(steps, event)
    if not measured:
        return "<p class='caption'>No term of this event could be measured.</p>"
    series = {name: points for name, points in measured.items() if any(value for _, value in points)}
    across = (RIGHT - LEFT) / max(1, len(steps) - 1)
    drawn, keys = _axes(steps, across), []
    for name, points in series.items():
        colour, dash = COLOURS.get(name[0], OTHER), _dash(name, list(series))
        drawn.append(_curve(points, across, colour, dash))
        keys.append(_key(name, points, colour, dash))
    if reached := [f"{term} of {objects}" for term, objects in measured if (term, objects) not in series]:
        keys.append(f"<li><small>as it should be throughout: {escape(', '.join(reached))}</small></li>")
    drawn.append(_text(RIGHT, HEIGHT - 6, f"{len(steps)} guided repeats", ' text-anchor="end"'))
    return (
        f'<svg viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="losses of event {event + 1}">'
        f"{''.join(drawn)}</svg><ul class='key'>{''.join(keys)}</ul>"
    )


def _measured(steps: Sequence[dict[str, Any]], event: int) -> dict[Name, Points]:
    found: dict[Name, Points] = {}
    for number, step in enumerate(steps):
        for term in step["terms"]:
            if term["event"] == event and term.get("value") is not None:
                name = (term["term"], ", ".join(term["objects"]))
                found.setdefault(name, []).append((number, float(term["value"])))
    return found


def _axes(steps: Sequence[dict[str, Any]], across: float) -> list[str]:
    """Lines at 0, a half and 1; the repeats of the detail stage stand on grey."""
    lines = [
        f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.0f}" y2="{y:.0f}" class="grid"/>'
        + _text(LEFT - 6, y + 4, str(share), ' text-anchor="end"')
        for share, y in ((1, BASE - RISE), (0.5, BASE - RISE / 2), (0, BASE))
    ]
    detail = next((i for i, step in enumerate(steps) if step["stage"] == "detail"), None)
    layout = [] if detail == 0 else [_text(LEFT + 6, 16, "layout")]
    if detail is None:
        return [*lines, *layout]
    x = LEFT + across * (detail - 0.5)
    ground = f'<rect x="{x:.1f}" y="4" width="{RIGHT - x:.1f}" height="{BASE - 4}" class="ground"/>'
    return [ground, *lines, _text(x + 6, 16, "detail"), *layout]


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.0f}" font-size="11"{more} class="axis">{words}</text>'


def _dash(name: Name, names: list[Name]) -> str:
    alike = [other for other in names if other[0] == name[0]]
    return DASHES[alike.index(name) % len(DASHES)]


def _curve(points: Points, across: float, colour: str, dash: str) -> str:
    top = max(value for _, value in points)
    path = " ".join(f"{LEFT + across * x:.1f},{BASE - RISE * value / top:.1f}" for x, value in points)
    stroke = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
    return f'<polyline points="{path}" fill="none" {stroke}/>'


def _key(name: Name, points: Points, colour: str, dash: str) -> str:
    line = f'<line x2="22" y1="4" y2="4" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>'
    return (
        f'<li><svg class="sample" aria-hidden="true" viewBox="0 0 22 8">{line}</svg>{escape(name[0])}'
        f" <small>{escape(name[1])}</small><span>{points[0][1]:.3g} → {points[-1][1]:.3g}</span></li>"
    )
