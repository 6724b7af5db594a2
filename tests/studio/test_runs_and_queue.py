"""Runs of the studio and of the command line, in one folder; a queue that survives what happens to it."""

from __future__ import annotations

import io
import os
import shutil
import time
from pathlib import Path

import pytest
from PIL import Image
from studio_double import PROMPT, Client, plan, serving, worker_of, write_run

from physplan.errors import PhysPlanError
from physplan_studio.checking import check_plan
from physplan_studio.listing import PER_PAGE, Asked, list_runs
from physplan_studio.process import Stopped
from physplan_studio.run_index import RunIndex
from physplan_studio.server import Studio
from physplan_studio.timing import seconds_needed


@pytest.fixture
def picture(client: Client) -> str:
    return upload(client)


def upload(client: Client) -> str:
    encoded = io.BytesIO()
    Image.new("RGB", (32, 32), (90, 120, 150)).save(encoded, "PNG")
    return str(client.upload(encoded.getvalue())[1]["picture"])


def test_old_runs_are_listed_also_those_in_folders_of_folders(client: Client) -> None:
    cards = {card["run"]: card for card in client.ask("runs")["runs"]}
    assert set(cards) == {"old one", "batch/seed0", "half"}
    assert cards["old one"]["finished"]
    assert cards["old one"]["seconds"] == 4.0
    assert not cards["half"]["finished"]
    found = client.ask("state", run="batch/seed0")["details"]
    assert found["plan"]["prompt"] == PROMPT
    assert client.get("runs/batch/seed0/video.mp4", Range="bytes=0-9")[0] == 206


def test_a_thousand_runs_come_in_pages_at_once_and_once(tmp_path: Path) -> None:
    first = write_run(tmp_path / "runs" / "run-0000")
    for number in range(1, 1_000):
        shutil.copytree(first, first.with_name(f"run-{number:04}"), copy_function=os.link)
    before = time.thread_time()  # a test's machine may be busy
    assert list_runs(RunIndex(tmp_path / "runs"), {}, [], Asked())["total"] == 1_000
    assert time.thread_time() - before < 0.5
    with serving(tmp_path / "runs") as studio:
        client = Client(studio.server.port)
        found = client.ask("runs")
        assert (found["total"], len(found["runs"])) == (1_000, found["per_page"])
        assert client.ask("runs", seen=found["seen"]) == {
            "seen": found["seen"]
        }  # nothing new: not sent again
        last = client.ask("runs", page=10_000)
        assert last["page"] == 1_000 // found["per_page"]
        assert not {card["run"] for card in last["runs"]} & {card["run"] for card in found["runs"]}
        one = client.ask("runs", search="run-0777 BALL")
        assert [card["run"] for card in one["runs"]] == ["run-0777"]
        assert (one["count"], one["total"]) == (1, 1_000)
        assert "whole number" in client.refused("runs", page=-1)


def test_a_folder_that_is_no_run_leaves_no_gap_in_its_page(tmp_path: Path) -> None:
    for number in range(PER_PAGE + 1):
        write_run(tmp_path / f"run-{number}")
    write_run(tmp_path / "too long", prompt="a" * 1_000_000)
    index = RunIndex(tmp_path)
    for asked in (Asked(), Asked(words=("ball",))):
        found = list_runs(index, {}, [], asked)
        assert (len(found["runs"]), found["count"], found["total"]) == (PER_PAGE, PER_PAGE + 1, PER_PAGE + 1)
    write_run(tmp_path / "too long")
    assert list_runs(index, {}, [], Asked())["total"] == PER_PAGE + 2


def test_a_run_is_planned_and_then_made_in_one_folder(client: Client, picture: str, runs: Path) -> None:
    name = client.ask("start", picture=picture, prompt=PROMPT, upto="plan")["run"]
    assert client.until(name, "done")["details"]["plan"]["events"]
    again = client.ask("start", run=name, picture=picture, prompt=PROMPT, upto="video")["run"]
    assert again == name
    assert client.until(name, "done")["details"]["finished"]
    assert (runs / name / "run.json").exists()


