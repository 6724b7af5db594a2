"""The gateway, the ledger and the store: nothing is paid for twice, and the budget always holds."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from physplan.calls.addresses import check_url, is_local
from physplan.calls.gateway import CallPolicy, Gateway
from physplan.calls.ledger import BudgetExceeded, Ledger
from physplan.calls.prices import PriceTable
from physplan.calls.protocol import CallFault, ImagePart, Reply, Request, Usage
from physplan.calls.secrets import Secret
from physplan.calls.settings import CallSettings, connect
from physplan.calls.store import AnswerStore, request_key
from physplan.errors import PhysPlanError
from physplan_models.clients.gemini import GeminiClient
from physplan_models.clients.openai import OpenAIClient
from physplan_testing.loopback import Answer, Asked, GeminiServer, OpenAIServer
from physplan_testing.sites import MODEL, QUICK, MakeSite

ASK = Request(purpose="test", model=MODEL, text="what is this?", system="be brief")
PNG = b"\x89PNG not really"


class Counting:
    """A client that answers at once and counts."""

    provider = "gemini"
    local = False

    def __init__(self) -> None:
        self.calls = 0

    def ready(self) -> None: ...

    def complete(self, request: Request, *, timeout: float) -> Reply:
        self.calls += 1
        return Reply(text=f"answer to {request.text}", usage=Usage(input_tokens=100, output_tokens=10))


def test_a_stored_answer_is_not_asked_for_again(tmp_path: Path) -> None:
    client = Counting()
    first = Gateway(client, store=AnswerStore(tmp_path)).ask(ASK)
    again = Gateway(client, store=AnswerStore(tmp_path)).ask(ASK)
    assert client.calls == 1
    assert (first.stored, again.stored) == (False, True)
    assert again.reply == first.reply


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"text": "and this?"},
        {"system": ""},
        {"images": (ImagePart(data=PNG, media_type="image/png"),)},
        {"schema": {"type": "object"}},
        {"temperature": 0.5},
        {"seed": 1},
        {"max_output_tokens": 1},
        {"output": "image"},
        {"options": {"image_size": "2K"}},
    ],
)
def test_whatever_decides_the_answer_is_in_its_key(change: dict) -> None:
    assert request_key("gemini", replace(ASK, **change)) != request_key("gemini", ASK)


def test_what_does_not_decide_the_answer_is_not_in_its_key() -> None:
    assert request_key("gemini", replace(ASK, purpose="another")) == request_key("gemini", ASK)
    assert request_key("openai", ASK) != request_key("gemini", ASK)


def test_the_same_question_at_the_same_time_is_asked_once(gemini_site: MakeSite) -> None:
    site = gemini_site(lambda asked: Answer(text="yes", stall=0.1))
    gateway = site.gateway()
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: gateway.ask(ASK).reply.text, range(4)))
    assert replies == ["yes"] * 4
    assert len(site.server.asked) == 1


def test_image_answers_are_stored_priced_per_image_and_replayed(gemini_site: MakeSite) -> None:
    site = gemini_site(lambda asked: Answer(text="here", images=(PNG,)))
    draw = Request(
        purpose="keyframe",
        model="gemini-3-pro-image-preview",
        text="draw",
        images=(ImagePart(data=PNG, media_type="image/png"),),
        output="image",
        options={"aspect_ratio": "3:2", "image_size": "1K"},
    )
    gateway = site.gateway()
    drawn = gateway.ask(draw).reply
    assert [image.data for image in drawn.images] == [PNG]
    [asked] = site.server.asked
    assert asked.modalities == ("IMAGE", "TEXT")
    assert asked.body["generationConfig"]["imageConfig"] == {"aspectRatio": "3:2", "imageSize": "1K"}
    [entry] = gateway.ledger.entries()
    assert entry.images == 1
    assert entry.usd == pytest.approx(0.134 + (1000 * 2 + 200 * 12) / 1e6)
    site.server.__exit__()
    replayed = Gateway(gateway.client, store=AnswerStore(site.folder)).ask(draw).reply
    assert replayed.images[0].data == PNG
    assert replayed.usage == drawn.usage


def test_the_worst_case_bounds_what_a_call_can_cost() -> None:
    price = PriceTable.load().find(MODEL)
    assert price is not None
    worst = price.worst_case(ASK)
    most = Usage(input_tokens=len(ASK.text + ASK.system), output_tokens=ASK.max_output_tokens)
    assert worst >= price.cost(most)
    assert worst < 0.05, "a bound so loose that it stops everything would be no use"


def test_the_call_that_could_exceed_the_budget_is_not_made() -> None:
    client = Counting()
    gateway = Gateway(client, ledger=Ledger(budget=0.0))
    with pytest.raises(BudgetExceeded):
        gateway.ask(ASK)
    assert client.calls == 0
    assert gateway.ledger.entries() == ()


def test_calls_at_once_cannot_exceed_the_budget_together(tmp_path: Path) -> None:
    """Each of two processes' worth of threads sees what the others have reserved."""
    price = PriceTable.load().find(MODEL)
    assert price is not None
    worst = price.worst_case(ASK)
    path = tmp_path / "ledger.jsonl"
    gate = threading.Barrier(8)

    def reserve(number: int) -> bool:
        ledger = Ledger(path, budget=3.5 * worst)
        gate.wait()
        try:
            ledger.begin(key=str(number), purpose="t", provider="p", model=MODEL, attempt=1, worst_usd=worst)
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(reserve, range(8))) == 3


