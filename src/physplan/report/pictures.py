"""Pictures for a page that stands alone: encoded into it, or drawn as SVG."""

from __future__ import annotations

import base64
import io
import mimetypes
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from scipy.ndimage import distance_transform_edt
from torch import Tensor

from physplan.graph import EventChain
from physplan.perception import KeyframeEvidence
from physplan.perception.images import to_picture, to_tensor

SMALL = 320  # pixels; smaller pictures are enlarged, so that browsers do not blur them
TERM_COLOURS = {
    "count": "#2f6fdb",
    "appearance": "#d9480f",
    "extent": "#2b8a3e",
    "position": "#9c36b5",
    "depth": "#0b7285",
}
OTHER = "#495057"


def embed(image: Image.Image) -> str:
    """A picture as a data address: sharp when small, compressed when large."""
    image = image.convert("RGB")
    if max(image.size) < SMALL:
        factor = -(-SMALL // max(image.size))
        image = image.resize((image.width * factor, image.height * factor), Image.Resampling.BICUBIC)
    encoded = io.BytesIO()
    image.save(encoded, "JPEG", quality=88, subsampling=0)
    return "data:image/jpeg;base64," + base64.b64encode(encoded.getvalue()).decode()


def embed_file(path: Path) -> str:
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"data:{kind};base64," + base64.b64encode(path.read_bytes()).decode()


def graph_over_picture(chain: EventChain, first: KeyframeEvidence, width: float = 540.0) -> str:
    """G_0 where its objects are: a name on each, a line per relation; what was not found stands below."""
    height = width * first.image.shape[1] / first.image.shape[2]
    scale = width / first.image.shape[2]
    found = {node: _middle(mask) for node, mask in first.masks.items()}
    places = _spread({node: (scale * x, scale * y) for node, (x, y) in found.items()}, width, height)
    missing = [node.id for node in chain.graph.nodes if node.id not in places]
    bottom = height + (34 if missing else 0)
    gap = width / (len(missing) + 1)
    places |= {node: (gap * (i + 1), height + 18) for i, node in enumerate(missing)}
    lines, labels = [], []
    for edge in chain.graph.edges:
        (x0, y0), (x1, y1) = places[edge.a], places[edge.b]
        lines.append(
            f'<line x1="{x0:.0f}" y1="{y0:.0f}" x2="{x1:.0f}" y2="{y1:.0f}" stroke="#fff" stroke-width="5" '
            f'opacity=".75"/><line x1="{x0:.0f}" y1="{y0:.0f}" x2="{x1:.0f}" y2="{y1:.0f}" stroke="#1d2530" '
            f'stroke-width="1.6"/>'
        )
        labels.append(_tag((x0 + x1) / 2, (y0 + y1) / 2, edge.r, size=11, solid=False))
    nodes = [_tag(x, y, node, size=13, solid=True) for node, (x, y) in places.items()]
    return (
        f'<svg viewBox="0 0 {width:.0f} {bottom:.0f}" role="img" aria-label="the state graph" '
        f'font-family="inherit"><image href="{embed(to_picture(first.image))}" width="{width:.0f}" '
        f'height="{height:.0f}"/>{"".join(lines)}{"".join(labels)}{"".join(nodes)}</svg>'
    )


def _tag(x: float, y: float, text: str, *, size: float, solid: bool) -> str:
    wide = 0.58 * size * len(text) + 14
    fill, ink = ("#1d2530", "#fff") if solid else ("#ffffff", "#475467")
    return (
        f'<rect x="{x - wide / 2:.1f}" y="{y - size * 0.8:.1f}" width="{wide:.1f}" '
        f'height="{size * 1.6:.1f}" rx="5" fill="{fill}" opacity="{0.92 if solid else 0.88}"/>'
        f'<text x="{x:.1f}" y="{y + size * 0.36:.1f}" '
        f'font-size="{size}" fill="{ink}" text-anchor="middle">{escape(text)}</text>'
    )


def _middle(mask: Tensor) -> tuple[float, float]:
    """(x, y) of the pixel farthest from the mask's edge: on a table, a place where nothing stands."""
    inside = np.pad(mask.numpy(), 1)
    y, x = np.unravel_index(int(distance_transform_edt(inside).argmax()), inside.shape)
    return float(x) - 0.5, float(y) - 0.5


def _spread(
    places: dict[str, tuple[float, float]], width: float, height: float
) -> dict[str, tuple[float, float]]:
    """Labels moved apart where they would cover each other."""
    spots = {node: [x, y] for node, (x, y) in places.items()}
    for _ in range(60):
        for a, (ax, ay) in spots.items():
            for b, (bx, by) in spots.items():
                reach = 4.4 * (len(a) + len(b)) + 16
                if a < b and abs(ax - bx) < reach and abs(ay - by) < 34:
                    push = (34 - abs(ay - by)) / 4 + 0.5
                    sign = 1 if ay <= by else -1
                    spots[a][1] -= sign * push
                    spots[b][1] += sign * push
    return {
        node: (min(max(x, 50), width - 50), min(max(y, 16), height - 16)) for node, (x, y) in spots.items()
    }


def region_over(picture: Image.Image, region: Tensor) -> Image.Image:
    """Where a term may change the video: lit; the rest is dimmed."""
    image = to_tensor(picture)
    shape = (image.shape[-2], image.shape[-1])
    weight = F.interpolate(region.float()[None, None], size=shape, mode="nearest")[0, 0].clamp(0, 1)
    grey = image.mean(0, keepdim=True).expand_as(image) * 0.35 + 0.55
    tint = torch.tensor([0.85, 0.28, 0.06])[:, None, None]
    lit = 0.72 * image + 0.28 * tint
    return to_picture(grey * (1 - weight) + lit * weight)


def loss_chart(steps: Sequence[dict[str, Any]], event: int) -> str:
    """The terms of one event over the guided repeats, each scaled to its own largest value."""
    series: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for number, step in enumerate(steps):
        for term in step["terms"]:
            if term["event"] == event and term["value"] is not None:
                name = (term["term"], ", ".join(term["objects"]))
                series.setdefault(name, []).append((number, float(term["value"])))
    reached = [name for name, points in series.items() if not any(value for _, value in points)]
    series = {name: points for name, points in series.items() if name not in reached}
    if not series and not reached:
        return "<p class='caption'>No term of this event could be measured.</p>"
    width, height, left, base = 330.0, 178.0, 30.0, 152.0
    across = (width - left - 8) / max(1, len(steps) - 1)
    detail = [i for i, step in enumerate(steps) if step["stage"] == "detail"]
    drawn = [
        f'<line x1="{left}" x2="{width - 8}" y1="{y:.0f}" y2="{y:.0f}" stroke="#e4e7ec"/>'
        f'<text x="{left - 6}" y="{y + 4:.0f}" font-size="11" text-anchor="end" fill="#98a2b3">{share}</text>'
        for share, y in ((1, base - 130), (0.5, base - 65), (0, base))
    ]
    if detail:
        x = left + across * (detail[0] - 0.5)
        drawn.insert(
            0, f'<rect x="{x:.1f}" y="4" width="{width - 8 - x:.1f}" height="{base - 4}" fill="#f7f8fa"/>'
        )
        drawn.append(f'<text x="{x + 6:.1f}" y="16" font-size="11" fill="#98a2b3">detail</text>')
    if not detail or detail[0] > 0:
        drawn.append(f'<text x="{left + 6}" y="16" font-size="11" fill="#98a2b3">layout</text>')
    keys = []
    for (term, objects), points in series.items():
        top = max(value for _, value in points) or 1.0
        path = " ".join(f"{left + across * x:.1f},{base - 130 * value / top:.1f}" for x, value in points)
        colour, dash = TERM_COLOURS.get(term, OTHER), ""
        if sum(name == term for name, _ in series) > 1:  # the same kind for another object
            order = [name for name in series if name[0] == term].index((term, objects))
            dash = ("", "6 4", "2 3", "9 3 2 3")[order % 4]
        drawn.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}"/>'
        )
        keys.append(
            f"<li>{_sample(colour, dash)}{escape(term)} <small>{escape(objects)}</small>"
            f"<span>{points[0][1]:.3g} → {points[-1][1]:.3g}</span></li>"
        )
    if reached:
        names = ", ".join(f"{term} of {objects}" for term, objects in reached)
        keys.append(f"<li><small>as it should be throughout: {escape(names)}</small></li>")
    drawn.append(
        f'<text x="{width - 8}" y="{height - 6}" font-size="11" text-anchor="end" fill="#98a2b3">'
        f"{len(steps)} guided repeats</text>"
    )
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="losses of event {event + 1}">'
        f"{''.join(drawn)}</svg><ul class='key'>{''.join(keys)}</ul>"
    )


def _sample(colour: str, dash: str) -> str:
    line = f'<line x2="22" y1="4" y2="4" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>'
    return f'<svg class="sample" viewBox="0 0 22 8">{line}</svg>'
