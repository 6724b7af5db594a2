"""The study's result as a table, and as a picture: bars, or curves over the editor's levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from physplan_bench.bootstrap import Interval
from physplan_bench.paper_tables import reported_rows
from physplan_bench.plots import bar_plot, curve_plot, point_plot
from physplan_bench.sandbox.arms import EDITOR_LEVEL, PROPOSED, TRUTH
from physplan_bench.sandbox.summary import baseline
from physplan_bench.tables import Best, Column, Row, Table, format_cell, titled

SHARES = {
    "plausible": "Plausible %",
    "plausible_and_preserved": "and the rest kept %",
    "plausible_events": "Events %",
}
SHOWN = {**SHARES, "physics_iq": "Physics-IQ"}
LOOKS: Mapping[str, tuple[str, int, Best]] = {  # title, digits, which value stands out
    "centroid_error": ("Centroid %", 1, "min"),
    "rest_changed": ("Rest changed %", 1, "min"),
    "frechet.encoder": ("Frechet", 0, "min"),
    "frechet.sight": ("by segmenter", 0, "min"),
    "flicker": ("Flicker %", 0, None),
    "edges": ("Edges %", 0, None),
}


NOTE = (
    "95 % intervals over scenes (bootstrap; Frechet: jackknife). Less {}: plausible, pair by pair"
    " at the same level; won and lost: videos plausible here and not there, and the other way round."
    " Centroid: distance of moving objects to the truth between anchors, % of the frame. Rest changed: mean"
    " change of the pixels of what should stay, % of the range. Frechet: clip"
    " features to true videos, 100 is as far as these vary, by the encoder and by the segmenter."
    " Flicker, edges: % of the truth's. CPU s: mean of a video with its verdict; s: median time of one video."
)


def make_table(result: Mapping[str, Any]) -> Table:
    rows = result["arms"]
    tried = any(row["attempts"]["value"] > 1 for row in rows.values())
    compared = baseline([row["method"] for row in rows.values()]) or PROPOSED
    return Table(
        title=title_of(result["provenance"]),
        columns=(
            *titled(*SHOWN.values(), digits=0, best="max"),
            *titled(f"less {compared}", "won : lost", digits=0),
            *(Column(title=title, digits=digits, best=best) for title, digits, best in LOOKS.values()),
            *titled(*(["Attempts"] if tried else []), "CPU s", "s", digits=1),
        ),
        rows=tuple(
            Row(
                label=label,
                cells=(
                    *(Interval(**row[key]) for key in SHOWN),
                    *_beside(row),
                    *_looks(row),
                    *([row["attempts"]["value"]] if tried else []),
                    row["cpu_seconds"]["value"],
                    row["seconds"],
                ),
                competes=row["method"] != TRUTH,
            )
            for label, row in rows.items()
        ),
        note=" ".join([NOTE.format(compared), *filter(None, [_about_verdicts(result)])]),
        unit="%",
        reported=reported_here(len(LOOKS) + 4 + tried),
    )


def title_of(about: Mapping[str, Any]) -> str:
    settings, seeds = about["settings"], len(about["seeds"])
    kind = "" if settings["subset"] == "all" else f"{settings['subset']} "
    return (
        f"The sandbox: {settings['number_of_scenes']} {kind}{settings['split']} scenes, "
        f"{seeds} {'seed' if seeds == 1 else 'seeds'}"
    )


def _looks(row: Mapping[str, Any]) -> tuple[Interval | float | None, ...]:
    """Movement and realism; the small figures without their intervals, which are in the JSON."""
    distances = row["frechet"]
    return (
        *(row[key] and Interval(**row[key]) for key in ("centroid_error", "rest_changed")),
        *(distances.get(network) and Interval(**distances[network]) for network in ("encoder", "sight")),
        row["flicker"]["value"],
        row["edges"]["value"],
    )


def _about_verdicts(result: Mapping[str, Any]) -> str:
    """The verification against the judge, in one sentence."""
    found = result["verdicts"].get("together")
    if not found or not found["area_under_curve"]:
        return ""
    area, precision, recall = (
        Interval(**found[key]) if found[key] else None for key in ("area_under_curve", "precision", "recall")
    )
    return (
        f"Verdict against judge, {found['videos']} videos: area under the curve "
        f"{format_cell(area, 2)}; holds: precision {format_cell(precision, 2)}, recall "
        f"{format_cell(recall, 2)}."
    )


def reported_here(others: int) -> tuple[Row, ...]:
    """The paper has no sandbox: its averages of the same formula, over the real videos of Physics-IQ."""
    place = list(SHOWN).index("physics_iq")
    return tuple(
        Row(
            label=f"{row.label}, real videos",
            cells=(*[None] * place, row.cells[-1], *[None] * others),
            source=row.source,
        )
        for row in (*reported_rows("physics-iq"), *reported_rows("ablation")[1:])
    )


def _beside(row: Mapping[str, Any]) -> tuple[Interval | None, str | None]:
    found = row.get("beside_proposed")
    return (Interval(**found["plausible"]), f"{found['won']} : {found['lost']}") if found else (None, None)


def draw(result: Mapping[str, Any], path: Path) -> None:
    """A curve over the editor's levels when there are several, else bars; beside it, right against real."""
    rows = result["arms"]
    names = list(dict.fromkeys(row["method"] for row in rows.values()))
    leveled = {name: _levels(list(rows.values()), name) for name in names}
    curves = {
        name: [(row["level"], Interval(**row["plausible_and_preserved"])) for row in found]
        for name, found in leveled.items()
        if len(found) > 1
    }
    if curves:
        title = "Plausible and the rest kept, as the image editor gets worse"
        curve_plot(curves, path, title=title, xlabel="editor's error level", ylabel="% of videos")
    else:
        bar_plot(make_table(result), path, columns=list(SHARES.values()))
    points = {
        label: (Interval(**row["frechet"]["encoder"]), Interval(**row["plausible_and_preserved"]))
        for label, row in rows.items()
        if row["frechet"] and row["level"] == EDITOR_LEVEL
    }
    if points:
        point_plot(
            points,
            path.with_name(f"{path.stem}-realism{path.suffix}"),
            title="Right, and real?",
            xlabel="Frechet distance of clip features to true videos",
            ylabel="plausible and the rest kept, %",
        )


def _levels(arms: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    return sorted((row for row in arms if row["method"] == name), key=lambda row: row["level"])