def test_a_budget_needs_a_price_and_says_how_to_give_one(tmp_path: Path) -> None:
    unknown = replace(ASK, model="my-own-model")
    with pytest.raises(BudgetExceeded, match="No price is known for the model my-own-model"):
        Gateway(Counting(), ledger=Ledger(budget=1.0)).ask(unknown)
    gateway = Gateway(Counting(), ledger=Ledger())
    gateway.ask(unknown)
    assert gateway.ledger.totals().unpriced == 1
    table = tmp_path / "prices.json"
    table.write_text('{"models": {"my-own-model": {"input": 1, "output": 2}}}')
    priced = Gateway(Counting(), ledger=Ledger(budget=1.0), prices=PriceTable.load(table))
    priced.ask(unknown)
    assert priced.ledger.totals().usd == pytest.approx(120e-6)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"models": {"m": {"input": -1, "output": 0}}}', '{"models": {"m": 3}}']
)
def test_a_broken_price_table_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "prices.json").write_text(text)
    with pytest.raises(PhysPlanError, match="is not a price table"):
        PriceTable.load(tmp_path / "prices.json")


def test_a_ledger_line_cut_off_by_a_kill_is_survived(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    Gateway(Counting(), ledger=Ledger(path)).ask(ASK)
    with path.open("ab") as file:
        file.write(b'{"id": "half a li')
    ledger = Ledger(path)
    assert ledger.totals().calls == 1
    Gateway(Counting(), ledger=ledger).ask(ASK)
    assert Ledger(path).totals().calls == 2


def test_reading_a_ledger_needs_no_right_to_write(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    assert Ledger(path).entries() == ()
    assert not path.exists()
    Gateway(Counting(), ledger=Ledger(path)).ask(ASK)
    before = path.stat().st_mtime_ns
    assert Ledger(path).totals().calls == 1
    assert path.stat().st_mtime_ns == before


def test_a_store_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file where the folder should be")
    picture = ImagePart(data=PNG, media_type="image/png")
    with pytest.raises(PhysPlanError, match="cannot be stored"):
        Gateway(Counting(), store=AnswerStore(tmp_path)).ask(replace(ASK, images=(picture,)))
    (tmp_path / "blocked").write_text("")
    with pytest.raises(PhysPlanError, match=r"ledger .* cannot be written"):
        Gateway(Counting(), ledger=Ledger(tmp_path / "blocked" / "ledger.jsonl")).ask(ASK)


def test_a_call_that_was_paid_but_never_booked_is_booked_from_the_store(tmp_path: Path) -> None:
    """Killed after the answer was stored and before the ledger knew: the next run settles it."""
    store, ledger = AnswerStore(tmp_path), Ledger(tmp_path / "ledger.jsonl")
    key = request_key("gemini", ASK)
    ledger.begin(key=key, purpose="test", provider="gemini", model=MODEL, attempt=1, worst_usd=0.5)
    usage = Usage(input_tokens=100, output_tokens=10)
    store.put(key, "gemini", ASK, Reply(text="yes", usage=usage), {"usd": 0.001, "seconds": 1.0})
    again = Gateway(Counting(), store=store, ledger=Ledger(tmp_path / "ledger.jsonl"))
    again.ask(ASK)
    assert again.ledger.totals().usd == pytest.approx(0.001)
    assert again.ledger.totals().calls == 1


def test_a_damaged_stored_answer_is_named(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path)
    Gateway(Counting(), store=store).ask(ASK)
    [path] = (tmp_path / "answers").iterdir()
    path.write_text("{}")
    client = Counting()
    with pytest.raises(PhysPlanError, match=f"{path.name}.*delete it"):
        Gateway(client, store=store).ask(ASK)
    assert client.calls == 0, "what was paid for is not paid for again unasked"


def test_every_damaged_byte_of_a_stored_answer_is_noticed(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path)
    expected = Gateway(Counting(), store=store).ask(ASK).reply
    [path] = (tmp_path / "answers").iterdir()
    whole, noticed = path.read_bytes(), 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            found = store.get(path.stem)
            assert found is not None
            assert found[0] == expected, "only white space may differ"
        except PhysPlanError:
            noticed += 1
    assert noticed >= len(whole) - 60
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PhysPlanError, match="damaged"):
        store.get(path.stem)


@pytest.mark.parametrize(
    "change",
    [
        {"reply": None},
        {"reply": {}},
        {"cost": {}},
        {"cost": None},
        {"reply": {"text": 3, "images": [], "usage": None, "model": "m", "truncated": False}},
        {
            "reply": {
                "text": "",
                "images": [],
                "usage": {"input_tokens": -9},
                "model": "m",
                "truncated": False,
            }
        },
        {"reply": {"text": "", "images": [{"digest": "../../x", "media_type": "a"}], "usage": None}},
        {"reply": {"text": "", "images": [{"digest": 7, "media_type": "a"}], "usage": None}},
        {"cost": {"usd": -1.0, "seconds": 1.0}},
        {"cost": {"usd": float("nan"), "seconds": 1.0}},
    ],
)
def test_a_stored_answer_of_somebody_elses_making_is_checked(tmp_path: Path, change: dict) -> None:
    store, ledger = AnswerStore(tmp_path), Ledger(tmp_path / "ledger.jsonl")
    Gateway(Counting(), store=store, ledger=ledger).ask(ASK)
    [path] = (tmp_path / "answers").iterdir()
    record = {**json.loads(path.read_bytes()), **change}
    del record["sha256"]
    path.write_text(json.dumps(record))
    ledger.begin(key=path.stem, purpose="p", provider="gemini", model=MODEL, attempt=1, worst_usd=0.5)
    with pytest.raises(PhysPlanError):
        Gateway(Counting(), store=store, ledger=ledger).ask(ASK)
    assert ledger.totals().usd > 0.5


@pytest.mark.parametrize("name", ["answers", "blobs", "locks", "ledger.jsonl"])
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "calls").mkdir()
    (tmp_path / "victim").mkdir()
    (tmp_path / "calls" / name).symlink_to(tmp_path / "victim" / name)
    client = Counting()
    gateway = Gateway(
        client, store=AnswerStore(tmp_path / "calls"), ledger=Ledger(tmp_path / "calls" / "ledger.jsonl")
    )
    with pytest.raises(PhysPlanError, match=f"{name} is a symbolic link"):
        gateway.ask(ASK)
    assert client.calls == 0
    assert not list((tmp_path / "victim").iterdir())


