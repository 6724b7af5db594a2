"""Pictures for a page that stands alone: encoded into it, or drawn as SVG."""

from __future__ import annotations

import base64
import io

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from scipy.ndimage import distance_transform_edt
from torch import Tensor

from physplan.graph import EventChain
from physplan.perception import KeyframeEvidence
from physplan.pictures import to_picture, to_tensor
from physplan.report.escaping import escape

MIN_SHOWN_SIDE = 320  # pixels; smaller pictures are enlarged, so that browsers do not blur them


def embed(image: Image.Image) -> str:
    """A picture as a data address: sharp when small, compressed when large."""
    image = image.convert("RGB")
    if max(image.size) < MIN_SHOWN_SIDE:
        factor = -(-MIN_SHOWN_SIDE // max(image.size))
        image = image.resize((image.width * factor, image.height * factor), Image.Resampling.BICUBIC)
    encoded = io.BytesIO()
    image.save(encoded, "JPEG", quality=88, subsampling=0)
    return "data:image/jpeg;base64," + base64.b64encode(encoded.getvalue()).decode()


def embed_bytes(content: bytes, kind: str) -> str:
    return f"data:{kind};base64," + base64.b64encode(content).decode()


def still(image: Image.Image, alt: str, caption: str) -> str:
    return f'<figure><img src="{embed(image)}" alt="{alt}"><figcaption>{caption}</figcaption></figure>'


def film(content: bytes, label: str, caption: str) -> str:
    """An mp4 that plays by itself, without sound."""
    return (
        f'<figure><video src="{embed_bytes(content, "video/mp4")}" aria-label="{label}" autoplay loop muted '
        f"controls playsinline></video><figcaption>{caption}</figcaption></figure>"
    )


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
