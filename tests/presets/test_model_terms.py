"""Nobody finds out after the fact that a model was not to be used for money."""

from __future__ import annotations

from pathlib import Path

import pytest

from physplan.cli import main
from physplan.presets import NAMES
from physplan_models.cli.terms import models_of, terms, terms_of
from physplan_models.published import PUBLISHED

DOC = Path(__file__).parents[2] / "docs" / "responsible-use.md"


@pytest.mark.parametrize("preset", NAMES)
def test_every_model_of_a_preset_has_terms(preset: str) -> None:
    assert set(terms_of(preset)) == set(models_of(preset))


def test_every_published_video_model_has_terms() -> None:
    assert {one.repo for one in PUBLISHED.values()} <= set(terms())
    assert {one.commercial for one in terms().values()} <= {"yes", "conditions", "no"}


def test_the_docs_table_says_the_same() -> None:
    text = DOC.read_text("utf-8")
    for name, one in terms().items():
        assert f"| {name} | {one.licence} | {one.commercial}" in text


def test_doctor_names_what_may_not_simply_be_used_for_money(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--all"]) == 0
    told = capsys.readouterr().out
    assert "terms: black-forest-labs/FLUX.1-Kontext-dev: no commercial use" in told
    assert "terms: facebook/dinov2-base" not in told