def test_pipes_in_the_place_of_files_are_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    key = request_key("gemini", ASK)
    os.mkfifo(tmp_path / "answers" / f"{key}.json")
    with pytest.raises(PhysPlanError, match="not a regular file"):
        Gateway(Counting(), store=AnswerStore(tmp_path)).ask(ASK)
    os.mkfifo(tmp_path / "ledger.jsonl")
    with pytest.raises(PhysPlanError, match="is not a file"):
        Gateway(Counting(), ledger=Ledger(tmp_path / "ledger.jsonl")).ask(ASK)
    with pytest.raises(PhysPlanError, match="is not a file"):
        Ledger(tmp_path / "ledger.jsonl").totals()


def test_an_answer_is_not_written_through_a_link_in_its_place(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "calls" / "answers").mkdir(parents=True)
    key = request_key("gemini", ASK)
    (tmp_path / "calls" / "answers" / f"{key}.part").symlink_to(victim)
    assert Gateway(Counting(), store=AnswerStore(tmp_path / "calls")).ask(ASK).reply.text
    assert victim.read_text() == "mine"


def test_an_answer_of_the_first_version_has_no_checksum_and_is_read(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path)
    expected = Gateway(Counting(), store=store).ask(ASK).reply
    [path] = (tmp_path / "answers").iterdir()
    record = json.loads(path.read_bytes())
    del record["sha256"]
    path.write_text(json.dumps(record))
    assert Gateway(Counting(), store=store).ask(ASK).reply == expected


