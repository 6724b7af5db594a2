"""50 jobs, four workers, kills in between: each job once. The real openai client, LiteLLM's proxy, Ray.

LiteLLM is no dependency: PHYSPLAN_LITELLM names its executable (`pip install 'litellm[proxy]'` in a venv of
its own). Where there is none, all jobs go to the server directly.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

openai = pytest.importorskip("openai")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(4_000),
    pytest.mark.filterwarnings("ignore:The Sora API"),
]
TOKEN, PATIENCE = "a-token-of-the-test", 3_000.0
PROMPT = "someone lets go of the ball"
LITELLM = os.environ.get("PHYSPLAN_LITELLM") or shutil.which("litellm")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Server:
    """`physplan serve` in a process that can be killed and begun again on the same port and folder."""

    def __init__(self, runs: Path, *more: str) -> None:
        self.port, self.runs, self.more = free_port(), runs, more
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.start()

    def start(self, *more: str) -> None:
        command = [sys.executable, "-m", "physplan", "serve", "--port", str(self.port), "--token", TOKEN]
        command += ["--runs", str(self.runs), "--workers", "4", *(more or self.more)]
        with (self.runs.parent / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=log)
        until(lambda: answers(f"{self.url}/videos", TOKEN) or self.process.poll() is not None)
        assert self.process.poll() is None, (self.runs.parent / "serve.log").read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def kill_workers(self, number: int) -> None:
        found = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)], capture_output=True, text=True
        )
        pids = [
            int(line.split()[0]) for line in found.stdout.splitlines() if "physplan_studio.worker" in line
        ]
        for pid in pids[-number:]:
            os.kill(pid, signal.SIGKILL)

    def done(self) -> int:
        return sum(one.status == "completed" for one in client(self.url, TOKEN).videos.list())


def answers(url: str, token: str) -> bool:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def until(found: Callable[[], bool], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline
        time.sleep(1.0)


def client(url: str, token: str) -> Any:
    return openai.OpenAI(base_url=url, api_key=token, max_retries=0)


@contextmanager
def proxy(folder: Path, server: Server) -> Iterator[Any]:
    """LiteLLM's proxy before the server."""
    port, config = free_port(), folder / "litellm.yaml"
    config.write_text(
        "model_list:\n  - model_name: physplan\n    litellm_params: {model: openai/physplan, api_base: "
        f"'{server.url}', api_key: {TOKEN}}}\ngeneral_settings: {{master_key: sk-test}}\n"
    )
    with (folder / "litellm.log").open("wb") as log:
        process = subprocess.Popen(
            [str(LITELLM), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)],
            env=os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "127.0.0.1"},
            stdout=log,
            stderr=log,
        )
    try:
        until(lambda: answers(f"http://127.0.0.1:{port}/health/liveliness", "sk-test"))
        yield client(f"http://127.0.0.1:{port}/v1", "sk-test")
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def png() -> bytes:
    from physplan_sandbox import samples

    encoded = io.BytesIO()
    samples.first_frame(samples.sample("drop")).save(encoded, "PNG")
    return encoded.getvalue()


def ask(asking: Any, png: bytes, seed: int) -> str:
    """The id as it was given at first: LiteLLM's later answers have one that it cannot read back."""
    extra = {"seed": seed, "extra_params": {"method": "storyboard"}}
    picture = ("drop.png", png, "image/png")
    made = asking.videos.create(prompt=PROMPT, input_reference=picture, model="physplan", extra_body=extra)
    return str(made.id)


def finished(runs: Path) -> dict[str, int]:
    """How often each run's video was finished, by its log."""
    logs = {path.parent.name: path.read_text("utf-8") for path in runs.glob("*/log.txt")}
    return {name: text.count("video: finished") for name, text in logs.items()}


def test_fifty_jobs_are_made_once_each_though_workers_and_the_server_are_killed(
    tmp_path: Path, png: bytes
) -> None:
    server = Server(tmp_path / "runs")
    direct = client(server.url, TOKEN)
    try:
        with proxy(tmp_path, server) if LITELLM else nothing(direct) as through:
            asked = [(through if seed % 2 else direct, seed) for seed in range(40)]
            ids = [(one, ask(one, png, seed)) for one, seed in asked]
            until(lambda: server.done() >= 5)
            server.kill_workers(1)
            until(lambda: server.done() >= 12)
            server.kill()
            server.start()
            ids += [(one, ask(one, png, 40 + seed)) for seed, (one, _) in enumerate(asked[:10])]
            until(lambda: server.done() >= 25)
            server.kill_workers(2)
            until(lambda: server.done() == 50)
            assert {one.videos.retrieve(id).status for one, id in ids} == {"completed"}
            assert min(len(one.videos.download_content(id).read()) for one, id in ids) > 10_000
    finally:
        server.kill()
    assert finished(tmp_path / "runs") == {f"someone-lets-go-of-the-ball-{n}": 1 for n in range(1, 51)}


@contextmanager
def nothing(direct: Any) -> Iterator[Any]:
    yield direct


def test_jobs_on_two_ray_nodes_survive_a_node_the_head_and_the_server(tmp_path: Path, png: bytes) -> None:
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    def cluster() -> Any:
        made = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 2, "include_dashboard": False, "object_store_memory": 128 * 2**20},
        )
        made.add_node(num_cpus=4, object_store_memory=128 * 2**20)
        return made

    first = cluster()
    server = Server(tmp_path / "runs", "--ray", first.address)
    direct = client(server.url, TOKEN)
    try:
        for seed in range(16):
            ask(direct, png, seed)
        until(lambda: server.done() >= 3)
        first.remove_node(next(iter(first.worker_nodes)), allow_graceful=False)  # with two to four workers
        first.add_node(num_cpus=4, object_store_memory=128 * 2**20)
        until(lambda: server.done() >= 7)
        server.kill()
        server.start()
        until(lambda: server.done() >= 10)
        first.shutdown()  # the head's process too
        server.kill()
        second = cluster()
        server.start("--ray", second.address)
        until(lambda: server.done() == 16)
        second.shutdown()
    finally:
        server.kill()
    assert finished(tmp_path / "runs") == {f"someone-lets-go-of-the-ball-{n}": 1 for n in range(1, 17)}
