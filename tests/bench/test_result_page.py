"""The static result page in a real browser, from disk: filters, step, links, hostile words, 500 cases."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from physplan.cli import main
from physplan.video.files import write_video
from physplan_bench.pairs import compare
from physplan_bench.records import Record, load_result, plain_records, records_of, write_table
from physplan_bench.result_page.page import PageContent, write_page

HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"><!-- & 'words'"


def make_records(folder: Path, scenes: int, *, flip: int = -1) -> list[Record]:
    """Two methods; `sketch` is right on even scenes, and otherwise on scene `flip`."""
    for method, frames in (("base", 8), ("sketch", 16)):
        video = torch.linspace(0, 1, frames)[:, None, None, None].expand(frames, 3, 48, 64).contiguous()
        write_video(folder / f"{method}.mp4", video, fps=8)
    return [
        Record(
            scene=str(scene),
            method=method,
            score=100.0 * good,
            good=bool(good),
            phenomenon="melting" if scene % 3 else "falling",
            verdict="holds" if good else "fails",
            failure="" if good else "another outcome",
            prompt=HOSTILE if scene == 0 else f"scene number {scene}",
            plan=("Frame 8: cube: melted",),
            video=str(folder / f"{method}.mp4"),
            values={"margin": 0.25},
        )
        for scene in range(scenes)
        for method in ("base", "sketch")
        for good in [method == "sketch" and (scene % 2 == 0 or scene == flip)]
    ]


def open_page(chromium: Any, folder: Path, width: int, *, scheme: str = "light", at: str = "") -> Any:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda said: page.errors.append(said.text) if said.type == "error" else None)
    page.goto(f"file://{folder / 'index.html'}{at}")
    return page


def wait_for(page: Any, condition: str) -> None:
    """Playwright's own waiting evaluates text in the page, which its policy forbids."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("result")
    content = PageContent(title=HOSTILE, tables=(), records=make_records(folder, 8))
    return write_page(content, folder / "page").parent


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_filters_and_links_work_from_disk(chromium: Any, small: Path, width: int, scheme: str) -> None:
    page = open_page(chromium, small, width, scheme=scheme)
    assert page.locator("article").count() == 8
    assert page.title() == HOSTILE
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.select_option("#phenomenon", "falling")
    page.select_option("#outcome", "good")
    assert page.locator("#count").inner_text() == "2 of 8 cases"
    linked = open_page(chromium, small, width, at=page.evaluate("location.hash"))
    assert linked.locator("article").count() == 2
    one = open_page(chromium, small, width, at="#case=5.0")
    assert one.locator("article.linked h3").inner_text() == "Scene 5"
    assert one.evaluate("document.querySelector('.linked').getBoundingClientRect().top") < 900
    assert page.errors == linked.errors == one.errors == []
    assert HOSTILE in page.locator("h1").inner_text()


def test_videos_of_a_case_play_in_step(chromium: Any, small: Path) -> None:
    page = open_page(chromium, small, 1440, at="#case=3.0")
    card = page.locator("article.linked")
    card.locator("video").nth(1).wait_for()
    wait_for(page, "[...document.querySelectorAll('.linked video')].every(v => v.duration > 0)")
    card.locator("input[type=range]").evaluate("s => { s.value = 500; s.dispatchEvent(new Event('input')); }")
    times = "[...document.querySelectorAll('.linked video')].map(v => v.currentTime / v.duration)"
    assert page.evaluate(times) == pytest.approx([0.5, 0.5], abs=0.01)  # each over its own length
    card.locator("button").click()
    wait_for(page, f"{times}[0] > 0.6 || {times}[0] < 0.4")
    here, there = page.evaluate(times)
    assert abs(here - there) < 0.25
    assert page.errors == []


def test_500_cases_open_at_once_and_load_only_what_is_seen(chromium: Any, tmp_path: Path) -> None:
    """The aim is 2 s on a free machine; the bound leaves room for the suite's other half beside it."""
    write_page(PageContent(title="many", tables=(), records=make_records(tmp_path, 500)), tmp_path / "page")
    begun = time.perf_counter()
    page = open_page(chromium, tmp_path / "page", 1440)
    page.locator("article video").first.wait_for()
    assert time.perf_counter() - begun < 4
    assert page.locator("article").count() == 500
    assert 0 < page.locator("video").count() < 60


def test_two_results_are_compared_pair_by_pair(
    chromium: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, flip in (("before", -1), ("after", 3)):
        records = [r.moved(Path("/"), tmp_path) for r in make_records(tmp_path, 8, flip=flip)]
        plain = {"benchmark": "sandbox", "records": plain_records(records)}
        (tmp_path / f"{name}.json").write_text(json.dumps(plain))
    files = [str(tmp_path / "before.json"), str(tmp_path / "after.json")]
    assert main(["evaluate", "compare", *files, "--json", "-o", str(tmp_path / "page")]) == 0
    assert load_result(tmp_path / "page" / "result.json")["benchmark"] == "comparison"
    found = {one["method"]: one for one in json.loads(capsys.readouterr().out)["compared"]}
    assert found["sketch, after"]["won"] == 1
    assert found["sketch, after"]["difference"]["value"] == pytest.approx(12.5)
    assert found["base, after"]["won"] == found["base, after"]["lost"] == 0
    page = open_page(chromium, tmp_path / "page", 1440, at="#outcome=won")
    assert page.locator("article h3").all_inner_texts() == ["Scene 3"]
    assert page.locator("video").count() == 4


def test_results_without_common_scenes_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, scene in (("a", "1"), ("b", "2")):
        records = plain_records([Record(scene=scene, method="base", score=1.0)])
        (tmp_path / f"{name}.json").write_text(json.dumps({"records": records}))
    assert main(["evaluate", "compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) != 0
    assert "share no method, scene and seed" in capsys.readouterr().err


def test_views_of_one_scenario_are_one_cluster() -> None:
    rng = np.random.default_rng(0)
    gain = np.repeat(rng.normal(size=12), 3)  # views of a scenario agree
    rows = [
        Record(scene=str(i), method=m, score=float(gain[i] * (m == "new")), cluster=c)
        for m in ("old", "new")
        for i, c in enumerate(np.repeat([f"s{k}" for k in range(12)], 3))
    ]
    alone = [Record(**{**vars(row), "cluster": ""}) for row in rows]
    wide, narrow = compare(rows, "new", "old"), compare(alone, "new", "old")
    assert wide
    assert narrow
    assert wide.difference.bounds
    assert narrow.difference.bounds
    assert np.ptp(wide.difference.bounds) > 1.3 * np.ptp(narrow.difference.bounds)


def test_records_come_back_from_json_and_go_to_tables(tmp_path: Path) -> None:
    records = make_records(tmp_path, 3)
    (tmp_path / "r.json").write_text(json.dumps({"records": plain_records(records)}))
    assert records_of(load_result(tmp_path / "r.json")) == records
    write_table(records, tmp_path / "cases.csv")
    lines = (tmp_path / "cases.csv").read_text().splitlines()
    assert lines[0].startswith("scene,method,score")
    assert len(lines) == 7
    pyarrow = pytest.importorskip("pyarrow.parquet")
    write_table(records, tmp_path / "cases.parquet")
    assert pyarrow.read_table(tmp_path / "cases.parquet").column("score").to_pylist()[1] == 100.0
