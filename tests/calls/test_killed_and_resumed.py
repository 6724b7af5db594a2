"""kill -9 at any moment of planning, then a rerun: no stored call is repeated, and the plan is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from physplan.calls.ledger import Ledger
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked, GeminiServer

CHILD = Path(__file__).with_name("killed_planner.py")


def start(server: GeminiServer, folder: Path, output: Path) -> subprocess.Popen[bytes]:
    picture = melting.draw(folder.parent / "ice.png")
    environ = {**os.environ, "GEMINI_API_KEY": server.key}
    return subprocess.Popen([sys.executable, CHILD, server.url, folder, picture, output], env=environ)


def stored(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("answers/[!.]*.json")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("undisturbed")
    with GeminiServer(melting.respond) as server:
        assert start(server, folder / "calls", folder / "plan.json").wait(240) == 0
    return (folder / "plan.json").read_bytes()


@pytest.mark.parametrize("answers", [0, 3, 6])
@pytest.mark.parametrize("moment", ["while the model thinks", "just after an answer"])
def test_no_stored_call_is_repeated(tmp_path: Path, undisturbed: bytes, answers: int, moment: str) -> None:
    """The child is killed by the server itself: before or after it sends the answer number `answers + 1`."""
    child: list[subprocess.Popen[bytes]] = []
    given = 0

    def respond(asked: Asked) -> Answer:
        nonlocal given
        given += 1
        if given == answers + 1 and moment == "while the model thinks":
            os.kill(child[0].pid, signal.SIGKILL)
        return melting.respond(asked)

    folder, output = tmp_path / "calls", tmp_path / "plan.json"
    with GeminiServer(respond) as server:
        child.append(start(server, folder, output))
        if moment == "just after an answer":
            deadline = time.monotonic() + 240
            while len(server.asked) <= answers and time.monotonic() < deadline:
                time.sleep(0.0005)
            os.kill(child[0].pid, signal.SIGKILL)
        child[0].wait(240)
        assert not output.exists() or moment == "just after an answer"
        kept = stored(folder)
        arriving = {path.stem for path in folder.glob("answers/*.part")} - kept
        before = len(server.asked)
        server.respond = melting.respond
        assert start(server, folder, output).wait(240) == 0
        again = len(server.asked) - before
    found = 8 - again
    assert len(kept) <= found <= len(kept | arriving), "only what was not stored is asked"
    assert output.read_bytes() == undisturbed
    asked_twice = [n for n in Counter(a.text + a.system for a in server.asked).values() if n > 1]
    assert sum(n - 1 for n in asked_twice) == before - found, "and those are the ones cut off in flight"


def test_what_was_cut_off_in_flight_stays_in_the_books(tmp_path: Path) -> None:
    child: list[subprocess.Popen[bytes]] = []

    def respond(asked: Asked) -> Answer:
        os.kill(child[0].pid, signal.SIGKILL)
        return melting.respond(asked)

    folder = tmp_path / "calls"
    with GeminiServer(respond) as server:
        child.append(start(server, folder, tmp_path / "plan.json"))
        child[0].wait(240)
    [entry] = Ledger(folder / "ledger.jsonl").entries()
    assert entry.outcome == "open"
    assert entry.usd is not None
    assert entry.usd > 0
    assert json.loads((folder / "ledger.jsonl").read_text())["purpose"] == "parse"
    with GeminiServer(melting.respond) as server:
        assert start(server, folder, tmp_path / "plan.json").wait(240) == 0
    totals = Ledger(folder / "ledger.jsonl").totals()
    assert (totals.calls, totals.cut_off) == (8, 1), "asked again, and the one before is counted"
    assert totals.usd > entry.usd


DIES = """
import os, signal, sys
from physplan.calls import store
from physplan.calls.settings import CallSettings, connect
from physplan.calls.protocol import Request
sync = store._sync
def die(*paths):
    if any(path.suffix == store.PART for path in paths):
        os.kill(os.getpid(), signal.SIGKILL)
    sync(*paths)
if sys.argv[3] == "die":
    store._sync = die
gateway = connect("gemini", CallSettings(base_url=sys.argv[1], folder=sys.argv[2]))
print(gateway.ask(Request(purpose="p", model="gemini-3-flash-preview", text="t")).reply.text)
"""


def test_an_answer_that_was_written_but_not_yet_in_its_place_is_found(tmp_path: Path) -> None:
    with GeminiServer(lambda asked: Answer(text="the answer")) as server:
        command = [sys.executable, "-c", DIES, server.url, str(tmp_path / "calls")]
        environ = {**os.environ, "GEMINI_API_KEY": server.key}
        assert subprocess.run([*command, "die"], env=environ, timeout=240).returncode == -signal.SIGKILL
        assert not stored(tmp_path / "calls")
        again = subprocess.run([*command, "live"], env=environ, timeout=240, capture_output=True, text=True)
        assert again.stdout.strip() == "the answer"
        assert len(server.asked) == 1
    totals = Ledger(tmp_path / "calls" / "ledger.jsonl").totals()
    assert (totals.calls, totals.cut_off) == (1, 0), "and its price is the one that was paid"
