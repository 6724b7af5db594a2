"""Tables in four formats, plots in two, the paper's rows, bootstrap intervals."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from physplan.errors import PhysPlanError
from physplan_bench.bootstrap import Interval, cluster_bootstrap, paired_difference
from physplan_bench.paper_tables import NAMES, reported_rows, reported_table
from physplan_bench.plots import bar_plot, curve_plot, point_plot
from physplan_bench.provenance import provenance
from physplan_bench.tables import REPORTED, Column, Row, Table, format_cell, render

TABLE = Table(
    title="Scores & more",
    columns=(Column(title="A", best="max"), Column(title="B_1", digits=1, best="min"), Column(title="n")),
    rows=(
        Row(label="base", cells=(1.005, 5.0, 3)),
        Row(label="ours | 100%", cells=(Interval(value=2.5, low=2.0, high=3.25), None, 3)),
        Row(label="theirs", cells=(0.5, 7.25, None), source=REPORTED),
    ),
    note="A note.",
)


def test_text_aligns_and_marks_the_best() -> None:
    lines = render(TABLE).splitlines()
    assert lines[0] == "Scores & more"
    assert "2.50 [2.00, 3.25]*" in lines[5]
    assert "5.0*" in lines[4]
    assert lines[6].endswith("reported")
    assert lines[4].endswith("measured")
    assert len({line.index("measured") + 8 for line in lines[4:6]} | {len(lines[6])}) == 1
    assert lines[-1] == "A note."


def test_a_row_to_compare_with_is_never_the_best() -> None:
    perfect = Row(label="the truth", cells=(9.0, 1.0, 3), competes=False)
    lines = render(replace(TABLE, rows=(*TABLE.rows, perfect))).splitlines()
    assert "2.50 [2.00, 3.25]*" in lines[5]
    assert "9.00*" not in lines[7]


def test_markdown_is_a_table_with_bold_best() -> None:
    lines = render(TABLE, "markdown").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert "**2.50 [2.00, 3.25]**" in rows[3]
    assert "ours \\| 100%" in rows[3]
    assert "| - |" in rows[3]


def test_latex_escapes_what_it_must() -> None:
    text = render(TABLE, "latex")
    assert r"\caption{Scores \& more. A note.}" in text
    assert r"B\_1" in text
    assert r"ours | 100\%" in text
    assert r"\textbf{5.0}" in text
    assert text.count(r" \\") == 4


def test_csv_has_full_precision_and_intervals_in_columns() -> None:
    rows = list(csv.DictReader(io.StringIO(render(TABLE, "csv"))))
    assert rows[0]["A"] == "1.005"
    assert (rows[1]["A"], rows[1]["A low"], rows[1]["A high"]) == ("2.5", "2.0", "3.25")
    assert rows[1]["B_1"] == ""
    assert rows[2]["source"] == REPORTED


def test_unknown_formats_and_uneven_rows_are_refused() -> None:
    with pytest.raises(PhysPlanError, match="no table format 'html'"):
        render(TABLE, "html")
    with pytest.raises(ValueError, match="has 1 cells, not 3"):
        replace(TABLE, rows=(Row(label="x", cells=(1,)),))


def test_the_papers_rows_stand_beside_ours_only_where_there_are_some() -> None:
    paper = Row(label="paper", cells=(1.0, 2.0, 3.0), source=REPORTED)
    table = replace(TABLE, reported=(paper,)).with_reported()
    assert table.rows == (paper, *TABLE.rows)
    with pytest.raises(PhysPlanError, match="no figures that may stand beside"):
        TABLE.with_reported()


@pytest.mark.parametrize("name", NAMES)
def test_every_table_of_the_paper_is_marked_as_reported(name: str) -> None:
    assert {row.source for row in reported_rows(name)} == {REPORTED}
    for format in ("text", "markdown", "latex", "csv"):
        assert REPORTED in render(reported_table(name), format)


def test_the_papers_averages_are_those_of_its_categories() -> None:
    weights = np.array([114, 45, 24, 6, 9])
    for row in reported_rows("physics-iq"):
        average = float(np.dot(weights, row.cells[:5]) / 198)
        # VLIPP's printed average, 34.6, is not the one of its categories, 34.96
        assert row.cells[5] == pytest.approx(average, abs=0.4 if row.label == "VLIPP" else 0.1), row.label
    for row in reported_rows("phygenbench"):
        average = float(np.dot([40, 50, 30, 40], row.cells[:4]) / 160)
        assert row.cells[4] == pytest.approx(average, abs=0.011), row.label


def test_an_unknown_table_of_the_paper_is_refused(evaluate_command) -> None:
    code, _, err = evaluate_command("paper", "table 9")
    assert code == 2
    assert "The paper has no table 'table 9'" in err
    code, out, _ = evaluate_command("paper", "vbench", "--format", "markdown")
    assert code == 0
    assert "84.88" in out


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_plots_are_written(tmp_path: Path, suffix: str) -> None:
    bars, curves = tmp_path / f"bars{suffix}", tmp_path / f"curves{suffix}"
    bar_plot(TABLE, bars)
    points = [(level, Interval(value=0.9 - level / 10, low=0.8 - level / 10, high=1.0)) for level in range(4)]
    curve_plot({"a": points, "b": [(0, 0.5), (3, 0.2)]}, curves, title="t", xlabel="error", ylabel="share")
    both, x = tmp_path / f"points{suffix}", Interval(value=3.0, low=2.0, high=4.0)
    point_plot({f"method {i}": (x, points[0][1]) for i in range(20)}, both, title="t", xlabel="x", ylabel="y")
    for path in (bars, curves, both):
        if suffix == ".png":
            with Image.open(path) as image:
                image.load()
                assert len(image.getcolors(1 << 20)) > 10
        else:
            assert "(reported)" in path.read_text() or path != bars
    again = tmp_path / f"again{suffix}"
    bar_plot(TABLE, again)
    assert again.read_bytes() == bars.read_bytes()


def test_a_plot_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match=r"\.png or \.svg"):
        bar_plot(TABLE, tmp_path / "x.pdf")


def test_the_interval_of_clusters_is_wider_than_that_of_single_rows() -> None:
    rng = np.random.default_rng(0)
    scene = rng.normal(size=40)
    rows = np.repeat(scene, 3) + 0.01 * rng.normal(size=120)  # three seeds that hardly differ
    clusters = [i // 3 for i in range(120)]
    together = cluster_bootstrap(rows, clusters)
    apart = cluster_bootstrap(rows, list(range(120)))
    assert together.value == apart.value == pytest.approx(rows.mean())
    assert together.bounds is not None
    assert apart.bounds is not None
    low, high = together.bounds
    assert low < together.value < high
    ratio = (high - low) / (apart.bounds[1] - apart.bounds[0])
    assert ratio == pytest.approx(np.sqrt(3), rel=0.15)
    # and it is what theory says: 1.96 standard errors of 40 scenes on either side
    assert high - low == pytest.approx(2 * 1.96 * scene.std() / np.sqrt(40), rel=0.15)


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        rows = np.repeat(rng.normal(size=30), 2)
        interval = cluster_bootstrap(rows, [i // 2 for i in range(60)], resamples=200)
        assert interval.bounds is not None
        covered += interval.bounds[0] <= 0 <= interval.bounds[1]
    assert 0.87 < covered / 200 < 0.99


def test_seeds_make_intervals_repeatable_and_any_statistic_works() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 2)) + 3
    clusters = [i // 3 for i in range(30)]
    ratio = lambda sample: float(sample[:, 0].mean() / sample[:, 1].mean())  # noqa: E731
    one = cluster_bootstrap(rows, clusters, statistic=ratio)
    assert one == cluster_bootstrap(rows, clusters, statistic=ratio)
    assert one != cluster_bootstrap(rows, clusters, statistic=ratio, seed=1)
    assert one.value == ratio(rows)


def test_paired_differences_need_pairs() -> None:
    rows = np.array([1.0, 0.0, 1.0, 1.0])
    interval = paired_difference(rows, np.array([0.0, 0.0, 1.0, 0.0]), ["a", "a", "b", "b"])
    assert interval.value == 0.5
    with pytest.raises(PhysPlanError, match="same scenes and seeds"):
        paired_difference(rows, rows[:2], ["a"])


@pytest.mark.parametrize(("rows", "clusters"), [([], []), ([1.0], ["a", "b"])])
def test_an_interval_of_nothing_is_refused(rows, clusters) -> None:
    with pytest.raises(PhysPlanError):
        cluster_bootstrap(np.array(rows), clusters)


def test_every_result_says_where_it_comes_from() -> None:
    record = provenance(protocol="p", judge="j", settings={"a": 1}, seeds=[0, 1])
    assert record["protocol"] == "p"
    assert record["judge"] == "j"
    assert record["seeds"] == [0, 1]
    assert record["settings"] == {"a": 1}
    assert {"physplan", "python", "numpy", "torch"} <= set(record["versions"])


def test_two_scenes_have_no_interval_and_a_table_says_so() -> None:
    found = cluster_bootstrap(np.array([6207.0, 6207.0]), ["a", "b"])
    assert found.bounds is None
    assert format_cell(found, 0) == "6207 (too few)"
    assert format_cell(Interval(value=100.0, low=100.0, high=100.0), 0) == "100 (too few)"  # a stored result
    same = cluster_bootstrap(np.full(8, 100.0), list(range(8)), share_of=100)
    assert format_cell(same, 0) == "100 [63, 100]"  # eight of eight, exactly


def test_a_wide_table_is_folded_at_120_columns_and_one_line_on_request() -> None:
    columns = tuple(Column(title=f"a long title {n:02}") for n in range(12))
    rows = tuple(Row(label=name, cells=tuple(range(12))) for name in ("base", "guided_sketch"))
    table = Table(title="t " * 100, columns=columns, rows=rows, note="words " * 50)
    text = render(table).splitlines()
    assert max(map(len, text)) <= 120
    assert sum(line.startswith("Method") for line in text) == 2
    assert sum(line.startswith("guided_sketch") for line in text) == 2
    for column in columns:
        assert sum(column.title in line for line in text) == 1
    (row,) = (line for line in render(table, "wide").splitlines() if line.startswith("base"))
    assert row.split() == ["base", *map(str, range(12))]


def test_no_rounding_makes_an_interval_of_zero_width() -> None:
    assert format_cell(Interval(value=99.8, low=99.62, high=100.0), 0) == "99.8 [99.6, 100.0]"
    assert Interval.of(0.3, 0.1 + 0.2, 0.3).bounds is None  # apart by the last bit alone
    rows = np.repeat(0.1, 6 * 7 + 1)  # clusters of other sizes: sums are rounded in other ways
    assert cluster_bootstrap(rows, [0, *np.repeat(np.arange(7), 6)]).bounds is None
