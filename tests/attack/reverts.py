"""The fixes of issue 15 (1 to 5) and of issue 42 (42.1 to 42.9), each taken away again: the campaign notices.

Patches of the functions that carry the fix, in this process and all that it forks.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Revert:
    """`kind` is the attack that has to report it, by a fall that says one of these words."""

    item: str
    what: str
    kind: str
    words: tuple[str, ...]
    apply: Callable[[], None]


def everywhere(name: str, value: Any) -> None:
    """In every module of the package that has imported the function by its name."""
    for module in [m for key, m in sys.modules.items() if key.startswith("physplan")]:
        if name in vars(module):
            setattr(module, name, value)


def delete_what_looks_temporary() -> None:
    from physplan.runs.folder import RunFolder

    def remove(self: RunFolder) -> None:
        for path in self.path.rglob(".*-*"):
            if path.is_file():
                path.unlink()

    RunFolder._refuse_foreign = lambda self: None  # type: ignore[method-assign]
    RunFolder._remove_leftovers = remove  # type: ignore[method-assign]


def believe_the_server() -> None:
    from physplan.calls.ledger import Entry
    from physplan.calls.protocol import Usage

    def believe(*, taken: Any, given: Any, images: int = 0, **more: Any) -> Usage:
        counts = [n if isinstance(n, int) else 0 for n in (taken, given)]
        return Usage(input_tokens=counts[0], output_tokens=counts[1], images=images)

    everywhere("read_usage", believe)
    Entry.__post_init__ = lambda self: None  # type: ignore[method-assign]


def forgive_answers_without_text() -> None:
    from physplan.calls.protocol import CallFault
    from physplan_models.clients.gemini import GeminiClient

    def refusal(self: GeminiClient, reason: str, usage: Any) -> CallFault:
        return CallFault("Gemini refused to answer.", status=200)

    GeminiClient._refusal = refusal  # type: ignore[method-assign]


def follow_redirects() -> None:
    def follows(base: type[Any]) -> type[Any]:
        class Client(base):  # type: ignore[misc]
            def send(self, request: Any, **options: Any) -> Any:
                return super().send(request, **options | {"follow_redirects": True})

        return Client

    everywhere("bounded", follows)


def trust_every_host() -> None:
    from physplan.calls.providers import Provider

    Provider.require_consent = lambda self, url, allow_hosts: None  # type: ignore[method-assign]


def show_the_key() -> None:
    from physplan.calls.secrets import Secret

    Secret.redact = lambda self, text: text  # type: ignore[method-assign]


def trust_names_and_links() -> None:
    from physplan.runs.folder import RunFolder

    everywhere("inside", lambda folder, name: Path(folder) / name)
    RunFolder._refuse_links = lambda self: None  # type: ignore[method-assign]


def trust_words() -> None:
    import html

    def as_it_is(text: str, quote: bool = True) -> str:
        return str(text)

    everywhere("escape", as_it_is)
    html.escape = as_it_is


def let_scripts_run() -> None:
    everywhere("POLICY", "")


def take_all_of_a_body() -> None:
    from physplan_models.clients import http

    def read(chunks: Any, encoding: str, limits: Any) -> bytes:
        content = b"".join(chunks)
        return gzip.decompress(content) if "gzip" in encoding and content[:2] == b"\x1f\x8b" else content

    http._read = read


def count_each_name() -> None:
    import json

    from physplan.graph import Limits
    from physplan.graph.parsing import parse_json

    def pairs(items: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in items]
        any(names.count(name) > 1 for name in names)

    def parse(text: Any, limits: Any = Limits()) -> Any:  # noqa: B008
        with suppress(ValueError, RecursionError):
            json.loads(text, object_pairs_hook=pairs)
        return parse_json(text, limits)

    everywhere("parse_json", parse)


def let_files_consent() -> None:
    everywhere("refuse_consent", lambda before, after, where: after)


def compare_whole_names() -> None:
    """As before: everything of `video.` but for a list of whole names."""
    from physplan.pipeline import origins

    left_out = ("video.model", "video.source", "video.files", "video.revision", "video.dtype")

    def divide(told: Any, base: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        taken = {n: v for n, v in told.items() if n.startswith("video.") and n not in left_out}
        return taken, {}

    everywhere("divide", divide)
    origins.divide = divide  # type: ignore[assignment]


def let_a_lane_die() -> None:
    from physplan_studio.queue import Queue

    Queue._note = Queue._keep  # type: ignore[method-assign]


def decode_all_at_once() -> None:
    import contextlib

    import numpy as np
    from PIL import Image

    from physplan_studio.session import StudioSession

    def whole(image: Any, name: str) -> Any:
        values = np.asarray(image).astype(np.int64)
        return Image.fromarray(((values + 128) // 257).astype(np.uint8))

    begin = StudioSession.__init__

    def without_a_gate(self: Any, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self._decoding = contextlib.nullcontext()

    everywhere("_eight_bits", whole)
    StudioSession.__init__ = without_a_gate  # type: ignore[method-assign]


def expect_utf8() -> None:
    import av

    real = av.open

    def strict(*args: Any, **options: Any) -> Any:
        options.pop("metadata_errors", None)
        return real(*args, **options)

    av.open = strict  # type: ignore[assignment]


def take_any_key() -> None:
    from physplan_studio import server
    from physplan_studio.web import server as web

    server._key = lambda path: path.read_text().strip()
    server.listen = lambda host, port, site: web.PageServer((host, port), site)


def take_any_number() -> None:
    import json
    import math

    from physplan_bench.study import session
    from physplan_studio.web import server

    def seconds(value: Any) -> float:
        if not math.isfinite(value):
            raise server.Refused("no")
        return min(max(float(value), 0.0), 3600.0)

    server._object = lambda body: dict(json.loads(body))
    session._seconds = seconds


def cut_lines_at_any_separator() -> None:
    from physplan_bench.batch import rows

    class Cut(str):
        def split(self, *args: Any) -> list[str]:  # type: ignore[override]
            return self.splitlines()

    real = rows._read_json_lines
    rows._read_json_lines = lambda text: real(Cut(text))


def let_cells_compute() -> None:
    everywhere("csv_cell", lambda value: value)


def keep_votes_for_all() -> None:
    import os

    os.chmod = lambda *args, **options: None  # type: ignore[assignment]
    real = os.open
    os.open = lambda path, flags, mode=0o777, **more: real(path, flags, 0o644, **more)  # type: ignore[assignment]


def take_own_files_for_foreign() -> None:
    from physplan_bench.batch import jobs

    jobs._unfinished = lambda path: False


def follow_downloads() -> None:
    from physplan_models.servers.http import Transport

    Transport._require_own = lambda self, url: None  # type: ignore[method-assign]


def wait_as_long_as_told() -> None:
    import time

    from physplan_models.servers.client import VideoServerClient

    no_call_has_an_end()
    real = VideoServerClient._wait

    def wait(self: Any, key: str, id: str, seconds: float, deadline: float) -> None:
        time.sleep(min(seconds, 25))
        real(self, key, id, 0, deadline)

    VideoServerClient._wait = wait  # type: ignore[method-assign]


def no_call_has_an_end() -> None:
    """The gateway's own limit, which holds for every client."""
    from physplan.calls import gateway

    gateway._within = lambda seconds, action: action()


