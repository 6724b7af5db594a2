"""How an attribute shows on a cutout: each look is a function of its amount from 0 to 1.

Words of a value choose the look; a value without a look is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from physplan.errors import PhysPlanError
from physplan_photo.compose import shapes
from physplan_photo.compose.cutouts import Array, Cutout
from physplan_photo.effects.noise import fitted

Look = Callable[[Cutout, float, int], Cutout]  # cutout, amount, seed

COLOURS: dict[str, tuple[float, float, float]] = {
    "red": (0.78, 0.1, 0.1), "orange": (0.92, 0.48, 0.08), "yellow": (0.93, 0.8, 0.12),
    "green": (0.16, 0.55, 0.2), "blue": (0.13, 0.3, 0.75), "purple": (0.45, 0.17, 0.6),
    "pink": (0.92, 0.5, 0.65), "brown": (0.4, 0.25, 0.13), "black": (0.06, 0.06, 0.06),
    "white": (0.95, 0.95, 0.95), "grey": (0.5, 0.5, 0.5), "gray": (0.5, 0.5, 0.5),
    "gold": (0.83, 0.64, 0.18), "silver": (0.75, 0.76, 0.78), "turquoise": (0.15, 0.68, 0.68),
}  # fmt: skip

COLOUR_SHARE = 0.78  # share of the named colour; the rest is the object's own, so that its parts stay apart


def _mixed(cut: Cutout, colour: Array, weight: Array | float) -> Cutout:
    share = weight[..., None] if isinstance(weight, np.ndarray) else weight
    return cut.looking(np.clip(cut.colour * (1 - share) + colour * share, 0, 1).astype(np.float32), cut.alpha)


def _noise(cut: Cutout, seed: int, grain: float = 2.0) -> Array:
    return fitted(seed % 997, (cut.alpha.shape[0], cut.alpha.shape[1]), grain)


def recoloured(target: tuple[float, float, float]) -> Look:
    """Hue and saturation of the target; light and shade stay, moved towards the target's brightness."""

    def look(cut: Cutout, amount: float, seed: int) -> Cutout:
        lab = cv2.cvtColor(cut.colour, cv2.COLOR_RGB2LAB)
        wanted = cv2.cvtColor(np.array([[target]], np.float32), cv2.COLOR_RGB2LAB)[0, 0]
        own = float((lab[..., 0] * cut.alpha).sum() / max(float(cut.alpha.sum()), 1.0))
        lab[..., 0] = np.clip(lab[..., 0] + 0.7 * (wanted[0] - own), 0, 100)
        shade = np.clip(lab[..., 0:1] / 60, 0.25, 1.1)
        lab[..., 1:] = COLOUR_SHARE * wanted[1:] * shade + (1 - COLOUR_SHARE) * 0.5 * lab[..., 1:]
        return _mixed(cut, cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), amount)

    return look


def dark(cut: Cutout, amount: float, seed: int) -> Cutout:
    return _mixed(cut, cut.colour * np.array([0.2, 0.21, 0.25], np.float32), amount)


def glowing(cut: Cutout, amount: float, seed: int) -> Cutout:
    light = 1 - (1 - cut.colour) * np.array([0.3, 0.38, 0.55], np.float32)
    return _mixed(cut, light, amount)


def wet(cut: Cutout, amount: float, seed: int) -> Cutout:
    grey = cut.colour.mean(-1, keepdims=True)
    soaked = np.clip(grey + (cut.colour - grey) * 1.25, 0, 1) ** 1.35 * 0.86
    shine = np.clip((grey[..., 0] - cv2.GaussianBlur(grey[..., 0], (0, 0), 5)) * 5, 0, 1)
    sparkle = np.clip((_noise(cut, seed, 3) - 0.6) * 3, 0, 1) * np.clip(grey[..., 0] * 1.6, 0, 1)
    return _mixed(cut, np.clip(soaked + (0.35 * shine * (1 + 2 * sparkle))[..., None], 0, 1), amount)


def frosted(cut: Cutout, amount: float, seed: int) -> Cutout:
    fine, coarse = _noise(cut, seed, 6), _noise(cut, seed + 1, 2)
    grey = cut.colour.mean(-1, keepdims=True)
    ice = np.clip(0.62 + 0.42 * grey + 0.14 * (fine[..., None] - 0.5), 0, 1)
    ice = ice * np.array([0.93, 0.97, 1.0], np.float32)
    return _mixed(cut, ice, amount * np.clip(0.45 + 0.55 * coarse + 0.25 * (fine - 0.5), 0, 0.93))


