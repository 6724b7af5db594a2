"""`physplan serve`, asked by the real openai client, with the studio's real workers and the sandbox."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.video.files import read_video
from physplan_studio.serving.service import Service

openai = pytest.importorskip("openai")
TOKEN = "a-token-of-the-test"
PROMPT = "someone lets go of the ball"


@contextmanager
def serving(runs: Path, token: str = TOKEN) -> Iterator[Service]:
    service = Service(runs, host="127.0.0.1", port=0, token=token)
    threading.Thread(target=service.server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield service
    finally:
        service.server.shutdown()
        service.close()


@pytest.fixture(scope="module")
def png() -> bytes:
    from physplan_sandbox import samples

    encoded = io.BytesIO()
    samples.first_frame(samples.sample("drop")).save(encoded, "PNG")
    return encoded.getvalue()


def client_of(service: Service, token: str = TOKEN) -> Any:
    url = f"http://127.0.0.1:{service.server.port}/v1"
    return openai.OpenAI(base_url=url, api_key=token, max_retries=0)


def ended(client: Any, id: str, seconds: float = 180) -> Any:
    deadline = time.monotonic() + seconds
    while (video := client.videos.retrieve(id)).status in ("queued", "in_progress"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return video


def test_the_openai_client_gets_a_planned_video_and_all_that_belongs_to_it(
    tmp_path: Path, png: bytes
) -> None:
    with serving(tmp_path / "runs") as service:
        client = client_of(service)
        extra = {"seed": 2, "extra_params": {"method": "storyboard", "preset": "sandbox", "budget": 0.5}}
        made = client.videos.create(
            prompt=PROMPT, input_reference=("drop.png", png, "image/png"), model="physplan", extra_body=extra
        )
        assert (made.status, made.size) in {("queued", "96x96"), ("in_progress", "96x96")}
        video = ended(client, made.id)
        assert (video.status, video.progress) == ("completed", 100), video
        (tmp_path / "got.mp4").write_bytes(client.videos.download_content(made.id).read())
        assert len(read_video(tmp_path / "got.mp4").frames) == 33
        path = f"/videos/{made.id}"
        plan = client.get(f"{path}/plan", cast_to=object)
        verdict = client.get(f"{path}/verdict", cast_to=object)
        keyframes = client.get(f"{path}/keyframes", cast_to=object)
        assert plan["prompt"] == PROMPT
        assert "verdict" in verdict
        assert len(keyframes["data"]) == len(plan["events"])
        assert [one.id for one in client.videos.list()] == [made.id]
        run = tmp_path / "runs" / made.id
        assert json.loads((run / "run.json").read_text("utf-8"))["inputs"]["seed"] == 2
        client.videos.delete(made.id)  # what has ended goes to the bin
        with pytest.raises(openai.NotFoundError):
            client.videos.retrieve(made.id)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"extra_body": {"extra_params": {"allow_hosts": "x.example"}}}, "extra_params has no"),
        ({"extra_body": {"runtime": "x"}}, "no field"),
        ({"model": "sora-2"}, "name a preset"),
        ({"size": "wide"}, "size looks like"),
        ({"input_reference": None}, "input_reference is missing"),
        ({"extra_body": {"extra_params": {"plan": "no json"}}}, "plan is a JSON object"),
    ],
)
def test_what_a_request_may_not_say_is_refused_with_a_sentence(
    given: dict[str, Any], words: str, tmp_path: Path, png: bytes
) -> None:
    asked = {"prompt": PROMPT, "input_reference": ("drop.png", png, "image/png"), **given}
    with serving(tmp_path / "runs") as service, pytest.raises(openai.BadRequestError, match=words):
        client_of(service).videos.create(**{k: v for k, v in asked.items() if v is not None})
    assert not [one for one in (tmp_path / "runs").iterdir() if one.name != ".studio"]


def test_the_token_is_asked_for_and_a_server_for_others_needs_one(tmp_path: Path) -> None:
    with serving(tmp_path / "runs") as service:
        with pytest.raises(openai.AuthenticationError):
            client_of(service, "another").videos.list()
        assert not list(client_of(service).videos.list())
    with pytest.raises(PhysPlanError, match="give --token"):
        Service(tmp_path / "more", host="0.0.0.0", port=0, token="")


def test_a_job_is_stopped_by_delete_and_one_that_was_cut_off_goes_on(tmp_path: Path, png: bytes) -> None:
    picture = Image.open(io.BytesIO(png))
    assert picture.size == (96, 96)
    asked = {"prompt": PROMPT, "input_reference": ("drop.png", png, "image/png")}
    quick = {"extra_params": {"method": "storyboard"}}
    with serving(tmp_path / "runs") as service:
        client = client_of(service)
        first = client.videos.create(**asked, extra_body={"extra_params": {"method": "physplan"}})
        second = client.videos.create(**asked, extra_body=quick)
        third = client.videos.create(**asked, extra_body=quick)
        client.videos.delete(third.id)  # it waits: it is stopped before it began
        assert client.videos.retrieve(third.id).status == "failed"
        while client.videos.retrieve(first.id).status == "queued":
            time.sleep(0.05)
    with serving(tmp_path / "runs") as service:  # the first was under way, the second waited
        client = client_of(service)
        assert ended(client, first.id).status == "completed"
        assert ended(client, second.id).status == "completed"
        assert client.videos.retrieve(third.id).status == "failed"
