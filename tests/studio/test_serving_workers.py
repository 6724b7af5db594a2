"""Several workers behind `physplan serve`: each job once, whatever dies; stand-ins for the work itself."""

from __future__ import annotations

import io
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.studio.studio_double import StandIn

from physplan.errors import PhysPlanError
from physplan_studio.process import Died
from physplan_studio.serving import service
from physplan_studio.serving.service import Service, Workers

JOBS = 12


class Mortal(StandIn):
    """Dies at its first and fourth video, as a killed process does, and takes a moment for each."""

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self.asked: list[str] = []

    def call(
        self,
        what: str,
        given: Mapping[str, Any],
        on_event: Callable[[dict[str, Any]], None] | None = None,
        *,
        tag: str = "",
    ) -> dict[str, Any]:
        if what == "make":
            self.asked.append(tag)
            time.sleep(0.01)
            if len(self.asked) in (1, 4):
                raise Died("The process at work ended by itself.")
        return super().call(what, given, on_event, tag=tag)


def request(number: int) -> dict[str, Any]:
    encoded = io.BytesIO()
    Image.new("RGB", (32, 32), (number, 120, 150)).save(encoded, "PNG")
    return {"prompt": "the ball grows", "input_reference": encoded.getvalue(), "seed": number}


def wait(found: Service, states: set[str], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while {one["status"] for one in found.videos.list()["data"]} - states:
        assert time.monotonic() < deadline, found.videos.list()
        time.sleep(0.02)


def test_jobs_of_workers_that_die_are_made_once_each_by_others(tmp_path: Path) -> None:
    made = Service(
        tmp_path, host="127.0.0.1", port=0, token="", workers=Workers(number=4), make_worker=Mortal
    )
    try:
        asked = [made.videos.create(request(number))["id"] for number in range(JOBS)]
        wait(made, {"completed"})
        workers = made.session._workers["slow"]
        assert len(workers) == 4
        assert sum(len(one.asked) for one in workers) > JOBS  # type: ignore[attr-defined]
        assert Counter(tag for one in workers for tag in one.made) == Counter(asked)  # type: ignore[attr-defined]
    finally:
        made.close()


def test_a_job_that_kills_every_worker_fails_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fatal(StandIn):
        def call(self, what: str, *rest: Any, **more: Any) -> dict[str, Any]:
            if what == "make":
                raise Died("The process at work ended by itself.")
            return {}

    monkeypatch.setattr(service, "JOB_RETRIES", 2)
    made = Service(tmp_path, host="127.0.0.1", port=0, token="", workers=Workers(number=2), make_worker=Fatal)
    try:
        made.videos.create(request(1))
        wait(made, {"failed"})
        (video,) = made.videos.list()["data"]
        assert video["error"]["message"] == "The process at work ended by itself."
    finally:
        made.close()


def test_a_request_that_is_sent_again_under_its_name_is_the_same_video(tmp_path: Path) -> None:
    made = Service(tmp_path, host="127.0.0.1", port=0, token="", make_worker=StandIn)
    found: list[str] = []
    try:
        threads = [
            threading.Thread(target=lambda: found.append(made.videos.create(request(1), key="a")["id"]))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait(made, {"completed"})
        created = made.videos.retrieve(found[0])["created_at"]
    finally:
        made.close()
    assert len(found) == 4
    assert len(set(found)) == 1
    again = Service(tmp_path, host="127.0.0.1", port=0, token="", make_worker=StandIn)
    try:
        assert again.videos.create(request(1), key="a")["id"] == found[0]
        assert again.videos.create(request(1), key="b")["id"] != found[0]
        assert again.videos.retrieve(found[0])["created_at"] == created  # a restart does not make it younger
    finally:
        again.close()


@pytest.mark.parametrize(("given", "words"), [({"number": 0}, "--workers"), ({"cpus": -1.0}, "CPUs")])
def test_workers_that_cannot_be_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(PhysPlanError, match=words):
        Workers(**given)
