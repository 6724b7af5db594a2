"""One thread per test process: tiny models run slower on two, and much slower on a busy machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from browser import MISSING, find_browser, open_browser

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported, and for child processes


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real browser, for tests of pages; closed before other tests fork or kill what would share it."""
    if find_browser() is None:
        pytest.skip(MISSING)
    with open_browser() as browser:
        yield browser


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if find_browser() is None:
        terminalreporter.write_line(f"Tests of pages were skipped: {MISSING}.")
