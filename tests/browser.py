"""A real browser for the tests of pages: the system's Chromium, driven by Playwright."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "no browser here: install Debian's package `chromium` (or set PHYSPLAN_BROWSER to a Chromium) and "
    "Playwright (make setup-dev)"
)


def find_browser() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return None
    named = os.environ.get("PHYSPLAN_BROWSER")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def open_browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium's own sandbox needs rights that containers lack; the pages are ours.
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()