def charred(cut: Cutout, amount: float, seed: int) -> Cutout:
    fine, coarse = _noise(cut, seed, 7), _noise(cut, seed + 2, 2)
    coal = (cut.colour.mean(-1, keepdims=True) * 0.16 + 0.03 + 0.07 * fine[..., None]) * np.array(
        [1.06, 1.0, 0.95], np.float32
    )
    return _mixed(cut, coal, np.clip(2.2 * amount - 1.2 * coarse, 0, 0.95))


def rusted(cut: Cutout, amount: float, seed: int) -> Cutout:
    fine, coarse = _noise(cut, seed, 8), _noise(cut, seed + 3, 2.5)
    shade = 0.35 + 0.9 * cut.colour.mean(-1, keepdims=True)
    rust = np.array([0.55, 0.27, 0.12], np.float32) * shade * (0.6 + 0.7 * fine[..., None])
    return _mixed(cut, rust, np.clip(2.4 * amount - 1.5 * coarse, 0, 0.85))


def dusty(cut: Cutout, amount: float, seed: int) -> Cutout:
    return _mixed(
        cut, np.asarray((0.68, 0.62, 0.53), np.float32), 0.55 * amount * (0.5 + 0.5 * _noise(cut, seed))
    )


def same(cut: Cutout, amount: float, seed: int) -> Cutout:
    return cut


def gaseous(cut: Cutout, amount: float, seed: int) -> Cutout:
    soft = cv2.GaussianBlur(cut.alpha, (0, 0), 1 + 6 * amount)
    return cut.looking(cut.colour, (cut.alpha * (1 - amount) + soft * 0.55 * amount).astype(np.float32))


def _then(one: Look, two: Look) -> Look:
    return lambda cut, amount, seed: two(one(cut, amount, seed), amount, seed)


# For each attribute: words of a value, and the look that they ask for. The first that matches counts.
LOOKS: dict[str, tuple[tuple[tuple[str, ...], Look], ...]] = {
    "surface": (
        (("wet", "soak", "damp", "drench", "moist", "glossy", "shiny"), wet),
        (("frost", "frozen", "icy", "ice", "snow"), frosted),
        (("char", "burn", "scorch", "soot", "black"), charred),
        (("rust", "corrod"), rusted),
        (("dust", "mud", "dirt"), dusty),
        (("giving off", "dry", "clean", "smooth", "hot", "warm", "cold", "intact"), same),
    ),
    "integrity": (
        (("shatter", "pieces", "smash", "crumbl", "broken", "burst"), shapes.shattered),
        (("split", "two halves", "cut"), shapes.split),
        (("crack",), shapes.cracked),
        (("dent",), shapes.dented),
        (("torn", "ripped"), shapes.torn),
        (("intact", "whole"), same),
    ),
    "material_phase": (
        (("partially", "soft", "melting"), _then(shapes.softened, wet)),
        (("liquid", "molten", "melted"), _then(shapes.melted, wet)),
        (("gas", "vapo"), gaseous),
        (("frozen", "ice"), frosted),
        (("solid",), same),
    ),
    "configuration": (
        (("bent to the left", "bows to the left", "droops to the left"), shapes.bent(-1)),
        (("bent", "bow", "droop"), shapes.bent(1)),
        (("crumpl", "crush", "squash", "collaps", "deflat", "flat"), shapes.crumpled),
    ),
}  # fmt: skip
POSES = "tipped, lying, leaning, raised, moved, turned, spun, bent or crumpled"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Worn:
    """A look of an object from an event on; `key` so that a later value of it takes its place."""

    key: str
    look: Look
    seed: int


def look_of(key: str, value: str, *, moves: bool) -> Look:
    """The look of an attribute's value. `moves`: a law already shows it, as a pose or a size."""
    text = value.casefold()
    if key == "color":
        if found := next((rgb for name, rgb in COLOURS.items() if name in text.split()), None):
            return recoloured(found)
        if any(word in text for word in ("dark", "off", "out", "dim", "unlit")):
            return dark
        if any(word in text for word in ("glow", "bright", "light", "lit", "shin", "hot")):
            return glowing
        raise PhysPlanError(
            f"The composer cannot draw the color {value!r}: use {', '.join(COLOURS)}, dark or glowing."
        )
    if key == "extent":
        return same  # the law gives the size
    for words, look in LOOKS.get(key, ()):
        if any(word in text for word in words):
            return look
    if moves and key == "configuration":
        return same
    known = POSES if key == "configuration" else ", ".join(words[0] for words, _ in LOOKS.get(key, ()))
    raise PhysPlanError(f"The composer cannot draw {key} {value!r}: use {known}.")
