"""The studio's and the study's servers: floods, slow clients, full disks, odd numbers, odd files."""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from PIL import Image
from tests.attack.campaign import SCRIPT, Arena, Probe
from tests.attack.disks import PLENTY, _mount, small_disk
from tests.attack.strangers import PATHS, told

sys.path.insert(0, str(Path(__file__).parents[1] / "studio"))
from studio_double import PROMPT, Client, plan, serving, worker_of

from physplan.graph import Limits
from physplan_studio.server import Studio
from physplan_studio.web.server import Handler

NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "1" * 400, "-1", "0.5", "true", "null", '"x"')


def attack(arena: Arena) -> None:
    for probe in arena.probes():
        with captured(probe):
            ATTACKS[probe.number % len(ATTACKS)](probe)
        probe.tried()


@contextmanager
def captured(probe: Probe) -> Iterator[None]:
    """What a server of this process prints is heard: a traceback or "a request failed" is a fall."""
    said = io.StringIO()
    before, sys.stderr = sys.stderr, said
    try:
        yield
    finally:
        sys.stderr = before
    probe.hear(said.getvalue())
    for word in ("a request failed", "Traceback", "a run failed"):
        if word in said.getvalue():
            probe.fell(f"the server says: {said.getvalue().strip().splitlines()[-1][:200]}")
            break


def png(side: int = 32, kind: type = np.uint8) -> bytes:
    encoded = io.BytesIO()
    Image.fromarray(np.full((side, side), 90, kind)).save(encoded, "PNG")
    return encoded.getvalue()


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


@contextmanager
def opened(folder: Path, host: str = "127.0.0.1") -> Iterator[tuple[Studio, Client]]:
    with serving(folder, host) as studio:
        yield studio, Client(studio.server.port)


def paths_in_a_dropped_video(probe: Probe) -> None:
    content = told(probe, PATHS)
    with opened(probe.folder / "runs") as (studio, client):
        status, answer = client.post("api/video", content, Content_Type="application/octet-stream")
        probe.expect(status == 200, f"a dropped video: {status} {answer[:100]}")
        recipe = json.loads(answer).get("recipe", "")
        kept = studio.session._uploads.path(recipe).read_text() if recipe else ""
        probe.expect("evil" not in kept, "a dropped video chose a path or a back end of its own")


def text_that_is_none(probe: Probe) -> None:
    content = told(probe, {})
    at = content.index(b'"prompt"') + probe.chance.randrange(12, 40)
    with opened(probe.folder / "runs") as (_, client):
        body = content[:at] + b"\xff\xfe\xe2" + content[at + 3 :]
        status, answer = client.post("api/video", body, Content_Type="application/octet-stream")
        probe.expect(status == 400, f"a video whose words are not UTF-8: {status} {answer[:100]}")


def full_disk(probe: Probe) -> None:
    """Jobs under way while nothing can be written: each ends, and the next ones go on when there is room."""
    disk = probe.folder / "disk"
    disk.mkdir()
    with ExitStack() as stack:
        mounted = stack.enter_context(small_disk(disk))
        if not mounted:
            return
        studio, client = stack.enter_context(opened(disk / "runs"))
        picture = client.upload(png())[1]["picture"]
        studio.session.offers.wait(60)
        gate = worker_of(studio).gate
        gate.clear()
        runs = [client.ask("start", picture=picture, prompt=f"{PROMPT} {n}")["run"] for n in range(3)]
        client.until(runs[0], "running")
        found = os.statvfs(disk)
        _mount(disk, f"remount,size={(found.f_blocks - found.f_bfree) * found.f_frsize}")
        status, answer = client.post(
            "api/start", json.dumps({"picture": picture, "prompt": "another one"}).encode()
        )
        probe.expect(status in (200, 400), f"a full disk: {status} {answer[:100]}")
        gate.set()
        for run in runs:
            try:
                client.until_ended(run, seconds=20)
            except AssertionError:
                probe.fell("a full disk: a job stays under way, its lane is dead")
                return
        _mount(disk, f"remount,size={PLENTY}")
        name = client.ask("start", picture=picture, prompt=f"{PROMPT} when there is room")["run"]
        try:
            ended = client.until_ended(name, seconds=20)
            probe.expect(ended["job"]["state"] == "done", f"a full disk: later work ends {ended['job']}")
        except AssertionError:
            probe.fell("a full disk: nothing goes on when there is room, the lane is dead")


