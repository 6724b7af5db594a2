"""Tables, built once and written as text, Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from physplan.errors import PhysPlanError
from physplan_bench.bootstrap import Interval

Cell = float | int | str | Interval | None
Best = Literal["max", "min"] | None
REPORTED = "reported"
TABLE_WIDTH = 120  # of a table as text
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet computes


@dataclass(frozen=True, kw_only=True)
class Column:
    title: str
    digits: int = 2
    best: Best = None  # which value stands out


@dataclass(frozen=True, kw_only=True)
class Row:
    label: str
    cells: tuple[Cell, ...]
    source: str = ""  # "reported" for figures that were printed elsewhere and not measured here
    competes: bool = True  # False: it stands there to compare with, and is never the best


@dataclass(frozen=True, kw_only=True)
class Table:
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    label: str = "Method"  # head of the first column
    note: str = ""
    unit: str = ""  # of the values, for a plot
    reported: tuple[Row, ...] = ()  # the paper's rows that may stand beside these

    def __post_init__(self) -> None:
        for row in (*self.reported, *self.rows):
            if len(row.cells) != len(self.columns):
                raise ValueError(f"row {row.label!r} has {len(row.cells)} cells, not {len(self.columns)}")

    def with_reported(self) -> Table:
        if not self.reported:
            raise PhysPlanError(f"The paper has no figures that may stand beside {self.title!r}.")
        return replace(self, rows=(*self.reported, *self.rows), reported=())


def titled(*titles: str, digits: int = 2, best: Best = None) -> tuple[Column, ...]:
    return tuple(Column(title=title, digits=digits, best=best) for title in titles)


def rows_of(cells: Mapping[str, Sequence[Cell]]) -> tuple[Row, ...]:
    return tuple(Row(label=label, cells=tuple(row)) for label, row in cells.items())


def render(table: Table, format: str = "text") -> str:
    if format not in FORMATS:
        raise PhysPlanError(f"There is no table format {format!r}: use {', '.join(FORMATS)}.")
    return FORMATS[format](table)


def _as_text(table: Table, width: float = TABLE_WIDTH) -> str:
    """As many blocks of columns, one below the other, as it takes to stay within `width`."""
    grid = _grid(table, emphasis=lambda cell: f"{cell}*")
    widths = [max(len(line[i]) for line in grid) for i in range(len(grid[0]))]
    parts = _wrapped(table.title, width)
    for columns in _blocks(widths, width):
        lines = [
            "  ".join([line[0].ljust(widths[0])] + [line[i].rjust(widths[i]) for i in columns])
            for line in grid
        ]
        rule = "-" * max(map(len, lines))
        parts += [rule, lines[0], rule, *lines[1:], rule]
    return "\n".join([line.rstrip() for line in parts] + _wrapped(table.note, width)) + "\n"


def _as_wide_text(table: Table) -> str:
    return _as_text(table, math.inf)


def _blocks(widths: Sequence[int], width: float) -> list[list[int]]:
    """The columns after the first, in as many blocks as fit beside it; one at least in each."""
    found: list[list[int]] = [[]]
    for index in range(1, len(widths)):
        if found[-1] and widths[0] + sum(2 + widths[i] for i in (*found[-1], index)) > width:
            found.append([])
        found[-1].append(index)
    return found


def _wrapped(text: str, width: float) -> list[str]:
    if len(text) <= width:
        return [text] if text else []
    return textwrap.wrap(text, int(width), break_long_words=False, break_on_hyphens=False)


def _as_markdown(table: Table) -> str:
    grid = [[c.replace("|", "\\|") for c in line] for line in _grid(table, lambda cell: f"**{cell}**")]
    lines = ["| " + " | ".join(line) + " |" for line in grid]
    ruler = "|---|" + "---:|" * (len(grid[0]) - 1)
    note = f"\n{table.note}\n" if table.note else ""
    return f"**{table.title}**\n\n" + "\n".join([lines[0], ruler, *lines[1:]]) + "\n" + note


def _as_latex(table: Table) -> str:
    def bold(cell: str) -> str:
        return f"\\textbf{{{cell}}}"

    grid = [[_escape(c) if i == 0 else c for c in line] for i, line in enumerate(_grid(table, bold, _escape))]
    body = [" & ".join(line) + r" \\" for line in grid]
    lines = [
        r"\begin{table}[t]",
        r"  \centering",
        rf"  \caption{{{_escape(' '.join(filter(None, [table.title + '.', table.note])))}}}",
        rf"  \begin{{tabular}}{{l{'r' * (len(grid[0]) - 1)}}}",
        r"    \toprule",
        f"    {body[0]}",
        r"    \midrule",
        *(f"    {line}" for line in body[1:]),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _as_csv(table: Table) -> str:
    """Full precision, intervals in columns of their own."""
    wide = [any(isinstance(row.cells[i], Interval) for row in table.rows) for i in range(len(table.columns))]
    head = [table.label]
    for column, interval in zip(table.columns, wide, strict=True):
        head += [column.title, *([f"{column.title} low", f"{column.title} high"] if interval else [])]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([csv_cell(cell) for cell in (*head, "source")])
    for row in table.rows:
        line: list[Cell] = [row.label]
        for cell, interval in zip(row.cells, wide, strict=True):
            if isinstance(cell, Interval):
                line += [cell.value, *(cell.bounds or ("", ""))]
            else:
                line += ["" if cell is None else cell, *(["", ""] if interval else [])]
        writer.writerow([csv_cell(cell) for cell in (*line, row.source)])
    return buffer.getvalue()


def csv_cell(value: Any) -> Any:
    """Text that a spreadsheet would compute gets an apostrophe: prompts come from anywhere."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def read_rows(path: Path, columns: Collection[str], what: str = "CSV") -> list[dict[str, str]]:
    """The rows of a CSV file with these columns, and any others; `what` it is, for its errors."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            names, rows = (
                reader.fieldnames or (),
                [{k: v or "" for k, v in row.items() if k} for row in reader],
            )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PhysPlanError(f"{path} cannot be read as {what} ({error}).") from None
    if missing := sorted(set(columns) - set(names)):
        raise PhysPlanError(f"{path} lacks the column(s) {', '.join(missing)}: it is no file of {what}.")
    if not rows:
        raise PhysPlanError(f"{path} has no rows.")
    return rows


def grid_of(table: Table) -> list[list[str]]:
    """Head and rows as plain strings."""
    return _grid(table, emphasis=lambda cell: f"{cell}*")


def _grid(
    table: Table, emphasis: Callable[[str], str], escape: Callable[[str], str] = str
) -> list[list[str]]:
    """Head and rows as strings; the best measured or reported value of a column is emphasised."""
    sources = any(row.source for row in table.rows)
    best = [_best(table, i) for i in range(len(table.columns))]
    grid = [[table.label, *(column.title for column in table.columns), *(["Source"] if sources else [])]]
    for row in table.rows:
        line = [escape(row.label)]
        for i, (cell, column) in enumerate(zip(row.cells, table.columns, strict=True)):
            text = escape(format_cell(cell, column.digits))
            stands_out = row.competes and best[i] is not None and _number(cell) == best[i]
            line.append(emphasis(text) if stands_out else text)
        grid.append(line + ([escape(row.source or "measured")] if sources else []))
    return grid


def format_cell(cell: Cell, digits: int) -> str:
    match cell:
        case None:
            return "-"
        case Interval():
            if cell.bounds is None:
                return f"{cell.value:.{digits}f} (too few)"
            low, high = cell.bounds
            digits = _digits_apart(low, high, digits)
            return f"{cell.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
        case str() | int():
            return str(cell)
        case _:
            return f"{cell:.{digits}f}"


def _digits_apart(low: float, high: float, digits: int) -> int:
    """As many as it takes to tell the bounds apart: 100 [99.6, 100.0] is no interval of zero width."""
    return next(d for d in range(digits, 18) if f"{low:.{d}f}" != f"{high:.{d}f}" or d == 17)


def _best(table: Table, index: int) -> float | None:
    choose = {"max": max, "min": min, None: None}[table.columns[index].best]
    numbers = [n for row in table.rows if row.competes and (n := _number(row.cells[index])) is not None]
    return choose(numbers) if choose and len(numbers) > 1 else None


def _number(cell: Cell) -> float | None:
    if isinstance(cell, Interval):
        return cell.value
    return float(cell) if isinstance(cell, int | float) else None


def _escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {character: "\\" + character for character in "&%$#_{}"}
    return "".join(special.get(character, character) for character in text)


FORMATS: dict[str, Callable[[Table], str]] = {
    "text": _as_text,
    "wide": _as_wide_text,
    "markdown": _as_markdown,
    "latex": _as_latex,
    "csv": _as_csv,
}
