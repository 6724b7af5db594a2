"""Plots of results, as PNG or SVG (extra `eval`). The same input gives the same SVG file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan.extras import install_command
from physplan.files import atomic_path
from physplan_bench.bootstrap import Interval
from physplan_bench.tables import REPORTED, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Distinct for colour-blind readers and in print (Okabe and Ito).
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
MARKERS = ("o", "s", "^", "D")  # where there are more methods than colours


def bar_plot(
    table: Table, path: Path, *, columns: Sequence[str] | None = None, line: float | None = None
) -> None:
    """Groups of bars: one group per column, one bar per row; intervals as whiskers, reported rows hatched.

    `line` marks a value that means something, such as no preference.
    """
    wanted = [i for i, column in enumerate(table.columns) if columns is None or column.title in columns]
    figure = _figure(width=max(5.0, 1.1 + 0.28 * len(wanted) * len(table.rows) + 0.4 * len(wanted)))
    axes = figure.add_subplot()
    width = 0.82 / max(len(table.rows), 1)
    for j, row in enumerate(table.rows):
        points = [(k, cell) for k, i in enumerate(wanted) if _plottable(cell := row.cells[i])]
        values = [_value(cell) for _, cell in points]
        axes.bar(
            [k + (j - (len(table.rows) - 1) / 2) * width for k, _ in points],
            values,
            width=width * 0.92,
            color=COLOURS[j % len(COLOURS)],
            hatch="///" if row.source == REPORTED else None,
            edgecolor="white",
            yerr=_whiskers([cell for _, cell in points]),
            error_kw={"elinewidth": 1, "capsize": 2.5, "ecolor": "#333333"},
            label=f"{row.label} (reported)" if row.source == REPORTED else row.label,
        )
    if line is not None:
        axes.axhline(line, color="#555555", linewidth=1, linestyle="--", zorder=3)
    axes.set_xticks(range(len(wanted)), [fill(table.columns[i].title, width=14) for i in wanted])
    _finish(figure, axes, table.title, table.unit, path)


def curve_plot(
    curves: Mapping[str, Sequence[tuple[float, float | Interval]]],
    path: Path,
    *,
    title: str,
    xlabel: str,
    ylabel: str,
) -> None:
    """One line per method over a number, such as the editor's error level or the number of events."""
    figure = _figure(width=5.4)
    axes = figure.add_subplot()
    for j, (label, points) in enumerate(curves.items()):
        xs = [x for x, _ in points]
        cells = [cell for _, cell in points]
        colour = COLOURS[j % len(COLOURS)]
        axes.plot(xs, [_value(cell) for cell in cells], marker="o", color=colour, label=label)
        if all(isinstance(cell, Interval) for cell in cells):
            bounds = [cell.bounds or (math.nan, math.nan) for cell in cells if isinstance(cell, Interval)]
            low, high = zip(*bounds, strict=True)
            axes.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)
    every = sorted({x for points in curves.values() for x, _ in points})
    axes.set_xticks(every, [f"{x:g}" for x in every])
    axes.set_xlabel(xlabel)
    _finish(figure, axes, title, ylabel, path)


def point_plot(
    points: Mapping[str, tuple[Interval, Interval]], path: Path, *, title: str, xlabel: str, ylabel: str
) -> None:
    """One point per method, two figures against each other, with both intervals."""
    figure = _figure(width=6.4, height=max(3.6, 0.8 + 0.2 * len(points)))
    axes = figure.add_subplot()
    for j, (label, (x, y)) in enumerate(points.items()):
        axes.errorbar(
            [x.value],
            [y.value],
            xerr=_whiskers([x]),
            yerr=_whiskers([y]),
            fmt=MARKERS[j // len(COLOURS) % len(MARKERS)],
            color=COLOURS[j % len(COLOURS)],
            elinewidth=0.8,
            label=label,
        )
    axes.set_xlabel(xlabel)
    _finish(figure, axes, title, ylabel, path)


def _figure(*, width: float, height: float = 3.6) -> Figure:
    try:
        import matplotlib
    except ImportError as error:
        raise PhysPlanError(f"Plots need matplotlib: {install_command('eval')}.") from error
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    return Figure(figsize=(min(width, 14.0), height), layout="constrained")


def _finish(figure: Figure, axes: Any, title: str, ylabel: str, path: Path) -> None:
    import matplotlib

    suffix = path.suffix.lower()
    if suffix not in (".png", ".svg"):
        raise PhysPlanError(f"A plot is written as .png or .svg, not as {path.name!r}.")
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")  # as wide as the figure, legend included
    axes.set_ylabel(ylabel)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
    with matplotlib.rc_context({"svg.hashsalt": "physplan"}), atomic_path(path) as temporary:
        figure.savefig(temporary, format=suffix[1:], dpi=160, bbox_inches="tight", metadata=metadata)


def _plottable(cell: Any) -> bool:
    return isinstance(cell, int | float | Interval)


def _value(cell: Any) -> float:
    return cell.value if isinstance(cell, Interval) else float(cell)


def _whiskers(cells: Sequence[Any]) -> Any:
    if not any(isinstance(cell, Interval) for cell in cells):
        return None
    pairs = [
        (cell.value - cell.bounds[0], cell.bounds[1] - cell.value)
        if isinstance(cell, Interval) and cell.bounds
        else (math.nan, math.nan)
        for cell in cells
    ]
    return [[max(length, 0.0) for length in side] for side in zip(*pairs, strict=True)]