def flood(probe: Probe) -> None:
    """Six pictures of 16 bits at once, each small as a file."""
    content, answers = png(5_000, np.uint16), list[int]()
    with opened(probe.folder / "runs") as (_, client):
        client.upload(png())
        before = memory()
        threads = [
            threading.Thread(target=lambda: answers.append(client.upload(content)[0])) for _ in range(6)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        probe.expect(answers == [200] * 6, f"six large uploads at once: {answers}")
        probe.expect(memory() - before < 700, f"memory: {memory() - before} MB for six uploads at once")


def no_key(probe: Probe) -> None:
    """A key file that holds none: whoever reaches the port must not get the page."""
    key = probe.folder / "runs" / ".studio" / "key"
    key.parent.mkdir(parents=True)
    key.write_text(probe.chance.choice(["", "\n", " ", "x"]))
    with opened(probe.folder / "runs", "0.0.0.0") as (studio, client):
        probe.expect(client.get("")[0] == 404, "a studio is open on the network without a key")
        mode = key.stat().st_mode & 0o777
        probe.expect(mode == 0o600, f"the key's file has mode {mode:o}")
        probe.expect(len(studio.server.site.key) > 15, "the key is short")


def odd_numbers(probe: Probe) -> None:
    with opened(probe.folder / "runs") as (_, client):
        picture = client.upload(png())[1]["picture"]
        for word in NUMBERS:
            fields = f'"picture": "{picture}", "prompt": "{PROMPT}", "upto": "plan"'
            for body in (
                f'{{{fields}, "settings": {{"runtime.budget": {word}}}}}',
                f'{{{fields}, "settings": {{"video.num_inference_steps": {word}}}}}',
                f'{{{fields}, "seed": {word}}}',
                f'{{{fields}, "attempts": {word}}}',
            ):
                status, answer = client.post("api/start", body.encode())
                probe.expect(status in (200, 400), f"{word[:20]} in a request: {status} {answer[:80]}")
                status, answer = client.post("api/runs", b"{}")
                probe.expect(status == 200, f"{word[:20]}: the list of runs answers {status}")


def votes(probe: Probe) -> None:
    """The study's page: seconds of any length, a full database, whose file it is."""
    from physplan.errors import PhysPlanError
    from physplan_bench.study.criteria import KEYS
    from physplan_bench.study.session import _seconds
    from physplan_bench.study.store import VoteStore
    from physplan_studio.web.server import Refused

    for value in (10**400, -(10**400), float("nan"), float("inf"), 0.5, True, "1"):
        try:
            probe.expect(0 <= _seconds(value) <= 3600, f"a vote took {value!r:.20}")
        except Refused:
            continue
        except OverflowError as error:
            probe.fell(f"a vote's seconds: {error!r}")
    path = probe.folder / "votes.sqlite"
    with closing(VoteStore(path, "s")) as store:
        modes = {one.stat().st_mode & 0o777 for one in probe.folder.glob("votes.sqlite*")}
        probe.expect(modes == {0o600}, f"the votes' files have modes {[f'{mode:o}' for mode in modes]}")
        store.join("0" * 32, 1_000, idle=60)
        (pages,) = store._database.execute("PRAGMA page_count").fetchone()
        store._database.execute(f"PRAGMA max_page_count={pages}")
        try:
            for number in range(1, 600):
                store.join(f"{number:032}", 1_000, idle=60)
            probe.fell("a full database took 600 people")
        except PhysPlanError as error:
            probe.hear(str(error))
        except Exception as error:
            probe.fell(f"traceback: a full disk under votes: {error!r}")
        store._database.execute("PRAGMA max_page_count=100000")
        kept = store.vote("0" * 32, 0, dict.fromkeys(KEYS, "a"), seconds=1.0, of=9, code=False)
        probe.expect(kept is not None and kept.answered == 1, "votes do not go on when there is room")


def other_files(probe: Probe) -> None:
    """SVG, polyglots, animations, CMYK: refused, or kept as pixels and no more."""
    with opened(probe.folder / "runs") as (_, client):
        for content in _polyglots():
            status, answer = client.upload(content)
            probe.expect(status in (200, 400), f"an upload: {status} {answer}")
            if status == 200:
                found = client.get(f"pictures/{answer['picture']}.png")
                probe.expect(found[1][:8] == b"\x89PNG\r\n\x1a\n", "an upload is served as another format")
                probe.expect(b"script" not in found[1], "words of an upload are served")


def _polyglots() -> Iterator[bytes]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">{SCRIPT}</svg>'.encode()
    yield png() + SCRIPT.encode()
    yield b"GIF89a/*" + SCRIPT.encode()
    for kind, mode in (("JPEG", "CMYK"), ("PNG", "P"), ("WEBP", "RGBA")):
        encoded = io.BytesIO()
        Image.new(mode, (64, 48)).save(encoded, kind)
        yield encoded.getvalue() + SCRIPT.encode()
    frames = [Image.new("RGB", (32, 32), (shade, 0, 0)) for shade in range(40)]
    for kind in ("PNG", "WEBP", "GIF"):
        encoded = io.BytesIO()
        frames[0].save(encoded, kind, save_all=True, append_images=frames[1:])
        yield encoded.getvalue()


def slow_clients(probe: Probe) -> None:
    """Eighty connections that say half of a request and then nothing."""
    with opened(probe.folder / "runs") as (_, client), ExitStack() as stack:
        for number in range(80):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=20))
            length = 1_000_000 if number % 2 else 100
            kind = "application/octet-stream" if number % 2 else "application/json"
            head = f"POST /api/picture HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
            one.sendall(f"{head}Content-Length: {length}\r\n\r\nx".encode() if number % 3 else b"POST /a")
        answers = list[int]()
        others = threading.Thread(
            target=lambda: answers.extend([client.post("api/runs", b"{}")[0], client.upload(png())[0]]),
            daemon=True,
        )
        others.start()
        others.join(30)
        probe.expect(answers == [200, 200], f"slow clients keep the others waiting: {answers}")
    if answers:
        _hung_up_on(probe)


