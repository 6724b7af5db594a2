"""One page in four forms (1440 and 390 pixels, light and dark), and sheets of them for docs."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

WIDE, PHONE = (1440, 900), (390, 844)
SCHEMES = ("light", "dark")
WIDE_SHOWN, PHONE_SHOWN, GAP = 640, 260, 14  # pixels in a sheet
PAPER = (128, 134, 142)
WAIT = 120.0  # seconds for anything on a page, on a busy machine

Arrive = Callable[[Any], None]  # brings a page to what is to be seen
Form = tuple[tuple[int, int], str]
Forms = dict[Form, Image.Image]


class NotShown(Exception):
    """What a page was to show did not come; a sentence."""


class Camera:
    def __init__(self, browser: Any, target: Path, each: Path | None = None) -> None:
        self._browser, self._target, self._each = browser, target, each

    def take(
        self,
        name: str,
        address: str,
        arrive: Arrive,
        *,
        whole: bool = False,
        sizes: Sequence[Any] = (WIDE, PHONE),
    ) -> Forms:
        """`whole`: wide ones from the first to the last line of the page; telephones always one screen."""
        from playwright.sync_api import Error

        found, began = {}, time.monotonic()
        for size in sizes:
            with self._page(size) as page:
                try:
                    page.goto(address)
                    arrive(page)
                    for scheme in SCHEMES:
                        page.emulate_media(color_scheme=scheme)
                        page.wait_for_timeout(400)  # pictures and fonts
                        taken = page.screenshot(full_page=whole and size == WIDE)
                        found[size, scheme] = Image.open(io.BytesIO(taken)).convert("RGB")
                except Error as error:
                    raise NotShown(f"{name} at {size[0]} pixels: {error.message.strip()}") from None
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        if self._each is not None:
            for (size, scheme), image in found.items():
                image.save(self._each / f"{name}-{size[0]}-{scheme}.png")
        return found

    @contextmanager
    def _page(self, size: tuple[int, int]) -> Iterator[Any]:
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce"
        )
        try:
            page = context.new_page()
            page.set_default_timeout(1000 * WAIT)
            yield page
        finally:
            context.close()

    def wide(self, name: str, *pages: Forms) -> None:
        """A row for each page: in the light, in the dark."""
        self.save(name, [[forms[WIDE, scheme] for scheme in SCHEMES] for forms in pages], WIDE_SHOWN)

    def phones(self, name: str, pages: Sequence[Forms]) -> None:
        """A row in the light, the same in the dark."""
        self.save(name, [[forms[PHONE, scheme] for forms in pages] for scheme in SCHEMES], PHONE_SHOWN)

    def save(self, name: str, rows: Sequence[Sequence[Image.Image]], width: int) -> None:
        scaled = [[_scaled(one, width) for one in row] for row in rows]
        heights = [max(one.height for one in row) for row in scaled]
        across = max(len(row) for row in rows)
        size = (across * width + (across - 1) * GAP, sum(heights) + (len(rows) - 1) * GAP)
        sheet, top = Image.new("RGB", size, PAPER), 0
        for row, height in zip(scaled, heights, strict=True):
            for place, one in enumerate(row):
                sheet.paste(one, (place * (width + GAP), top))
            top += height + GAP
        path = self._target / f"{name}.png"
        sheet.quantize(256, kmeans=2, dither=Image.Dither.NONE).save(path, optimize=True)
        print(f"{path}: {sheet.width} x {sheet.height}, {path.stat().st_size // 1000} kB", flush=True)


def wait_for_videos(page: Any, state: str, words: str) -> None:
    """Until every video `v` of the page is in a state, as an expression of the browser's."""
    deadline = time.monotonic() + WAIT
    # `wait_for_function` would need what a page's policy forbids.
    while not page.evaluate(f"[...document.querySelectorAll('video')].every(v => {state})"):
        if time.monotonic() > deadline:
            raise NotShown(f"{page.url}: a video did not {words} within {WAIT:.0f} seconds.")
        page.wait_for_timeout(100)


def ready(page: Any) -> None:
    """Every video of the page shows a frame, and nothing is wider than the screen."""
    wait_for_videos(page, "v.readyState >= 2", "load")
    if (wide := page.evaluate("document.documentElement.scrollWidth")) > page.viewport_size["width"]:
        raise NotShown(f"{page.url} is {wide} pixels wide: the screen has {page.viewport_size['width']}.")
    page.wait_for_timeout(1_500)  # until the browser's own sign of loading is gone


def _scaled(image: Image.Image, width: int) -> Image.Image:
    return image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
