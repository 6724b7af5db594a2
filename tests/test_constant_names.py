"""A number at module level has a name of two words or more, or one that is plain by itself."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
PLAIN = {  # as the field or physics names them
    *(
        "ALPHA",
        "EPS",
        "EPSILON",
        "FPS",
        "FRAMES",
        "FRICTION",
        "GB",
        "GRAVITY",
        "KERNEL",
        "OPACITY",
        "RESAMPLES",
    ),
    *("SCENE", "SEED", "STEPS", "SUBSTEPS", "THRESHOLD", "TIMEOUT", "TOLERANCE", "VERSION", "COUNT"),
}


def is_number(value: ast.expr) -> bool:
    leaves = [
        node for node in ast.walk(value) if not list(ast.iter_child_nodes(node)) or isinstance(node, ast.Name)
    ]
    leaves = [node for node in leaves if not isinstance(node, ast.operator | ast.unaryop | ast.expr_context)]
    kinds = (ast.Constant, ast.BinOp, ast.UnaryOp)
    return isinstance(value, kinds) and all(
        isinstance(node, ast.Constant) and type(node.value) in (int, float) for node in leaves
    )


def bare_numbers(path: Path) -> set[str]:
    """Names of one word that module-level numbers of this file have."""
    names = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if is_number(node.value):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if name.isupper() and "_" not in name and len(name) > 1}


def test_no_number_has_a_bare_word_for_a_name() -> None:
    found = {path.relative_to(SOURCE).as_posix(): bare_numbers(path) - PLAIN for path in SOURCE.rglob("*.py")}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_bare_word_is_found(tmp_path: Path) -> None:
    module = tmp_path / "one.py"
    module.write_text("ADRIFT = 0.2\nMAX_DRIFT = 0.2\nSINKS = -(1)\nNAME = 'x'\nHALF: float = 1 / 2\n")
    assert bare_numbers(module) == {"ADRIFT", "SINKS", "HALF"}
