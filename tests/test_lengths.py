"""Functions and files stay short enough to be read at once."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_LINES = 60  # of a function
MOST_OF_FILE = 450


def test_no_function_of_src_has_more_than_sixty_lines() -> None:
    found = []
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_LINES:
                    found.append(f"{path.relative_to(ROOT)}: {node.name} has {lines} lines")
    assert not found


def test_no_file_of_src_has_more_than_450_lines() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in (ROOT / "src").rglob("*.py")}
    assert not {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n > MOST_OF_FILE}
