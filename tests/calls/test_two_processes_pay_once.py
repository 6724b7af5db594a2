"""Two processes with one folder of answers and one ledger: each question is asked, and paid, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from physplan.calls.ledger import Ledger
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked, GeminiServer

CHILD = Path(__file__).with_name("killed_planner.py")


def test_two_planners_at_once_ask_each_question_once(tmp_path: Path) -> None:
    def slow(asked: Asked) -> Answer:
        answer = melting.respond(asked)
        return Answer(text=answer.text, stall=0.2)

    picture = melting.draw(tmp_path / "ice.png")
    with GeminiServer(slow) as server:
        environ = {**os.environ, "GEMINI_API_KEY": server.key}
        command = [sys.executable, CHILD, server.url, tmp_path / "calls", picture]
        children = [subprocess.Popen([*command, tmp_path / f"plan{n}.json"], env=environ) for n in range(3)]
        assert [child.wait(280) for child in children] == [0, 0, 0]
        assert len(server.asked) == 8
    plans = {(tmp_path / f"plan{n}.json").read_bytes() for n in range(3)}
    assert len(plans) == 1
    totals = Ledger(tmp_path / "calls" / "ledger.jsonl").totals()
    assert (totals.calls, totals.cut_off) == (8, 0)
