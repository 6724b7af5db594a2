"""The fixes of issue 15's first five items, each taken away again: the campaign has to notice.

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

    item: int
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
    from physplan.calls.clients.gemini import GeminiClient
    from physplan.calls.protocol import CallFault

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
    from physplan.calls.clients import http

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


REVERTS = (
    Revert(item=1, what="temporaries are whatever looks like one, in any folder", kind="folders",
           words=("a file of the user's, is gone",), apply=delete_what_looks_temporary),
    Revert(item=2, what="usage is what the server says", kind="replies",
           words=("the ledger has", "answered for nothing"), apply=believe_the_server),
    Revert(item=2, what="an answer without text is free", kind="replies", words=("the ledger has",),
           apply=forgive_answers_without_text),
    Revert(item=3, what="redirects are followed", kind="replies", words=("redirect",),
           apply=follow_redirects),
    Revert(item=3, what="a file may name who gets the key", kind="settings", words=("without a yes",),
           apply=trust_every_host),
    Revert(item=3, what="what a server says is not redacted", kind="replies", words=("the key is in",),
           apply=show_the_key),
    Revert(item=4, what="names in records lead anywhere, links are followed", kind="folders",
           words=("a file of the user's", "a link was followed"), apply=trust_names_and_links),
    Revert(item=4, what="words are not escaped", kind="folders", words=("a script of somebody else",),
           apply=trust_words),
    Revert(item=4, what="reports have no content security policy", kind="folders",
           words=("lets scripts run",), apply=let_scripts_run),
    Revert(item=5, what="bodies are read whole", kind="replies", words=("memory", "were stored"),
           apply=take_all_of_a_body),
    Revert(item=5, what="each name is counted among all", kind="replies", words=("hangs",),
           apply=count_each_name),
)  # fmt: skip
