"""Pictures in the editor's shape and back: what an editor changes of the frame itself is undone here."""

from __future__ import annotations

import math

from PIL import Image

SAME_SHAPE = 0.05  # in the logarithm of width / height
Box = tuple[float, float, float, float]  # left, top, right, bottom, as fractions of the picture


def nearest_ratio(size: tuple[int, int], ratios: tuple[str, ...]) -> str:
    """Of ratios such as "3:2", the one nearest to (width, height)."""
    wanted = math.log(size[0] / size[1])
    return min(ratios, key=lambda ratio: abs(math.log(_value(ratio)) - wanted))


def pad_to_ratio(image: Image.Image, ratio: str) -> tuple[Image.Image, Box]:
    """The picture with its border repeated until it has the ratio, and where in that it is."""
    import numpy as np  # a wrong path is answered without it

    width, height = image.size
    wide, high = max(width, round(height * _value(ratio))), max(height, round(width / _value(ratio)))
    left, top = (wide - width) // 2, (high - height) // 2
    edges = ((top, high - height - top), (left, wide - width - left), (0, 0))
    padded = Image.fromarray(np.pad(np.asarray(image.convert("RGB")), edges, mode="edge"))
    return padded, (left / wide, top / high, (left + width) / wide, (top + height) / high)


def cut_out(image: Image.Image, box: Box, size: tuple[int, int]) -> Image.Image:
    """The part `box` of a picture, scaled to `size`."""
    limits = (*image.size, *image.size)
    # Rounding may put an edge a hair outside, which PIL refuses.
    left, top, right, bottom = (
        min(max(edge * limit, 0), limit) for edge, limit in zip(box, limits, strict=True)
    )
    return image.convert("RGB").resize(size, Image.Resampling.LANCZOS, box=(left, top, right, bottom))


def same_shape(size: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two sizes have one shape, but for rounding."""
    return abs(math.log(size[0] * other[1] / (size[1] * other[0]))) < SAME_SHAPE


def fit(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """A picture at `size`: scaled where its shape is the same but for rounding, else the middle of it."""
    if same_shape(image.size, size):
        return cut_out(image, (0, 0, 1, 1), size)
    scale = max(size[0] / image.width, size[1] / image.height)
    across, down = size[0] / scale / image.width, size[1] / scale / image.height
    return cut_out(image, ((1 - across) / 2, (1 - down) / 2, (1 + across) / 2, (1 + down) / 2), size)


def size_of_area(size: tuple[int, int], area: int, multiple: int) -> tuple[int, int]:
    """(width, height) of about `area` pixels in the shape of `size`, each a multiple of `multiple`."""
    scale = math.sqrt(area / (size[0] * size[1]))
    width, height = (max(1, round(side * scale / multiple)) * multiple for side in size)
    return width, height


def _value(ratio: str) -> float:
    across, down = ratio.split(":")
    return float(across) / float(down)
