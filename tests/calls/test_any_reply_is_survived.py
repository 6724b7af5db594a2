"""Real answers with one part replaced by something else: a sentence or an answer, never anything worse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from physplan.calls.gateway import CallPolicy, Gateway
from physplan.calls.prices import PriceTable
from physplan.calls.protocol import CallFault, Client, ImagePart, Request
from physplan.calls.secrets import Secret
from physplan_models.clients.gemini import GeminiClient
from physplan_models.clients.openai import OpenAIClient
from physplan_testing.loopback import Answer, GeminiServer, Loopback, OpenAIServer
from physplan_testing.sites import MODEL

ASK = Request(purpose="test", model=MODEL, text="what is this?", system="be brief")
PICTURE = ImagePart(data=b"a picture", media_type="image/png")
DRAW = replace(ASK, output="image", images=(PICTURE,), options={"size": "64x48"})
ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
STATUS = st.sampled_from([200, 200, 200, 200, 201, 204, 299, 400, 401, 403, 404, 418, 451, 599, 999])


class Site:
    def __init__(self, server: Loopback, client: Client) -> None:
        self.server, self.client, self.answer = server, client, Answer()
        server.respond = lambda asked: self.answer


@pytest.fixture(scope="module")
def sites() -> Iterator[dict[str, Site]]:
    with ExitStack() as stack:
        gemini = stack.enter_context(GeminiServer(lambda asked: None))
        openai = stack.enter_context(OpenAIServer(lambda asked: None))
        images = stack.enter_context(OpenAIServer(lambda asked: None))
        yield {
            "gemini": Site(gemini, GeminiClient(Secret(gemini.key), base_url=gemini.url)),
            "openai": Site(openai, OpenAIClient(Secret(openai.key), base_url=openai.url)),
            "images": Site(images, OpenAIClient(Secret(images.key), base_url=images.url)),
        }


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield from places(child, (*at, key))


def replaced(value: Any, at: tuple[Any, ...], by: Any) -> Any:
    if not at:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = replaced(value[at[0]], at[1:], by)
    return copy


@pytest.mark.parametrize("provider", ["gemini", "openai", "images"])
@settings(max_examples=120, deadline=None)
@given(data=st.data(), odd=ODD, status=STATUS, finish=st.sampled_from(["stop", "length", "refused"]))
def test_a_sentence_or_an_answer(
    sites: dict[str, Site], provider: str, data: st.DataObject, odd: Any, status: int, finish: str
) -> None:
    site, asked = sites[provider], DRAW if provider == "images" else ASK
    text = "" if provider == "images" else "yes"
    real = site.server.encode(Answer(text=text, images=(b"png",), finish=finish, status=min(status, 599)))
    at = data.draw(st.sampled_from(sorted(places(real), key=repr)))
    site.answer = Answer(status=status, raw=json.dumps(replaced(real, at, odd)).encode())
    gateway = Gateway(site.client, policy=CallPolicy(timeout=30, attempts=1))
    said = ""
    try:
        reply = gateway.ask(asked).reply
        assert isinstance(reply.text + reply.model, str)
    except CallFault as fault:
        said = str(fault)
    assert "client failed" not in said, "a fault of ours, not of the server's"
    assert said.isprintable()
    assert len(said) < 1000
    [entry] = gateway.ledger.entries()
    price = PriceTable.load().find(MODEL)
    assert price is not None
    assert entry.usd is not None
    assert 0 <= entry.usd < 1000 * price.worst_case(asked)
    if 200 <= status < 300:
        assert entry.usd > 0, "answered, so it is paid for"