def test_what_has_a_video_is_kept_and_its_changes_are_a_new_run(client: Client, picture: str) -> None:
    changed = plan().to_json()
    changed["events"][0]["delta"]["fraction"] = 0.25
    name = client.ask("start", run="old one", picture=picture, prompt=PROMPT, plan=changed)["run"]
    assert name not in ("old one", "")
    client.until(name, "done")
    related = client.ask("state", run="old one")["related"]
    assert {card["run"] for card in related} == {"batch/seed0", name}


def test_a_page_hears_of_the_verdict_on_the_run_beside_its_own(client: Client, runs: Path) -> None:
    first = client.ask("state", run="old one")
    known = {"seen": first["seen"], "related": first["related_seen"]}
    assert "related" not in client.ask("state", run="old one", **known)
    (runs / "batch" / "seed0" / "report.html").write_text("with a verdict, which comes after the video")
    assert client.ask("state", run="old one", **known)["related"]


def test_a_plan_that_does_not_hold_starts_nothing(client: Client, picture: str) -> None:
    broken = plan().to_json()
    broken["events"][0]["edits"][0]["o"] = "moon#9"
    assert "moon#9" in client.refused("start", picture=picture, prompt=PROMPT, plan=broken)
    assert client.ask("queue")["jobs"] == []


@pytest.mark.parametrize(
    ("change", "place", "word"),
    [
        (lambda p: p["events"][0]["edits"][0].update(o="moon#9"), (0, "edits", 0), "moon#9"),
        (lambda p: p["events"][0]["edits"][0].update(key="mood"), (0, "edits", 0), "mood"),
        (lambda p: p["events"][0]["delta"]["states"][0].update(state=""), (0, "states", 0), "state is empty"),
        (lambda p: p["events"][0].update(motion=[{"o": "ball#1", "law": "fly"}]), (0, "motion", 0), "fly"),
        (lambda p: p["events"][0]["delta"].update(fraction=7), (0, "states", None), "fraction"),
        (lambda p: p["events"].clear(), (None, None, None), "at least one event"),
    ],
)
def test_every_fault_of_an_edited_plan_has_its_place_and_its_words(
    change: object, place: tuple[object, ...], word: str
) -> None:
    value = plan().to_json()
    change(value)  # type: ignore[operator]
    found = check_plan(value)
    assert not found["ok"]
    first = found["faults"][0]
    assert (first["event"], first["part"], first["index"]) == place
    assert word in first["message"]


def test_a_plan_that_holds_comes_back_with_what_follows_from_it() -> None:
    value = plan().to_json()
    value["events"][0]["delta"]["fraction"] = 0.25
    found = check_plan(value)
    assert found["ok"]
    assert found["plan"]["events"][0]["anchor"] == 2


def test_runs_wait_in_order_can_be_moved_stopped_and_go_on(
    client: Client, studio: Studio, picture: str
) -> None:
    worker_of(studio).gate.clear()
    first, second, third = (
        client.ask("start", picture=picture, prompt=f"{PROMPT} {n}")["run"] for n in range(3)
    )
    client.until(first, "running")
    assert [job["run"] for job in client.ask("queue")["jobs"]] == [first, second, third]
    client.ask("move", run=third, earlier=True)
    assert [job["run"] for job in client.ask("queue")["jobs"]] == [first, third, second]
    assert "under way" in client.refused("delete", run=third)
    assert "under way" in client.refused("start", run=first, picture=picture, prompt=PROMPT)
    client.ask("stop", run=first)
    client.until(first, "stopped")
    client.ask("stop", run=second)
    client.until(second, "stopped")
    worker_of(studio).gate.set()
    client.until(third, "done")
    for run in (first, second):
        client.ask("continue", run=run)
        client.until(run, "done")
    assert worker_of(studio).made == [third, first, second]


def test_a_paused_queue_begins_no_video_but_plans_on(client: Client, picture: str) -> None:
    client.ask("pause", paused=True)
    waiting = client.ask("start", picture=picture, prompt=PROMPT)["run"]
    planned = client.ask("start", picture=picture, prompt=PROMPT, upto="plan")["run"]
    client.until(planned, "done")
    assert client.ask("state", run=waiting)["job"]["state"] == "waiting"
    client.ask("pause", paused=False)
    client.until(waiting, "done")


