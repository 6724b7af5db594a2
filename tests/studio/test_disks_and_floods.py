"""A full disk, a flood of uploads, numbers that are none: each is answered, and the studio goes on."""

from __future__ import annotations

import errno
import io
import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from studio_double import PROMPT, Client, serving, worker_of

from physplan.errors import PhysPlanError
from physplan.origin import OriginError, read_origin
from physplan.origin.record import TAG
from physplan.video.files import write_video
from physplan_studio import jobs
from physplan_studio.server import Studio
from physplan_studio.web.server import Site, listen


def png(width: int = 32, height: int = 32, kind: type = np.uint8) -> bytes:
    encoded = io.BytesIO()
    Image.fromarray(np.full((height, width), 90, kind)).save(encoded, "PNG")
    return encoded.getvalue()


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """While it holds True, no job can be written: the disk's own error, as the system gives it."""
    state, write = [False], jobs.write_json

    def written(path: Path, value: Any) -> None:
        if state[0]:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, value)

    monkeypatch.setattr(jobs, "write_json", written)
    return state


def test_a_full_disk_fails_jobs_and_no_lane(
    client: Client, studio: Studio, runs: Path, full: list[bool]
) -> None:
    picture = client.upload(png())[1]["picture"]
    gate = worker_of(studio).gate
    gate.clear()
    first = client.ask("start", picture=picture, prompt=f"{PROMPT} 1")["run"]
    second = client.ask("start", picture=picture, prompt=f"{PROMPT} 2")["run"]
    client.until(first, "running")
    full[0] = True
    said = client.refused("start", picture=picture, prompt=f"{PROMPT} 3")
    assert "no room on the disk" in said
    assert str(runs) not in said
    gate.set()  # both end while their state cannot be written
    client.until(first, "done")
    client.until(second, "done")
    full[0] = False
    third = client.ask("start", picture=picture, prompt=f"{PROMPT} 3")["run"]
    client.until(third, "done")
    kept = {job.run: job.state for job in jobs.JobFiles(runs / ".studio" / "jobs").load()}
    assert kept[first] == kept[second] == "done"  # written when there was room again


def test_a_job_that_breaks_in_any_way_fails_alone(
    client: Client, studio: Studio, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    picture = client.upload(png())[1]["picture"]
    for error in (OSError(errno.ENOSPC, "No space left on device", "/x/log"), RuntimeError("odd")):
        with monkeypatch.context() as patched:
            patched.setattr(worker_of(studio), "call", _raising(error))
            name = client.ask("start", picture=picture, prompt=PROMPT)["run"]
            said = client.until_ended(name)["job"]
        assert said["state"] == "failed"
        assert ("no room" in said["error"]) == isinstance(error, OSError)
        assert "/x/" not in said["error"]
    name = client.ask("start", picture=picture, prompt=PROMPT)["run"]
    client.until(name, "done")
    capfd.readouterr()


def _raising(error: Exception) -> Any:
    def call(*args: Any, **options: Any) -> dict[str, Any]:
        raise error

    return call


FLOOD = """
import resource, sys, threading
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from studio_double import Client, serving
content = Path(sys.argv[1], "large.png").read_bytes()
with serving(Path(sys.argv[1], "runs")) as studio:
    client, answers = Client(studio.server.port), []
    client.upload(Path(sys.argv[1], "small.png").read_bytes())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    threads = [threading.Thread(target=lambda: answers.append(client.upload(content)[0])) for _ in range(8)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    print(answers, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000)
"""


@pytest.mark.timeout(300)
def test_large_uploads_at_once_take_the_memory_of_one(tmp_path: Path) -> None:
    (tmp_path / "large.png").write_bytes(png(5_000, 5_000, np.uint16))
    (tmp_path / "small.png").write_bytes(png())
    paths = [str(Path(__file__).parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", FLOOD, str(tmp_path), *paths], capture_output=True, text=True, check=True
    )
    answers, megabytes = done.stdout.rsplit(" ", 1)
    assert json.loads(answers) == [200] * 8
    assert int(megabytes) < 600  # one of 25 megapixels takes 300; eight at once, scaled whole, took 4,000


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "1" * 400])
def test_a_number_that_is_none_is_refused(client: Client, word: str) -> None:
    picture = client.upload(png())[1]["picture"]
    body = f'{{"picture": "{picture}", "prompt": "{PROMPT}", "settings": {{"runtime.budget": {word}}}}}'
    status, answer = client.post("api/start", body.encode())
    if status == 200:  # a whole number is the run's to refuse: it has a range
        assert word.isdigit()
        assert client.until_ended(json.loads(answer)["run"])
    else:
        assert status == 400, answer


def test_metadata_that_are_not_utf8_are_a_sentence(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "v.mp4"
    write_video(path, torch.full((3, 3, 32, 32), 0.5), fps=8, tags={TAG: '{"version": 1, "x": "words"}'})
    path.write_bytes(path.read_bytes().replace(b"words", b"w\xff\xfe\xe2\x82"))
    with pytest.raises(OriginError, match="not UTF-8"):
        read_origin(path)
    status, answer = client.post("api/video", path.read_bytes(), Content_Type="application/octet-stream")
    assert status == 400
    assert "not UTF-8" in answer


@pytest.mark.parametrize("content", ["", "\n", "short", "../../x y"])
def test_what_is_no_key_opens_nothing_to_the_network(tmp_path: Path, content: str) -> None:
    key = tmp_path / "runs" / ".studio" / "key"
    key.parent.mkdir(parents=True)
    key.write_text(content)
    with serving(tmp_path / "runs", host="0.0.0.0") as studio:
        made = studio.server.site.key
        assert len(made) >= 20
        assert Client(studio.server.port).get("")[0] == 404
        assert Client(studio.server.port, f"/{made}/").get("")[0] == 200
    assert key.read_text() == made
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    with serving(tmp_path / "runs", host="0.0.0.0") as studio:
        assert studio.server.site.key == made


def test_no_server_listens_to_the_network_without_a_key() -> None:
    site = Site(name="page", session=None, key="", page={"index.html": b""}, media=lambda name: None)  # type: ignore[arg-type]
    with pytest.raises(PhysPlanError, match="no key"):
        listen("0.0.0.0", 0, site)
