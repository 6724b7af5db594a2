"""Every registered part says whom it calls and what that costs; one that says nothing is not free."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from physplan.calls.cost_estimate import CallsOut, estimate_cost
from physplan.calls.providers import find_provider
from physplan.errors import PhysPlanError
from physplan.keyframes.registry import EDITORS
from physplan.pipeline import PhysPlan
from physplan.reasoning.registry import REASONERS
from physplan_models.keyframes.gemini import GeminiEditor
from physplan_testing import melting


@pytest.mark.parametrize("registry", [REASONERS, EDITORS], ids=lambda registry: registry.kind)
def test_every_registered_part_says_whom_it_calls(registry: dict[str, str]) -> None:
    for name in registry:
        part = registry.load(name)  # type: ignore[attr-defined]
        assert part.calls_out is None or isinstance(part.calls_out, CallsOut), name
        assert (part.calls_out is None) == (
            name.startswith(("sandbox", "qwen-image-edit", "flux"))
            or name in ("chronoedit", "verbs", "compose")
        ), name


def test_calls_and_money_follow_the_events() -> None:
    paper = REASONERS.load("paper")
    assert [estimate_cost(paper, events).calls for events in (1, 3)] == [4, 8]
    assert estimate_cost(paper, 3).usd == pytest.approx(2 * estimate_cost(paper, 1).usd)  # type: ignore[operator]
    assert estimate_cost(REASONERS.load("paper-prompt-derived"), 3).calls == 1
    drawing = estimate_cost(GeminiEditor, 3)
    assert drawing.calls == 3
    assert drawing.usd == pytest.approx(3 * (0.134 + (1500 * 2 + 200 * 12) / 1e6))
    assert estimate_cost(GeminiEditor, 3, size="4K").usd > drawing.usd  # type: ignore[operator]
    assert estimate_cost(GeminiEditor, 3, model="unheard-of").usd is None


def test_an_unlisted_model_is_free_on_a_server_of_ones_own_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    open_weights = REASONERS.load("open")
    assert estimate_cost(open_weights, 3).usd == 0.0
    assert estimate_cost(open_weights, 3, base_url="https://rented.example/v1").usd is None
    assert open_weights.calls_out.keys() == ()
    assert open_weights.calls_out.keys("https://rented.example/v1") == ("OPENAI_API_KEY",)
    assert REASONERS.load("paper").calls_out.keys() == ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://rented.example/v1")
    assert estimate_cost(open_weights, 3).usd is None


class Silent:
    """An editor that calls somebody, and does not say so."""

    at_once = 1


class Renamed(GeminiEditor):
    pass


@pytest.mark.parametrize(("kind", "usd"), [(Silent, None), (Renamed, 0.4182)])
def test_an_editor_that_calls_out_under_a_new_name_is_not_forecast_as_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type, usd: float | None
) -> None:
    module = ModuleType("my_editors")
    module.Kind = kind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_editors", module)
    monkeypatch.setitem(EDITORS, "mine", "my_editors:Kind")
    pp = PhysPlan.from_preset("sandbox", **{"editor.name": "mine"})
    found = pp.forecast(melting.draw(tmp_path / "ice.png"), melting.PROMPT, output_dir=tmp_path / "run")
    assert found.calls == 3
    assert found.usd == (None if usd is None else pytest.approx(usd))


def test_an_unknown_provider_is_one_sentence() -> None:
    with pytest.raises(PhysPlanError, match=r"no provider called 'gemni'.*'gemini'"):
        find_provider("gemni")