def let_servers_drip() -> None:
    import contextlib

    from physplan_models.servers import http

    no_call_has_an_end()
    http._cut_after = lambda seconds, connection: contextlib.nullcontext()  # type: ignore[assignment]


def believe_a_list() -> None:
    from physplan_models.servers import openrouter

    def dearest(skus: Any) -> float | None:
        return max(map(float, skus.values())) if isinstance(skus, dict) else None

    openrouter._dearest = dearest
    openrouter.Abilities.__post_init__ = lambda self: None  # type: ignore[method-assign]


def keep_uploads_as_they_are() -> None:
    from physplan_studio.pictures import PictureStore

    real = PictureStore.receive

    def receive(self: Any, content: bytes) -> str:
        id = real(self, content)
        (self._folder / f"{id}.png").write_bytes(content)
        return id

    PictureStore.receive = receive  # type: ignore[method-assign]


def end_without_memory() -> None:
    from physplan import cli

    cli.MemoryError = type("Never", (Exception,), {})  # type: ignore[attr-defined]


def end_without_words() -> None:
    from physplan import cli

    cli.KeyboardInterrupt = type("Never", (BaseException,), {})  # type: ignore[attr-defined]


def serve_one_at_a_time() -> None:
    import socketserver

    from physplan_studio.web.server import PageServer

    PageServer.process_request = socketserver.BaseServer.process_request  # type: ignore[assignment]


def wait_for_clients() -> None:
    from physplan_studio.web.server import Handler

    Handler.timeout = None  # type: ignore[assignment]


def take_plans_of_any_size() -> None:
    from dataclasses import fields

    from physplan.graph import Limits

    for field in fields(Limits):
        object.__setattr__(Limits.FILE, field.name, 10**9)


def keep_no_budget_for_all() -> None:
    from physplan_bench.shared_budget import total_settings

    def settings(folder: Path, budget: float | None) -> dict[str, Any]:
        return {**total_settings(folder, budget), "runtime.total_budget": None}

    everywhere("total_settings", settings)


def take_any_number_from_a_node() -> None:
    from integrations.comfyui import work

    work._channels_first = lambda images: images[..., :3].permute(0, 3, 1, 2).float()


def believe_the_clock() -> None:
    import time

    from physplan_bench.study import store

    store.steady_clock = lambda: lambda: time.time()


def forget_jobs() -> None:
    """The studio is a process of its own."""
    import os

    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent / "forgetful"), before])


