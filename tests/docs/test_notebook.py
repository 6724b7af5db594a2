"""The notebook runs from top to bottom, and what its cells end with can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import ROOT

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


@pytest.mark.docs
@pytest.mark.timeout(3600)
def test_it_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": "__main__"}
    shown = [run_cell("".join(c["source"]), scope) for c in CELLS if c["cell_type"] == "code"]
    assert [type(one).__name__ for one in shown if one is not None] == [
        *("Image", "EventChain", "Image"),
        *("Result", "Result", "Result", "Result"),
    ]
    assert "<svg" in shown[2]._repr_svg_()
    assert "<video" in scope["result"]._repr_html_()
    assert not (scope["result"].video == scope["changed"].video).all()
    assert "keyframes" in capsys.readouterr().out
    assert not list(tmp_path.iterdir()), "nothing is left in the reader's folder"
