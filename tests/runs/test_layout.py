"""The names in a run folder are said once."""

from __future__ import annotations

import re
from pathlib import Path

import physplan
from physplan.runs import layout

SOURCES = Path(physplan.__file__).parent


def test_no_other_module_spells_a_name_of_the_run_folder() -> None:
    kinds = (".json", ".png", ".safetensors", ".mkv", ".html", ".yaml")
    names = [name for name in vars(layout).values() if isinstance(name, str) and name.endswith(kinds)]
    spelled = re.compile(rf"""/ ["']({"|".join(map(re.escape, names))})["']""")
    found = [
        (path.relative_to(SOURCES).as_posix(), match[1])
        for path in SOURCES.rglob("*.py")
        if path.name != "layout.py"
        for match in spelled.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_stages_are_listed_once() -> None:
    listed = re.compile(r'"plan",\s*"keyframes",\s*"evidence"')
    files = {path.name for path in SOURCES.rglob("*.py") if listed.search(path.read_text(encoding="utf-8"))}
    assert files == {"stage_names.py"}


def test_every_name_is_guarded_against_links() -> None:
    """A file that is added to the folder is added to the list that is looked through before work begins."""
    named = {value for name, value in vars(layout).items() if name.isupper() and isinstance(value, str)}
    assert named == {*layout.FILES, *layout.FOLDERS, layout.LEDGER}
