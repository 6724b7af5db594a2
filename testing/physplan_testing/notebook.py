"""Runs a notebook without Jupyter, keeps what its cells show: `python -m physplan_testing.notebook FILE`."""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

WHERE = "__main__"  # as in a kernel: classes of a cell are looked up there
FORMS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_"}


def run_cell(source: str, scope: dict[str, Any]) -> Any:
    """As a kernel does: the value of the last expression is what the cell shows."""
    parsed = ast.parse(source)
    last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
    exec(compile(parsed, "<cell>", "exec"), scope)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), scope)


def shown(value: Any) -> dict[str, Any]:
    """What a notebook keeps of a value, by kind."""
    found: dict[str, Any] = {"text/plain": repr(value).splitlines(True)}
    for kind, name in FORMS.items():
        made = getattr(value, name, lambda: None)()
        if isinstance(made, bytes):
            found[kind] = base64.b64encode(made).decode("ascii")
        elif made is not None:
            found[kind] = made.splitlines(True)
    return found


def run_notebook(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Every code cell in order, its outputs put into it; the names that they leave."""
    scope: dict[str, Any] = {"__name__": WHERE}
    number = 0
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        number += 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = run_cell("".join(cell["source"]), scope)
        cell["execution_count"], cell["outputs"] = number, []
        if printed.getvalue():
            text = printed.getvalue().splitlines(True)
            cell["outputs"].append({"output_type": "stream", "name": "stdout", "text": text})
        if value is not None:
            cell["outputs"].append(
                {
                    "output_type": "execute_result",
                    "execution_count": number,
                    "metadata": {},
                    "data": shown(value),
                }
            )
    return scope


def main(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        run_notebook(notebook["cells"])
        left = list(Path().iterdir())
        os.chdir(before)
    if left:
        sys.exit(f"The cells left files behind: {left}")
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