def test_a_damaged_picture_is_noticed(tmp_path: Path) -> None:
    class Drawing(Counting):
        def complete(self, request: Request, *, timeout: float) -> Reply:
            return Reply(images=(ImagePart(data=PNG, media_type="image/png"),))

    store = AnswerStore(tmp_path)
    draw = replace(ASK, output="image")
    Gateway(Drawing(), store=store).ask(draw)
    [path] = (tmp_path / "blobs").iterdir()
    path.write_bytes(PNG.replace(b"not", b"now"))
    with pytest.raises(PhysPlanError, match=f"{path.name} is gone or damaged"):
        Gateway(Drawing(), store=store).ask(draw)


def test_a_call_that_was_cut_off_and_asked_again_stays_at_its_worst_case(tmp_path: Path) -> None:
    store, ledger = AnswerStore(tmp_path), Ledger(tmp_path / "ledger.jsonl")
    key = request_key("gemini", ASK)
    ledger.begin(key=key, purpose="test", provider="gemini", model=MODEL, attempt=1, worst_usd=0.5)
    for _ in range(3):  # asked again, then replayed: nothing may take the second answer for the first's
        Gateway(Counting(), store=store, ledger=Ledger(tmp_path / "ledger.jsonl")).ask(ASK)
    totals = Ledger(tmp_path / "ledger.jsonl").totals()
    assert (totals.calls, totals.cut_off) == (1, 1)
    assert totals.usd > 0.5


def test_a_question_that_another_process_is_asking_is_waited_for_only_so_long(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path)
    policy = CallPolicy(timeout=0.1, attempts=1, first_wait=0.0, longest_wait=0.0)
    with store.asking(request_key("gemini", ASK), patience=1), pytest.raises(PhysPlanError, match="Another"):
        Gateway(Counting(), store=AnswerStore(tmp_path), policy=policy).ask(ASK)


def test_waits_grow_and_stay_below_the_limit() -> None:
    policy = CallPolicy(first_wait=1.0, longest_wait=5.0)
    fault = CallFault("busy", retryable=True)
    waits = [policy.wait(attempt, fault) for attempt in range(1, 9)]
    assert all(0.5 <= wait <= 5.0 for wait in waits)
    assert 0.5 <= waits[0] <= 1.0
    assert waits[5] >= 2.5