def _hung_up_on(probe: Probe) -> None:
    """Whoever says nothing for the server's limit, a second here, is not kept."""
    limit = Handler.timeout
    Handler.timeout = limit and 1
    try:
        with ExitStack() as stack:
            _, client = stack.enter_context(opened(probe.folder / "others"))
            one = stack.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=15))
            one.sendall(b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
            probe.expect(one.recv(10) == b"", "slow clients are answered")
    except TimeoutError:
        probe.fell("slow clients are never hung up on")
    finally:
        Handler.timeout = limit


LIMITS = {"objects": Limits.FILE.max_nodes, "events": Limits.FILE.max_events, "words": Limits.FILE.max_text}


def plans_at_their_limits(probe: Probe) -> None:
    """As large as a plan may be, one more, and many more."""
    with opened(probe.folder / "runs") as (_, client):
        for kind, most in LIMITS.items():
            for size in (most, most + 1, 10 * most):
                began = time.process_time()
                given = json.dumps({"plan": plan_of(kind, size)}).encode()
                status, answer = client.post("api/check", given)
                probe.expect(status in (200, 413), f"a plan of {size} {kind}: {status} {answer[:80]}")
                taken = status == 200 and json.loads(answer)["ok"]
                probe.expect(not (taken and size > most), f"a plan of {size} {kind} is taken")
                probe.expect(time.process_time() - began < 30, f"hangs: a plan of {size} {kind}")


def plan_of(kind: str, size: int) -> dict[str, Any]:
    value: dict[str, Any] = plan().to_json()
    if kind == "objects":
        node = value["graph"]["nodes"][0]
        value["graph"]["nodes"] = [{**node, "id": f"ball#{n + 1}"} for n in range(size)]
    elif kind == "events":
        value["events"] = value["events"] * size
    else:
        value["events"][0]["delta"]["states"][0]["rule"] = "w" * size
    return value


def a_clock_that_jumps(probe: Probe) -> None:
    """Days forwards and backwards: places are given once, votes keep their order."""
    from physplan_bench.study.criteria import KEYS
    from physplan_bench.study.store import VoteStore

    with (
        mock.patch("time.time", return_value=1e9) as now,
        closing(VoteStore(probe.folder / "votes.sqlite", "s")) as store,
    ):
        places = set()
        for number in range(8):
            now.return_value += probe.chance.choice([-1e8, -3600.0, 60.0]) if number % 2 else 1e8
            person = store.join(f"{number:032}", 8, idle=3600)
            places.add(person.place)
            kept = store.vote(person.token, 0, dict.fromkeys(KEYS, "a"), seconds=1, of=2, code=False)
            probe.expect(kept is not None and kept.answered == 1, "a vote is lost when the clock jumps")
        probe.expect(len(places) == 8, "two people have one place when the clock jumps")
        when = [row[0] for row in store._database.execute("SELECT at FROM votes ORDER BY token")]
        probe.expect(when == sorted(when), "votes change their order when the clock jumps")
    runs = probe.folder / "runs"
    with opened(runs) as (_, client):
        picture = client.upload(png())[1]["picture"]
        name = client.ask("start", picture=picture, prompt=PROMPT)["run"]
        client.until(name, "done")
        os.utime(runs / name / "run.json", (4e9, 4e9))
        os.utime(runs / name / "video.mp4", (-1e9, -1e9))
        cards = client.ask("runs")["runs"]
        probe.expect([card["run"] for card in cards] == [name], "a run is gone when the clock jumps")
    shutil.rmtree(runs)  # the double's report is a hostile one


ATTACKS: tuple[Callable[[Probe], Any], ...] = (
    *(paths_in_a_dropped_video, text_that_is_none, full_disk, flood, no_key, odd_numbers, votes),
    *(other_files, slow_clients, plans_at_their_limits, a_clock_that_jumps),
)