def test_progress_terms_and_the_time_left_are_told(client: Client, studio: Studio, picture: str) -> None:
    worker_of(studio).gate.clear()
    name = client.ask("start", picture=picture, prompt=PROMPT)["run"]
    client.until(name, "running")
    found = client.ask("state", run=name)
    while not found["progress"]["terms"]:
        found = client.ask("state", run=name)
    assert found["progress"]["remaining"] == 3.0
    assert found["progress"]["terms"]["count"][-1] == 0.5
    worker_of(studio).gate.set()
    client.until(name, "done")


def test_a_studio_that_starts_again_finds_what_waited_and_what_was_under_way(runs: Path) -> None:
    with serving(runs) as studio:
        client = Client(studio.server.port)
        picture = upload(client)
        worker_of(studio).gate.clear()
        under_way = client.ask("start", picture=picture, prompt=PROMPT)["run"]
        client.until(under_way, "running")
        waiting = client.ask("start", picture=picture, prompt=PROMPT)["run"]
        with pytest.raises(PhysPlanError, match="open on"):
            Studio(runs, host="127.0.0.1", port=0)
        studio.session._queue.close()  # as a kill: nothing more is written
        worker_of(studio).gate.set()
    with serving(runs) as studio:
        client = Client(studio.server.port)
        found = client.ask("state", run=under_way)
        assert found["job"]["state"] == "stopped"
        assert "go on" in found["job"]["error"]
        client.until(waiting, "done")
        client.ask("continue", run=under_way)
        client.until(under_way, "done")


def test_what_is_deleted_lies_in_the_bin_and_can_be_taken_back(client: Client, runs: Path) -> None:
    binned = client.ask("delete", run="batch/seed0")["binned"]
    assert not (runs / "batch" / "seed0").exists()
    found = client.ask("runs")
    assert found["bin"] == [binned]
    assert {card["run"] for card in found["runs"]} == {"old one", "half"}
    back = client.ask("restore", binned=binned)["run"]
    assert back in {card["run"] for card in client.ask("runs")["runs"]}
    assert client.ask("runs")["bin"] == []


def test_a_run_of_the_command_line_goes_on_here(client: Client) -> None:
    client.ask("continue", run="half")
    assert client.until("half", "done")["details"]["finished"]


def test_people_who_start_at_once_get_a_run_each(client: Client, picture: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def start(number: int) -> str:
        return str(client.ask("start", picture=picture, prompt=PROMPT, seed=number, upto="plan")["run"])

    with ThreadPoolExecutor(20) as pool:
        names = list(pool.map(start, range(20)))
    assert len(set(names)) == 20
    for name in names:
        client.until(name, "done")


def test_the_time_is_what_earlier_runs_of_the_recipe_took(runs: Path) -> None:
    card = {
        "preset": "paper",
        "finished": True,
        "method": "physplan",
        "steps": 10,
        "stages": {"plan": 4.0, "latents": 20.0},
    }
    stages = ["plan", "latents"]
    asked = {"preset": "paper", "method": "physplan", "steps": 20}
    assert seconds_needed([card], stages, **asked) == (44.0, 1)  # type: ignore[arg-type]
    assert seconds_needed([], stages, **asked) == (None, 0)  # type: ignore[arg-type]
    write_run(runs / "another")


def test_a_question_that_the_studio_ends_over_is_answered(
    client: Client, studio: Studio, picture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*given: object, **more: object) -> None:
        raise Stopped

    monkeypatch.setattr(worker_of(studio, "quick"), "call", gone)
    assert "is ending" in client.refused("forecast", picture=picture, prompt="the ball grows")


def test_a_page_need_not_wait_until_all_scenes_are_drawn(tmp_path: Path) -> None:
    from physplan_studio.offers import Offers
    from physplan_studio.photo import PhotoDesk
    from physplan_studio.pictures import PictureStore

    pictures = PictureStore(tmp_path / "pictures")
    offers = Offers(pictures, PhotoDesk(tmp_path, pictures, Client(0)))  # type: ignore[arg-type]
    early = offers.about({"wait": False})
    assert (early["complete"], early["samples"]) == (False, [])
    offers.begin()
    late = offers.about({})
    assert late["complete"]
    assert len(late["samples"]) > 40
    offers.close()
