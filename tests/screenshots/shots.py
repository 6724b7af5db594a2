"""One page in four forms (1440 and 390 pixels, light and dark), and sheets of them for docs."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

WIDE, PHONE = (1440, 900), (390, 844)
SCHEMES = ("light", "dark")
WIDE_SHOWN, PHONE_SHOWN, GAP = 640, 260, 14  # pixels in a sheet
PAPER = (128, 134, 142)
WAIT = 300_000  # milliseconds, on a busy machine

Arrive = Callable[[Any], None]  # brings a page to what is to be seen
Form = tuple[tuple[int, int], str]
FORMS: tuple[Form, ...] = tuple((size, scheme) for size in (WIDE, PHONE) for scheme in SCHEMES)


class Camera:
    def __init__(self, browser: Any, target: Path) -> None:
        self._browser, self._target = browser, target

    def take(
        self, address: str, arrive: Arrive, *, whole: bool = False, forms: Sequence[Form] = FORMS
    ) -> dict[Form, Image.Image]:
        """`whole`: wide ones from the first to the last line of the page; telephones always one screen."""
        found = {}
        for size, scheme in forms:
            with self._page(size, scheme) as page:
                page.goto(address)
                arrive(page)
                page.wait_for_timeout(400)  # pictures and fonts
                taken = page.screenshot(full_page=whole and size == WIDE)
            found[size, scheme] = Image.open(io.BytesIO(taken)).convert("RGB")
        return found

    @contextmanager
    def _page(self, size: tuple[int, int], scheme: str) -> Iterator[Any]:
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce"
        )
        try:
            page = context.new_page()
            page.set_default_timeout(WAIT)
            yield page
        finally:
            context.close()

    def wide(self, name: str, *pages: dict[Form, Image.Image]) -> None:
        """A row for each page: in the light, in the dark."""
        self.save(name, [[forms[WIDE, scheme] for scheme in SCHEMES] for forms in pages], WIDE_SHOWN)

    def phones(self, name: str, pages: Sequence[dict[Form, Image.Image]]) -> None:
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


def _scaled(image: Image.Image, width: int) -> Image.Image:
    return image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