def test_a_retry_date_and_googles_own_hint_are_understood(gemini_site: MakeSite) -> None:
    import email.utils
    import time

    hint = {"error": {"code": 429, "message": "slow", "details": [{"retryDelay": "3.5s"}]}}
    in_ten = email.utils.formatdate(time.time() + 10, usegmt=True)
    troubles = iter(
        [
            Answer(status=429, raw=json.dumps(hint).encode()),
            Answer(status=503, headers={"Retry-After": in_ten}),
            Answer(text="fine"),
        ]
    )
    gateway = gemini_site(lambda asked: next(troubles)).gateway()
    waits: list[float] = []
    gateway._sleep = waits.append
    assert gateway.ask(ASK).reply.text == "fine"
    assert waits[0] == 3.5
    assert 8 < waits[1] <= 10


def test_attempts_are_limited(make_site: MakeSite) -> None:
    site = make_site(lambda asked: Answer(status=503))
    with pytest.raises(CallFault, match="Given up after 5 attempts"):
        site.gateway().ask(ASK)
    assert len(site.server.asked) == 5


def test_an_unreachable_server_is_one_sentence() -> None:
    client = OpenAIClient(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(CallFault, match="cannot be reached"):
        Gateway(client, policy=CallPolicy(attempts=1)).ask(ASK)


def test_unknown_models_on_the_own_machine_cost_nothing(tmp_path: Path) -> None:
    def respond(asked: Asked) -> Answer:
        return Answer(text="hello")

    with OpenAIServer(respond) as server:
        client = OpenAIClient(Secret(server.key), base_url=server.url)
        gateway = Gateway(client, ledger=Ledger(budget=0.0), policy=QUICK)
        assert gateway.ask(replace(ASK, model="qwen3-vl")).reply.text == "hello"
        assert gateway.ledger.totals().usd == 0


def test_addresses_are_judged() -> None:
    assert all(
        map(
            is_local,
            ("http://localhost:8000/v1", "http://127.0.0.1/v1", "http://10.1.2.3:1/v1", "http://gpu/v1"),
        )
    )
    assert not any(map(is_local, ("https://api.openai.com/v1", "https://8.8.8.8/v1")))
    check_url("http://gpu.local:8000/v1")
    for url in (
        "ftp://x",
        "http://key@host.example/v1",
        "https://host.example/v1?key=1",
        "http://host.example/v1",
    ):
        with pytest.raises(PhysPlanError):
            check_url(url)


def test_a_missing_extra_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    found = importlib.util.find_spec
    missing = ("google.genai", "openai")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in missing else found(name))
    with pytest.raises(PhysPlanError, match=r"pip install .*\[gemini\]'"):
        GeminiClient(Secret("k"))
    with pytest.raises(PhysPlanError, match=r"pip install .*\[openai\]'"):
        OpenAIClient(Secret("k"))


def test_the_sdks_are_not_imported_before_they_are_used() -> None:
    import subprocess
    import sys

    code = (
        "import sys, physplan.reasoning, physplan_models.reasoning.named, physplan_models.clients.gemini, "
        "physplan_models.clients.openai; "
        "print([m for m in ('google.genai', 'openai', 'torch', 'PIL') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_connect_finds_keys_and_says_which_are_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PhysPlanError, match="set GEMINI_API_KEY, or GEMINI_API_KEY_FILE"):
        connect("gemini", CallSettings())
    with pytest.raises(PhysPlanError, match="OPENAI_API_KEY"):
        connect("openai", CallSettings(base_url="https://api.example.com/v1"))
    connect("openai", CallSettings(base_url="http://localhost:1/v1"))
    connect("gemini", CallSettings(offline=True))
    (tmp_path / "key").write_text("from-a-file\n")
    monkeypatch.setenv("GEMINI_API_KEY_FILE", str(tmp_path / "key"))
    with GeminiServer(lambda asked: Answer(text="hi"), key="from-a-file") as server:
        gateway = connect("gemini", CallSettings(base_url=server.url, folder=tmp_path / "calls"))
        assert gateway.ask(ASK).reply.text == "hi"
    monkeypatch.setenv("GEMINI_API_KEY_FILE", str(tmp_path / "nowhere"))
    with pytest.raises(PhysPlanError, match="GEMINI_API_KEY_FILE names cannot be read"):
        connect("gemini", CallSettings())
