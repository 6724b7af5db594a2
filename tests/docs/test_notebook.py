"""The notebook runs from top to bottom, and what its cells end with can be shown."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import ROOT

from physplan.keyframes.registry import EDITORS
from physplan.methods import METHODS

CELLS = json.loads((ROOT / "notebooks" / "sandbox.ipynb").read_text("utf-8"))["cells"]


def run_cell(source: str, scope: dict[str, Any]) -> Any:
    """As a kernel does: the value of the last expression is what the cell shows."""
    parsed = ast.parse(source)
    last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
    exec(compile(parsed, "<cell>", "exec"), scope)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), scope)


def test_it_is_kept_without_results() -> None:
    assert all(cell["outputs"] == [] for cell in CELLS if cell["cell_type"] == "code")


@pytest.fixture
def forgotten() -> Iterator[None]:
    """What the notebook registers is its own."""
    yield
    for known in (EDITORS, METHODS):
        for name in known.own:
            del known[name]
        known.own.clear()


@pytest.mark.docs
@pytest.mark.usefixtures("forgotten")
@pytest.mark.timeout(3600)
def test_it_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": "__main__"}
    shown = [run_cell("".join(c["source"]), scope) for c in CELLS if c["cell_type"] == "code"]
    assert [type(one).__name__ for one in shown if one is not None] == [
        *("Image", "EventChain", "Image", "Result", "Result", "Result", "EventChain", "Result"),
        *("Image", "Result"),
    ]
    assert "<svg" in shown[2]._repr_svg_()
    assert "<video" in scope["result"]._repr_html_()
    assert not (scope["result"].video == scope["changed"].video).all()
    assert len(scope["shorter"].events[0].edits) == len(scope["plan"].events[0].edits) - 1
    assert scope["slower"].events[0].anchor > scope["plan"].events[0].anchor
    assert (scope["raw"].video == scope["raw"].latents).all()
    assert not (scope["gentle"].video == scope["base"].video).all()
    said = capsys.readouterr().out
    for words in ("keyframes", "10 spread of the latents", "True The", "ice.gif"):
        assert words in said
    assert not list(tmp_path.iterdir()), "nothing is left in the reader's folder"
