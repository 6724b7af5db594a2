"""Votes in SQLite: nothing is lost when the server is killed, everybody goes on where they were."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from study_people import METHODS, Person, Served, Tally, post, serving

from physplan.errors import PhysPlanError
from physplan_bench.study.analysis import analyse
from physplan_bench.study.criteria import KEYS
from physplan_bench.study.design import VOTES, load_study
from physplan_bench.study.store import Full, VoteStore
from physplan_bench.study.votes import read_votes

CHOICES = dict.fromkeys(KEYS, "b")


def test_twelve_people_vote_at_once_through_two_kills_and_none_is_lost(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "study"))
    study = load_study(folder)
    server = Served(folder)
    lock, kept, tallies = threading.Lock(), Counter[str](), [Tally(study, seed=i) for i in range(12)]
    half, all_but_few = threading.Event(), threading.Event()

    def take_part(tally: Tally) -> None:
        person = Person(server.port)
        state = person.ask("join", consent=True)
        while not state["finished"]:
            choices = tally.choose(state["trial"])
            tally.count(state["trial"], choices)
            state = person.ask("vote", trial=state["answered"], choices=choices, seconds=2.0)
            with lock:
                kept["trials"] += 1
                done = kept["trials"]
            if done > 30:
                half.set()
            if done > 70:
                all_but_few.set()

    people = [threading.Thread(target=take_part, args=(tally,), daemon=True) for tally in tallies]
    for person in people:
        person.start()
    for moment in (half, all_but_few):
        assert moment.wait(60)
        server.kill()
        server.start()
    for person in people:
        person.join(60)
    assert server.stop() == ""
    raters = read_votes(study, folder)
    assert kept["trials"] == 12 * 9 == sum(len(rater.answers) for rater in raters)
    result = analyse(study, raters, finished_only=True, passed_only=True)
    assert result["votes_per_pair"]["counts"] == [4] * 24  # 12 people, 8 pairs each, 24 pairs
    assert result["participants"]["finished"] == 12
    for key in KEYS:
        for method in METHODS[1:]:
            found = result["preference"][key][method]
            assert found["wins"] == sum(tally.wins[key, method] for tally in tallies)
            assert found["votes"] == sum(tally.votes[key, method] for tally in tallies) == 48
    assert len(set(result["codes"])) == 12


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


@pytest.fixture
def store(tmp_path: Path, clock: list[float]) -> VoteStore:
    return VoteStore(tmp_path / VOTES, "s", clock=lambda: clock[0])


def test_the_database_is_in_wal_mode_and_holds_no_personal_data(store: VoteStore, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / VOTES) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        columns = {
            row[1]
            for table in ("about", "participants", "votes")
            for row in database.execute(f"PRAGMA table_info({table})")
        }
    assert columns == {
        *("name", "value", "token", "place", "joined", "seen", "finished", "code"),
        *("trial", "criterion", "choice", "seconds", "at"),
    }


def test_places_are_given_in_order_and_a_repeated_request_takes_no_second(store: VoteStore) -> None:
    assert [store.join(name, 3, idle=60).place for name in ("x", "y", "x", "z", "y")] == [0, 1, 0, 2, 1]
    with pytest.raises(Full):
        store.join("w", 3, idle=60)


def test_the_place_of_someone_who_left_is_given_again_but_a_finished_one_never(
    store: VoteStore, clock: list[float]
) -> None:
    store.join("done", 2, idle=60)
    store.vote("done", 0, CHOICES, seconds=1.0, of=1, code=False)
    store.join("left", 2, idle=60)
    clock[0] += 59
    with pytest.raises(Full):
        store.join("new", 2, idle=60)
    clock[0] += 2
    assert store.join("new", 2, idle=60).place == 1
    assert store.vote("left", 0, CHOICES, seconds=1.0, of=2, code=False).answered == 1  # and may come back


@pytest.mark.parametrize("jump", [1e8, -1e8])
def test_a_clock_that_is_set_takes_nobodys_place(
    jump: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, now = VoteStore(tmp_path / VOTES, "s"), time.time()
    store.join("here", 2, idle=60)
    monkeypatch.setattr(time, "time", lambda: now + jump)
    assert store.join("new", 2, idle=60).place == 1
    with pytest.raises(Full):
        store.join("too many", 2, idle=60)


def test_the_votes_of_another_study_are_not_mixed_in(store: VoteStore, tmp_path: Path) -> None:
    store.close()
    with pytest.raises(PhysPlanError, match="another study"):
        VoteStore(tmp_path / VOTES, "t")
    (tmp_path / VOTES).write_bytes(b"not a database" * 100)
    for extra in ("-wal", "-shm"):
        (tmp_path / f"{VOTES}{extra}").unlink(missing_ok=True)
    with pytest.raises(PhysPlanError, match="cannot be used"):
        VoteStore(tmp_path / VOTES, "s")


def test_a_full_disk_is_a_sentence_and_votes_go_on_when_there_is_room(tmp_path: Path) -> None:
    store = VoteStore(tmp_path / VOTES, "s")
    store.join("0" * 32, 3, idle=60)
    (pages,) = store._database.execute("PRAGMA page_count").fetchone()
    store._database.execute(f"PRAGMA max_page_count={pages}")  # SQLite's own answer to a full disk

    def fill() -> None:
        for number in range(1, 500):
            store.join(f"{number:032}", 1_000, idle=60)

    with pytest.raises(PhysPlanError, match=r"could not be kept \(database or disk is full\)"):
        fill()
    store._database.execute("PRAGMA max_page_count=100000")
    kept = store.vote("0" * 32, 0, CHOICES, seconds=1.0, of=9, code=False)
    assert kept is not None
    assert kept.answered == 1
    store.close()


def test_votes_are_their_owners_alone(tmp_path: Path) -> None:
    (tmp_path / VOTES).touch(0o644)  # of an earlier version
    store = VoteStore(tmp_path / VOTES, "s")
    store.join("0" * 32, 3, idle=60)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    store.close()


@pytest.mark.parametrize("seconds", ["1" + "0" * 400, "1e999", "NaN"])
def test_seconds_of_any_length_are_answered(made: Path, tmp_path: Path, seconds: str) -> None:
    with serving(Path(shutil.copytree(made, tmp_path / "study"))) as server:
        person = Person(server.port)
        person.ask("join", consent=True)
        vote = {"participant": person.token, "trial": 0, "choices": CHOICES, "seconds": 0.5}
        body = json.dumps(vote).replace("0.5", seconds)
        status, answer = post(server.port, "/api/vote", body.encode())
        assert status == (200 if seconds.isdigit() else 400), answer
