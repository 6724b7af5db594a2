"""`make mutants` runs these tests with one check switched off, to see that tests notice."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from physplan.graph import checks


@pytest.fixture(autouse=True, scope="session")
def switched_off_check() -> Iterator[None]:
    name = os.environ.get("PHYSPLAN_TEST_SWITCH_OFF")
    with pytest.MonkeyPatch.context() as patch:
        if name:
            assert name in checks.CHECKS
            patch.setattr(checks, "CHECKS", {key: run for key, run in checks.CHECKS.items() if key != name})
        yield
