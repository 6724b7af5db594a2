"""`physplan batch`: rows are checked before anything starts, made once, shown in a table and on a page."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import re
from dataclasses import dataclass
from functools import partial
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from physplan.calls.ledger import Ledger
from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.files import TEMPORARY
from physplan.pipeline.config_loading import read_assignments
from physplan_bench.batch.gallery import page
from physplan_bench.batch.jobs import Job, claim_folder, make_job, make_video_maker
from physplan_bench.batch.rows import Row, read_rows
from physplan_bench.batch.sharing import in_order, shared_groups
from physplan_bench.batch.summary import Entry
from physplan_bench.tables import Column, Table, csv_cell, render
from physplan_bench.tables import Row as Row_
from physplan_bench.videos import probe
from physplan_testing.ice import PROMPT, ice_on_a_tray
from physplan_testing.loopback import Answer, GeminiServer

QUICK = {"video.num_inference_steps": 2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ice_on_a_tray().save(tmp_path / "ice.png")
    return tmp_path


def rows(path: Path) -> list[Row]:
    return read_rows(path, lambda row: row)


def write_lines(path: Path, *entries: object) -> Path:
    path.write_text(
        "".join(f"{entry if isinstance(entry, str) else json.dumps(entry)}\n" for entry in entries)
    )
    return path


def test_csv_and_json_lines_say_the_same(folder: Path) -> None:
    (folder / "v.csv").write_text(
        "\ufeffimage,prompt,seed,method,name,video.fps,guided_sketch.schedule\n"
        'ice.png,"ice, in\nthe sun",3,base,first,16,\n\n'
        'sub/a.png,a ball rolls,,,,,"{repeats: [1], travel: [0, 1]}"\n',
        encoding="utf-8",
    )
    schedule = {"repeats": [1], "travel": [0, 1]}
    write_lines(
        folder / "v.jsonl",
        {"image": "ice.png", "prompt": "ice, in\nthe sun", "seed": 3, "method": "base", "name": "first"}
        | {"video.fps": 16},
        "",
        {"image": "sub/a.png", "prompt": "a ball rolls", "settings": {"guided_sketch.schedule": schedule}},
    )  # fmt: skip
    from_csv, from_json = rows(folder / "v.csv"), rows(folder / "v.jsonl")
    assert [row.line for row in from_csv] == [2, 5]  # the first takes two lines
    assert [row.line for row in from_json] == [1, 3]
    for one, two in zip(from_csv, from_json, strict=True):
        assert {**vars(one), "line": 0} == {**vars(two), "line": 0}
    assert from_csv[1].image == folder / "sub" / "a.png"
    assert (from_csv[1].seed, from_csv[1].method) == (0, "")


def test_a_row_keeps_its_name_when_it_moves_in_its_file(folder: Path) -> None:
    one, two = ({"image": "ice.png", "prompt": "ice melts", "seed": seed} for seed in (0, 1))
    before = [row.name for row in rows(write_lines(folder / "a.jsonl", one, two))]
    assert [row.name for row in rows(write_lines(folder / "b.jsonl", two, one))] == before[::-1]
    assert before[0].startswith("ice-ice-melts-0-")


def test_every_bad_line_is_named_at_once_and_nothing_is_written(folder: Path, capsys) -> None:
    good = {"image": "ice.png", "prompt": PROMPT, "method": "base", **QUICK}
    path = write_lines(
        folder / "v.jsonl",
        good,
        {**good, "image": "none.png"},
        {**good, "seed": -1},
        {**good, "seed": 1.5},
        {**good, "method": "bse"},
        {**good, "video.num_inference_steps": "ten"},
        {**good, "vide.fps": 3},
        {**good, "promt": "x"},
        {**good, "reasoner.name": "sandboks"},
        {"image": "ice.png"},
        "{",
        "[1]",
        good,
        {"image": "ice.png", "prompt": "two bishops play the organ"},
    )
    assert main(["batch", str(path), "-o", str(folder / "out")]) == 2
    said = capsys.readouterr().err
    expected = {
        2: "none.png",
        3: "the seed is -1",
        4: "the seed is 1.5",
        5: "There is no method 'bse'",
        6: "video.num_inference_steps is 'ten'",
        7: "There is no setting",
        8: "there is no column 'promt'. Did you mean 'prompt'?",
        9: "There is no reasoner called 'sandboks'",
        10: "the prompt is missing",
        11: "this is not JSON",
        12: "this is no object",
        13: "it asks for the same video as line 1",
    }
    for line, words in expected.items():
        assert re.search(rf"v\.jsonl, line {line}: .*{re.escape(words)}", said, re.IGNORECASE), (line, said)
    assert "And 1 more bad lines." in said
    assert "line 1:" not in said
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "v.csv",
            b"image,prompt,name\nice.png,a ball rolls,../x\n",
            "line 2: the name '../x' is no file name",
        ),
        ("v.csv", b"image,prompt\nice.png,bishops\n", "line 2: The sandbox does not know"),
        ("v.txt", b"x", "neither CSV nor JSON lines"),
        ("v.csv", b"image,prompt\n", "holds no row"),
        ("v.csv", b"", "holds no row"),
        ("v.csv", b"\xff\xfe", "is not UTF-8 text"),
        ("v.csv", b'image,prompt\n"a', "line 2: this is not CSV"),
        ("v.csv", b"image,prompt\na,b,c\n", "line 2: there are more cells than the 2 columns"),
        ("v.jsonl", b"\n\n", "holds no row"),
    ],
)
def test_a_file_that_is_none_is_one_sentence(folder: Path, capsys, name, content, message) -> None:
    (folder / name).write_bytes(content)
    assert main(["batch", str(folder / name), "-o", str(folder / "out")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
    assert not (folder / "out").exists()


def test_a_batch_is_made_shown_and_gone_on_with(folder: Path, capsys) -> None:
    path, out = folder / "v.jsonl", folder / "out"
    good = {"image": "ice.png", "prompt": PROMPT, "method": "base", **QUICK}
    Image.new("RGB", (96, 96), "white").save(folder / "empty.png")
    bad = {"image": "empty.png", "prompt": PROMPT}  # found out only when it is planned
    write_lines(path, {**good, "name": "one"}, {**bad, "name": "two"})
    command = ["batch", str(path), "-o", str(out)]
    assert main([*command, "--dry-run"]) == 0
    assert "Nothing was done" in capsys.readouterr().out
    assert not out.exists()
    assert main(command) == 2
    said = capsys.readouterr()
    assert "1 of 2 cases failed, the first, two, with: " in said.err
    assert "Traceback" not in said.err
    lines = {line.split()[0]: line.split() for line in said.out.splitlines() if line.split()}
    assert lines["one"][1:4] == ["base", "0", "made"]
    assert lines["two"][1:4] == ["guided_sketch", "0", "failed"]
    assert "1 of 2 made" in said.out
    assert re.search(r"\d of 1 hold", said.out)
    assert probe(out / "one.mp4").frames == 33
    gallery = (out / "index.html").read_text(encoding="utf-8")
    assert '<video src="one.mp4"' in gallery
    assert (
        f"<p>Verdict: <b>{json.loads((out / 'batch.json').read_text())['videos']['one']['verdict']}</b>"
        in gallery
    )
    (report,) = re.findall(r'href="(cases/one-[^"]*/run/report\.html)"', gallery)
    assert (out / report).is_file()
    record = json.loads((out / "batch.json").read_text())
    assert record["videos"]["one"]["seconds"] > 0
    assert record["videos"]["two"]["reason"]
    assert f"Not made: {escape(record['videos']['two']['reason'])}" in gallery

    # goes on: a new row, the old one in another place, the bad one gone
    write_lines(path, {**good, "seed": 1, "name": "three"}, {**good, "name": "one"})
    before = {p: p.stat().st_mtime_ns for p in out.glob("cases/one-*/run/*")}
    assert main([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {name: video["state"] for name, video in result["videos"].items()} == {
        "three": "made",
        "one": "made",
    }
    assert {p: p.stat().st_mtime_ns for p in out.glob("cases/one-*/run/*")} == before
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out.count(" made ") == 2


def test_ctrl_c_says_how_to_go_on(folder: Path, capsys, monkeypatch) -> None:
    def stopped(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("physplan_bench.batch.jobs.run_batch", stopped)
    path = write_lines(folder / "v.jsonl", {"image": "ice.png", "prompt": PROMPT, "method": "base"})
    assert main(["batch", str(path), "-o", str(folder / "out")]) == 130
    assert "Stopped. The same command goes on" in capsys.readouterr().err


def test_a_row_without_a_name_stands_in_the_table_with_its_line_and_picture(folder: Path) -> None:
    (row,) = rows(write_lines(folder / "a.jsonl", "", {"image": "ice.png", "prompt": "ice melts " * 9}))
    assert row.label == "2 ice"


def test_parts_of_a_batch_add_up(folder: Path, capsys) -> None:
    good = {"image": "ice.png", "prompt": PROMPT, "method": "base", **QUICK}
    path = write_lines(folder / "v.jsonl", *({**good, "seed": seed, "name": f"v{seed}"} for seed in (0, 1)))
    command = ["batch", str(path), "-o", str(folder / "out")]
    assert main([*command, "--shard", "1/2"]) == 0
    assert "1 of 2 made" in capsys.readouterr().out
    assert "Not made yet." in (folder / "out" / "index.html").read_text()
    assert main([*command, "--shard", "2/2"]) == 0
    assert "2 of 2 made" in capsys.readouterr().out
    assert sorted(p.name for p in (folder / "out").glob("*.mp4")) == ["v0.mp4", "v1.mp4"]


def test_one_budget_holds_for_the_whole_batch(folder: Path, capsys, monkeypatch) -> None:
    def refuse(asked):  # planning fails after its first, dear answer
        return Answer(text="no", tokens=(1000, 16_000), finish="refused")

    prompts = ({"image": "ice.png", "prompt": f"ice melts {i}", "name": f"v{i}"} for i in (1, 2, 3))
    path = write_lines(folder / "v.jsonl", *prompts)
    with GeminiServer(refuse) as server:
        monkeypatch.setenv("GEMINI_API_KEY", server.key)
        command = [
            "batch",
            str(path),
            "-o",
            str(folder / "out"),
            "--budget",
            "0.1",
            "--set",
            "reasoner.name=paper",
        ]
        assert main([*command, "--set", f"reasoner.base_url={server.url}"]) == 2
    said = capsys.readouterr()
    spent = Ledger(folder / "out" / "ledger.jsonl").totals().usd
    assert 0.04 < spent <= 0.1
    assert (
        "The budget of 0.1000 USD stops before the next call" in (folder / "out" / "index.html").read_text()
    )
    assert f"{spent:.4f}" in said.out


def test_a_folder_with_something_else_is_left_alone(folder: Path, capsys) -> None:
    path = write_lines(folder / "v.jsonl", {"image": "ice.png", "prompt": PROMPT, "method": "base", **QUICK})
    out = folder / "out"
    out.mkdir()
    (out / "thesis.doc").write_text("mine")
    assert main(["batch", str(path), "-o", str(out)]) == 2
    assert "holds something else than a batch" in capsys.readouterr().err
    assert [p.name for p in out.iterdir()] == ["thesis.doc"]


def test_the_maker_can_be_sent_to_a_worker(folder: Path) -> None:
    row = Row(line=1, image=folder / "ice.png", prompt=PROMPT, method="base")
    job = make_job("sandbox", QUICK, folder / "out", True, row)
    sent = pickle.loads(pickle.dumps(partial(make_video_maker, {job.row.name: job}, folder)))
    assert sent.args[0] == {job.row.name: job}


def test_rows_that_share_a_picture_and_a_sentence_are_planned_and_drawn_once(folder: Path, capsys) -> None:
    good = {"image": "ice.png", "prompt": PROMPT, "method": "storyboard", **QUICK}
    path = write_lines(folder / "v.jsonl", *({**good, "seed": seed, "name": f"v{seed}"} for seed in (0, 1)))
    out = folder / "out"
    assert main(["batch", str(path), "-o", str(out), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["videos"]) == {"v0", "v1"}
    logs = {log.parent: log.read_text("utf-8") for log in out.rglob("log.txt")}
    for stage in ("plan", "keyframes", "evidence"):
        (made,) = (run for run, text in logs.items() if f"{stage}: started" in text)
        assert made.parent == out / "shared"
    plans = {run / "plan.json" for run in logs}
    assert len(plans) == 3  # the shared one, and a run folder each, whole as ever
    assert len({plan.read_bytes() for plan in plans}) == 1


def test_only_rows_that_decide_the_same_plan_share_it(folder: Path) -> None:
    def job(**given) -> Job:
        settings = given.pop("settings", {})
        row = Row(line=1, image=folder / "ice.png", **{"prompt": PROMPT, "method": "physplan", **given})
        return make_job("sandbox", settings, folder / "out", True, row)

    one = job()
    assert one.group
    assert one.group == job(seed=3).group == job(method="storyboard").group == job(attempts=2).group
    assert one.group == job(settings={"video.num_inference_steps": 30}).group
    assert one.group != job(prompt="an ice cube melts").group
    assert one.group != job(settings={"editor.seed": 5}).group
    assert job(method="base").group == ""
    assert shared_groups([one, job(seed=3), job(prompt="an ice cube melts")]) == {one.group}


def test_no_worker_waits_for_a_plan_while_there_is_something_else_to_do() -> None:
    @dataclass(frozen=True)
    class Stub:
        group: str
        model_key: str

    rows = [Stub(*pair) for pair in ("ax", "ax", "by", "bx", "bx", "ay", "-x")]
    assert ["".join((row.group, row.model_key)) for row in in_order(rows)] == [
        *("ax", "bx", "-x", "ax", "bx"),  # x's models first: what needs no wait, then what shares
        *("by", "ay"),
    ]


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_runs_nothing_loads_nothing_and_fits_a_phone(folder: Path) -> None:
    hostile = "\"><script>alert(1)</script><img src=//x onerror='y'>"
    settings = {"video.negative_prompt": hostile}
    row = Row(line=1, image=folder / "ice.png", prompt=hostile, settings=settings, given_name="a b#1")
    job = Job(row=row, config=None, identity={"prompt": hostile})  # type: ignore[arg-type]
    found = {"seconds": 3.0, "calls": 2, "usd": 0.5, "notes": [hostile]}
    entries = [
        Entry(job=job, state="made", result=found, video="a b#1.mp4", report="cases/a&b/run/report.html"),
        Entry(job=job, state="failed", reason=hostile),
    ]
    result = {"made": 1, "of": 2, "seconds": 3.0, "calls": 2, "usd": 0.5}
    text = page(entries, result, title=hostile)
    tags = Tags(text).found
    names = {tag for tag, _ in tags}
    plain = "html head meta title style body main h1 p div article video h2 ul li a"
    assert names == set(plain.split())
    assert not any(name.startswith("on") or name == "style" for _, attributes in tags for name in attributes)
    links = [
        attributes.get("src") or attributes.get("href") for tag, attributes in tags if tag in ("video", "a")
    ]
    assert links == ["a%20b%231.mp4", "cases/a%26b/run/report.html"]
    (policy,) = [a["content"] for _, a in tags if a.get("http-equiv") == "Content-Security-Policy"]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"style-src 'sha256-{digest}'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in tags
    assert all(attributes.get("aria-label") for tag, attributes in tags if tag == "video")
    # nothing is wider than the page: at 390 px one column is left
    assert "minmax(min(100%, 17rem), 1fr)" in style
    assert not re.search(r"(?<!max-)width:\s*\d+(px|rem)", style)
    assert "prefers-color-scheme: dark" in style


def test_line_separators_of_unicode_are_letters_of_a_json_line(folder: Path) -> None:
    path = folder / "v.jsonl"
    path.write_text(
        json.dumps({"image": "ice.png", "prompt": "ice\u2028melts\u0085here"}, ensure_ascii=False) + "\r\n"
    )
    (row,) = rows(path)
    assert row.prompt == "ice\u2028melts\u0085here"


@pytest.mark.parametrize("column", ["plan", "image", "prompt", "method"])
def test_a_nul_in_a_row_is_named_with_its_line(folder: Path, column: str) -> None:
    row = {"image": "ice.png", "prompt": PROMPT, column: "a\0b"}
    with pytest.raises(PhysPlanError, match=rf"line 1: {column} holds a NUL"):
        rows(write_lines(folder / "v.jsonl", row))


def test_what_a_kill_left_of_the_record_does_not_make_the_folder_foreign(tmp_path: Path) -> None:
    own = tmp_path / "out" / f"{TEMPORARY}0123456789ab-x.json"
    own.parent.mkdir()
    own.write_text("{")
    claim_folder(tmp_path / "out")
    assert (tmp_path / "out" / "batch.json").is_file()
    for name in ("holiday.jpg", f"{TEMPORARY}mine", ".hidden.json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("mine")
        with pytest.raises(PhysPlanError, match="something else than a batch"):
            claim_folder(tmp_path / name)


def test_a_cell_is_no_formula() -> None:
    cells = ["=1+1", "+1", "-1", "@x", "\tx", "plain", -1.0]
    assert [csv_cell(cell) for cell in cells] == ["'=1+1", "'+1", "'-1", "'@x", "'\tx", "plain", -1.0]
    table = Table(title="t", columns=(Column(title="=head"),), rows=(Row_(label="=cmd()", cells=("@a",)),))
    assert render(table, "csv").splitlines() == ["Method,'=head,source", "'=cmd(),'@a,"]


def test_a_long_assignment_is_a_short_sentence() -> None:
    with pytest.raises(PhysPlanError) as refused:
        read_assignments(["=" + "9" * 5_000])
    assert len(str(refused.value)) < 200
