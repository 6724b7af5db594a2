"""The map in CONTRIBUTING.md: a line per package of `src/`, from the first line of its docstring.

`python -m physplan_testing.project_map` writes it into the page; tests/test_project_map.py keeps it true.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
PACKAGES = (  # in the order of reading
    "physplan",
    "physplan_models",
    "physplan_sandbox",
    "physplan_photo",
    "physplan_bench",
    "physplan_studio",
    "physplan_signing",
)
BLOCK = re.compile(r"(?<=```tree\n).*?(?=```)", re.DOTALL)


def project_map(source: Path = ROOT / "src") -> str:
    """One line per package of `source`: its folder, indented by depth, and what it says of itself."""
    rows = [row for package in PACKAGES for row in _rows(source / package, 0)]
    width = max(len(folder) for folder, _ in rows) + 2
    return "".join(f"{folder:{width}}{about}\n" for folder, about in rows)


def _rows(folder: Path, depth: int) -> list[tuple[str, str]]:
    inside = sorted(path.parent for path in folder.glob("*/__init__.py"))
    return [(f"{'  ' * depth}{folder.name}/", first_line(folder))] + [
        row for package in inside for row in _rows(package, depth + 1)
    ]


def first_line(package: Path) -> str:
    """The first line of a package's docstring, without its full stop; nothing where it has none."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""
    return text.partition("\n")[0].removesuffix(".")


def main() -> None:
    text = PAGE.read_text("utf-8")
    PAGE.write_text(BLOCK.sub(lambda _: project_map(), text, count=1), "utf-8")


if __name__ == "__main__":
    main()
