"""The picture and the sentence that tests of the sandbox preset use most: an ice cube on a tray."""

from __future__ import annotations

from PIL import Image

from physplan_sandbox import samples

PROMPT = "an ice cube melting in the sun"


def ice_on_a_tray() -> Image.Image:
    return samples.first_frame(samples.sample("ice-tray"))
