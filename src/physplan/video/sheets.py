"""Contact sheets: rows of labelled film strips as one PNG."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.files import atomic_path

Frames = Tensor | Sequence[Image.Image | None]  # [F, 3, H, W] in [0, 1], or pictures with gaps

PAPER, INK, FAINT, ACCENT, GAP_FILL = "#ffffff", "#1d2530", "#8a94a3", "#d9480f", "#f1f3f5"
MARGIN, GAP, LABEL_WIDTH = 24, 6, 168


def contact_sheet(
    rows: Sequence[tuple[str, Frames]],
    path: Path,
    *,
    columns: int = 8,
    frame_width: int = 160,
    marked: Collection[int] = (),
    title: str = "",
) -> None:
    """One strip per row: `columns` frames spread evenly over the row, under their numbers.

    Frames in `marked` (such as the anchors of a plan) are always shown and have a coloured edge. A row whose
    length differs from the first one's is spread over its own length; a `None` among pictures is left empty.
    """
    if not rows:
        raise PhysPlanError("A contact sheet needs at least one row of frames.")
    lengths = [len(frames) for _, frames in rows]
    if min(lengths) == 0:
        empty = rows[lengths.index(0)][0]
        raise PhysPlanError(f"The row {empty!r} of the contact sheet has no frames: give it some.")
    shape = _size(rows[0][1])
    cell = (frame_width, max(1, round(frame_width * shape[1] / shape[0])))
    picked = [choose(length, columns, marked) for length in lengths]
    widest = max(len(p) for p in picked)
    top = MARGIN + (40 if title else 0)
    row_height = cell[1] + 22 + 14
    width = 2 * MARGIN + LABEL_WIDTH + widest * (cell[0] + GAP) - GAP
    sheet = Image.new("RGB", (width, top + len(rows) * row_height + MARGIN - 14), PAPER)
    draw = ImageDraw.Draw(sheet)
    if title:
        draw.text((MARGIN, MARGIN - 4), title, fill=INK, font=_font(20))
    for number, ((label, frames), chosen) in enumerate(zip(rows, picked, strict=True)):
        y = top + number * row_height
        _label(draw, label, y + 22 + cell[1] // 2)
        for column, index in enumerate(chosen):
            x = MARGIN + LABEL_WIDTH + column * (cell[0] + GAP)
            hit = index in marked
            draw.text((x, y + 4), str(index), fill=ACCENT if hit else FAINT, font=_font(12))
            picture = _picture(frames, index)
            if picture is None:
                draw.rectangle((x, y + 22, x + cell[0] - 1, y + 22 + cell[1] - 1), fill=GAP_FILL)
            else:
                sheet.paste(picture.resize(cell, Image.Resampling.LANCZOS), (x, y + 22))
            if hit:
                draw.rectangle(
                    (x - 2, y + 20, x + cell[0] + 1, y + 22 + cell[1] + 1), outline=ACCENT, width=2
                )
    with atomic_path(path) as temporary:
        sheet.save(temporary, "PNG")


def choose(length: int, columns: int, marked: Collection[int] = ()) -> list[int]:
    """At most `columns` frame numbers (more if so many are marked): the ends, the marked, gaps filled."""
    columns = min(columns, length)
    kept = {m for m in marked if 0 <= m < length}
    if not kept:
        return [round(k * (length - 1) / max(1, columns - 1)) for k in range(columns)]
    kept |= {0, length - 1}
    while len(kept) < columns:
        known = sorted(kept)
        start, stop = max(pairwise(known), key=lambda pair: pair[1] - pair[0])
        kept.add((start + stop) // 2)
    return sorted(kept)


def _label(draw: ImageDraw.ImageDraw, label: str, middle: int) -> None:
    """The row's name, wrapped to its column and centred on the strip."""
    font, lines = _font(15), [""]
    for word in label.split():
        longer = f"{lines[-1]} {word}".strip()
        if draw.textlength(longer, font=font) <= LABEL_WIDTH - 16:
            lines[-1] = longer
        else:
            lines.append(word)
    y = middle - 10 * len(lines)
    for line in lines:
        draw.text((MARGIN, y), line, fill=INK, font=font)
        y += 20


def _size(frames: Frames) -> tuple[int, int]:
    """(width, height)."""
    if isinstance(frames, Tensor):
        return int(frames.shape[-1]), int(frames.shape[-2])
    return next((p.size for p in frames if p is not None), (3, 2))


def _picture(frames: Frames, index: int) -> Image.Image | None:
    frame = frames[index]
    if isinstance(frame, Tensor):
        pixels = (frame.detach().clamp(0, 1) * 255).round().to("cpu", torch.uint8)
        return Image.fromarray(pixels.permute(1, 2, 0).numpy())
    return frame


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