REVERTS = (
    Revert(item="1", what="temporaries are whatever looks like one, in any folder", kind="folders",
           words=("a file of the user's, is gone",), apply=delete_what_looks_temporary),
    Revert(item="2", what="usage is what the server says", kind="replies",
           words=("the ledger has", "answered for nothing"), apply=believe_the_server),
    Revert(item="2", what="an answer without text is free", kind="replies", words=("the ledger has",),
           apply=forgive_answers_without_text),
    Revert(item="3", what="redirects are followed", kind="replies", words=("redirect",),
           apply=follow_redirects),
    Revert(item="3", what="a file may name who gets the key", kind="settings", words=("without a yes",),
           apply=trust_every_host),
    Revert(item="3", what="what a server says is not redacted", kind="replies", words=("the key is in",),
           apply=show_the_key),
    Revert(item="4", what="names in records lead anywhere, links are followed", kind="folders",
           words=("a file of the user's", "a link was followed"), apply=trust_names_and_links),
    Revert(item="4", what="words are not escaped", kind="folders", words=("a script of somebody else",),
           apply=trust_words),
    Revert(item="4", what="reports have no content security policy", kind="folders",
           words=("lets scripts run",), apply=let_scripts_run),
    Revert(item="5", what="bodies are read whole", kind="replies", words=("memory", "were stored"),
           apply=take_all_of_a_body),
    Revert(item="5", what="each name is counted among all", kind="replies", words=("hangs",),
           apply=count_each_name),
    Revert(item="42.1", what="files give consent", kind="strangers", words=("gave consent",),
           apply=let_files_consent),
    Revert(item="42.2", what="a video's settings are compared by whole names", kind="strangers",
           words=("a video chose",), apply=compare_whole_names),
    Revert(item="42.2", what="a dropped video's settings are compared by whole names", kind="pages",
           words=("a dropped video chose",), apply=compare_whole_names),
    Revert(item="42.3", what="a lane dies of a full disk", kind="pages", words=("a full disk",),
           apply=let_a_lane_die),
    Revert(item="42.4", what="uploads are decoded all at once", kind="pages", words=("memory",),
           apply=decode_all_at_once),
    Revert(item="42.5", what="metadata are taken for UTF-8", kind="strangers", words=("traceback", "UTF-8"),
           apply=expect_utf8),
    Revert(item="42.6", what="an empty key is a key", kind="pages", words=("without a key",),
           apply=take_any_key),
    Revert(item="42.7", what="any number is taken", kind="pages", words=("seconds", "in a request"),
           apply=take_any_number),
    Revert(item="42.7", what="lines are cut at any separator", kind="strangers",
           words=("rows with separator",), apply=cut_lines_at_any_separator),
    Revert(item="42.7", what="cells of a table compute", kind="strangers", words=("a formula",),
           apply=let_cells_compute),
    Revert(item="42.7", what="votes can be read by all", kind="pages", words=("have modes",),
           apply=keep_votes_for_all),
    Revert(item="42.8", what="unfinished files of a batch are foreign", kind="strangers",
           words=("killed early",), apply=take_own_files_for_foreign),
    Revert(item="42.9", what="a download is followed to any host", kind="servers",
           words=("a download was followed",), apply=follow_downloads),
    Revert(item="42.9", what="a video server says how long is waited", kind="servers",
           words=("was waited for",), apply=wait_as_long_as_told),
    Revert(item="42.9", what="an exchange with a video server has no end", kind="servers",
           words=("a video server drips", "hangs"), apply=let_servers_drip),
    Revert(item="42.9", what="a server's list of prices is believed", kind="servers",
           words=("a second costs",), apply=believe_a_list),
    Revert(item="42.9", what="uploads are kept as they came", kind="pages",
           words=("words of an upload", "another format"), apply=keep_uploads_as_they_are),
    Revert(item="42.9", what="no sentence for little memory", kind="stops", words=("MB for", "traceback"),
           apply=end_without_memory),
    Revert(item="42.9", what="no sentence for Ctrl-C", kind="stops", words=("after SIGINT", "traceback"),
           apply=end_without_words),
    Revert(item="42.9", what="one connection at a time", kind="pages", words=("keep the others waiting",),
           apply=serve_one_at_a_time),
    Revert(item="42.9", what="slow clients are kept", kind="pages", words=("never hung up",),
           apply=wait_for_clients),
    Revert(item="42.9", what="a plan may have any size", kind="pages", words=("a plan of",),
           apply=take_plans_of_any_size),
    Revert(item="42.9", what="workers share no budget", kind="stops", words=("on a budget of",),
           apply=keep_no_budget_for_all),
    Revert(item="42.9", what="the study believes the clock", kind="pages", words=("when the clock jumps",),
           apply=believe_the_clock),
    Revert(item="42.9", what="nodes take any number", kind="nodes", words=("of no numbers",),
           apply=take_any_number_from_a_node),
    Revert(item="42.9", what="a killed studio forgets its jobs", kind="stops",
           words=("does not know its job",), apply=forget_jobs),
)  # fmt: skip
