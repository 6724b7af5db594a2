"""The kept memory estimates are those that the shapes give, and cover every published model."""

from __future__ import annotations

import pytest

from physplan_models.estimates import EVENTS, compute, estimates
from physplan_models.published import PUBLISHED


def test_every_published_model_has_its_estimates() -> None:
    assert set(estimates()) == set(PUBLISHED)
    for modes in estimates().values():
        assert modes["none"]["3"] <= modes["direct"]["3"] <= modes["fused"]["3"]
        assert all(set(peaks) == {str(k) for k in EVENTS} for peaks in modes.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_they_are_what_the_shapes_give_today(name: str) -> None:
    assert compute(name) == estimates()[name]
