"""The study's result as a table, and as a picture: bars, or curves over the editor's levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from physplan.evaluation.bootstrap import Interval
from physplan.evaluation.plots import bar_plot, curve_plot
from physplan.evaluation.reported import reported_rows
from physplan.evaluation.tables import Column, Row, Table

SHARES = {
    "plausible": "Plausible %",
    "plausible_and_preserved": "and the rest kept %",
    "plausible_events": "Events %",
}
SHOWN = {**SHARES, "physics_iq": "Physics-IQ"}


def make_table(result: Mapping[str, Any]) -> Table:
    about = result["provenance"]["settings"]
    first, last = about["scenes"]
    seeds = len(result["provenance"]["seeds"])
    return Table(
        title=f"The sandbox: {last - first + 1} {about['split']} scenes, "
        f"{seeds} {'seed' if seeds == 1 else 'seeds'}",
        columns=(
            *(Column(title=title, digits=0, best="max") for title in SHOWN.values()),
            Column(title="less physplan", digits=0),
            Column(title="won : lost"),
            Column(title="s", digits=1),
        ),
        rows=tuple(
            Row(
                label=label,
                cells=(*(Interval(**row[key]) for key in SHOWN), *_beside(row), row["seconds"]),
            )
            for label, row in result["arms"].items()
        ),
        note="95 % bootstrap intervals over scenes. Less physplan: plausible, pair by pair at the same level;"
        " won and lost: videos plausible here and not there, and the other way round; s: median time of one"
        " video.",
        unit="%",
        reported=reported_here(),
    )


def reported_here() -> tuple[Row, ...]:
    """The paper has no sandbox: its averages of the same formula, over the real videos of Physics-IQ."""
    place = list(SHOWN).index("physics_iq")
    return tuple(
        Row(
            label=f"{row.label}, real videos",
            cells=(*[None] * place, row.cells[-1], None, None, None),
            source=row.source,
        )
        for row in (*reported_rows("physics-iq"), *reported_rows("ablation")[1:])
    )


def _beside(row: Mapping[str, Any]) -> tuple[Interval | None, str | None]:
    found = row.get("beside_physplan")
    return (Interval(**found["plausible"]), f"{found['won']} : {found['lost']}") if found else (None, None)


def draw(result: Mapping[str, Any], path: Path) -> None:
    """A curve over the editor's levels when there are several, else bars."""
    arms = list(result["arms"].values())
    curves = {
        f"{name}, {words}": [(row["level"], Interval(**row[key])) for row in _levels(arms, name)]
        for name in ("frame_guidance", "physplan")
        for key, words in (("plausible", "plausible"), ("plausible_and_preserved", "and the rest kept"))
        if len(_levels(arms, name)) > 1
    }
    if curves:
        title = "As the image editor gets worse"
        curve_plot(curves, path, title=title, xlabel="editor's error level", ylabel="% of videos")
    else:
        bar_plot(make_table(result), path, columns=list(SHARES.values()))


def _levels(arms: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return sorted((row for row in arms if row["method"] == name), key=lambda row: row["level"])
