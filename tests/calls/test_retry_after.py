"""How long a server asks to wait: all that it may send instead of a number."""

from __future__ import annotations

import email.utils
import time
from types import SimpleNamespace

import pytest

from physplan_models.clients.faults import as_fault


class Refused(Exception):
    status_code = 429

    def __init__(self, header: str, details: object = None) -> None:
        super().__init__("slow down")
        self.response = SimpleNamespace(headers={"retry-after": header})
        self.details = details


def wait(header: str, details: object = None) -> float | None:
    return as_fault(Refused(header, details), service="It", secret=None).retry_after


def test_a_number_or_a_date() -> None:
    assert wait("7") == 7
    assert wait("1.5") == 1.5
    assert wait(email.utils.formatdate(time.time() + 30, usegmt=True)) == pytest.approx(30, abs=2)
    assert wait(email.utils.formatdate(time.time() - 30, usegmt=True)) == 0


@pytest.mark.parametrize("header", ["", "soon", "nan", "inf", "-3", "Mon, 99 Foo 2026 00:00:00 GMT", "1e999"])
def test_a_header_that_says_nothing_leaves_the_usual_waits(header: str) -> None:
    assert wait(header) is None
    body = {"error": {"details": [{"retryDelay": "4s"}]}}
    assert wait(header, body) == 4
