"""README and docs as blocks of commands and code, with the comments before them that say how each is tested.

<!-- needs: a key -->        not run here: commands are parsed, and those that can be are dry-run
<!-- needs: data -->         parsed, and asked without it: they say what is not there
<!-- all below needs: data -->   the same for the rest of the page, but for blocks with a need of their own,
<!-- needs: nothing -->      or none
<!-- needs: extra eval -->   run with all extras, as `make setup-dev` installs them
<!-- file: NAME -->          written as this file, for the blocks after it
<!-- makes: NAME NAME -->    files that are there afterwards, beside those that the commands themselves name
<!-- says: WORDS -->         words of the output
<!-- tested by: tests/... -->   by a test that reads the page itself
A block without a comment is run, after those before it on its page, from a base install.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"<!-- (needs|file|makes|says|tested by|run)(?:: (.*?))? -->")
WHOLE_PAGE = re.compile(r"<!-- all below needs: (.*?) -->")
COMMAND = re.compile(r"(\.venv/bin/)?(physplan|python -m|pip|make) ")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """One line each, without comments and the brackets of what may be left out."""
        joined = re.sub(r" *\\\n\s*", " ", self.text)
        bare = (re.sub(r"(^|\s+)#.*", "", line).strip() for line in joined.splitlines())
        return [re.sub(r"[\[\]]", "", line) if " [" in line else line for line in bare if line]


def pages() -> list[str]:
    return ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]


def blocks(page: str) -> list[Block]:
    return [one for one in _all_blocks(page) if one.language in ("sh", "python") or "file" in one.marks]


def _all_blocks(page: str) -> Iterator[Block]:
    lines = (ROOT / page).read_text("utf-8").splitlines()
    marks: dict[str, str] = {}
    everywhere: dict[str, str] = {}
    number = 0
    while number < len(lines):
        line, start = lines[number], number + 1
        number += 1
        if found := WHOLE_PAGE.fullmatch(line):
            everywhere = {"needs": found[1]}
        elif MARK.fullmatch(line):
            marks |= dict(MARK.findall(line))
        elif line.startswith("```"):
            end = lines.index("```", number)
            text = "\n".join(lines[number:end]) + "\n"
            yield Block(page, start, line[3:].strip(), text, _joined(everywhere, marks))
            number, marks = end + 1, {}
        elif line.startswith("    ") and (not lines[number - 2].strip() or lines[number - 2].startswith("#")):
            while number < len(lines) and lines[number].startswith("    "):
                number += 1
            text = "\n".join(one[4:] for one in lines[start - 1 : number]) + "\n"
            language = (
                "sh" if COMMAND.match(text) else "python" if text.startswith(("from ", "import ")) else ""
            )
            yield Block(page, start, language, text, _joined(everywhere, marks))
            marks = {}
        elif line.strip():
            marks = {}


def _joined(everywhere: dict[str, str], marks: dict[str, str]) -> dict[str, str]:
    joined = {**everywhere, **marks}
    return {name: value for name, value in joined.items() if (name, value) != ("needs", "nothing")}


def arguments(command: str) -> list[str] | None:
    """What a line gives to `physplan`; None where it calls something else."""
    words = shlex.split(command)
    return words[1:] if words[0].removeprefix(".venv/bin/") == "physplan" else None
