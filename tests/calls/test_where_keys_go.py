"""A key goes to its provider, to this machine, and to whom the user has named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from physplan.calls.addresses import check_url, is_local, is_loopback
from physplan.calls.protocol import CallFault, Request
from physplan.calls.secrets import Secret
from physplan.calls.settings import CallSettings, connect
from physplan.errors import PhysPlanError
from physplan.pipeline.config_loading import load_config
from physplan_models.clients.providers import GEMINI, OPENAI
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked, GeminiServer, Loopback, OpenAIServer
from physplan_testing.sites import MODEL, QUICK, MakeSite

ASK = Request(purpose="test", model=MODEL, text="what is this?", system="be brief")
CANARY = "canary-7f3a+/=key"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(make_site: MakeSite, status: int) -> None:
    other = make_site(lambda asked: Answer(text="stolen"))
    site = make_site(lambda asked: Answer(status=status, headers={"Location": other.server.url + "/x"}))
    gateway = site.gateway()
    with pytest.raises(CallFault, match=r"redirects to http://127.* not followed"):
        gateway.ask(ASK)
    assert len(site.server.asked) == 1
    assert other.server.heard == 0
    assert gateway.ledger.totals().usd == 0


ODD = [
    "http://134744072/v1",
    "http://0x08080808/v1",
    "http://8.2056/v1",
    "http://010.8.8.8/v1",
    "http://127.1/v1",
    "http://0x7f.0.0.1/v1",
    "http://2130706433/v1",
    "http://[::ffff:8.8.8.8]/v1",
    "http://[::ffff:127.0.0.1]/v1",
    "http://[::ffff:7f00:1]/v1",
    "http://[2002:808:808::]/v1",
    "http://127.0.0.1\\@evil.example/v1",
    "http://127.0.0.1%2eevil.example/v1",
    "http://１２７.0.0.1/v1",
    "http://local host/v1",
    "http://[fe80::1%25eth0]/v1",
    "http://127.0.0.1:99999/v1",
    "http://[::1/v1",
    "http:///v1",
]


@pytest.mark.parametrize("url", ODD)
def test_an_address_in_an_unusual_form_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(PhysPlanError):
        check_url(url)
    with pytest.raises(PhysPlanError):
        connect("openai", CallSettings(base_url=url, allow_hosts=(url,)))


def test_what_is_this_machine_and_what_is_its_network() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.9.1", "::1")))
    assert not any(
        map(is_loopback, ("134744072", "::ffff:127.0.0.1", "10.0.0.1", "gpu", "localhost.evil.example"))
    )
    assert not any(map(is_local, ODD[:11]))
    assert check_url("https://API.openai.com./v1") == "api.openai.com"


@pytest.mark.parametrize(
    ("provider", "url"),
    [
        ("gemini", "https://evil.example/"),
        ("gemini", "https://generativelanguage.googleapis.com.evil.example/"),
        ("gemini", "https://api.openai.com/v1"),
        ("gemini", "http://10.0.0.7:8000/"),
        ("openai", "https://evil.example/v1"),
        ("openai", "http://gpu:8000/v1"),
        ("openai", "https://evil-api.openai.com.example/v1"),
    ],
)
def test_a_foreign_host_is_named_and_needs_a_yes(
    monkeypatch: pytest.MonkeyPatch, provider: str, url: str
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", CANARY)
    for name in ("OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    host = check_url(url)
    with pytest.raises(PhysPlanError, match=f"--allow-host {host}") as caught:
        connect(provider, CallSettings(base_url=url))  # type: ignore[arg-type]
    assert CANARY not in str(caught.value)
    with pytest.raises(PhysPlanError, match="--allow-host"):
        connect(provider, CallSettings(base_url=url, allow_hosts=("another.example",)))  # type: ignore[arg-type]
    connect(provider, CallSettings(base_url=url, allow_hosts=(host.upper(),)))  # type: ignore[arg-type]


def test_the_provider_this_machine_and_the_environments_own_address_need_no_yes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for url in ("https://api.openai.com/v1", "https://eu.api.openai.com/v1", "http://localhost:1/v1"):
        OPENAI.require_consent(url, ())
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")
    OPENAI.require_consent("https://gateway.example/v1", ())
    with pytest.raises(PhysPlanError, match="sent to gateway"):
        GEMINI.require_consent("https://gateway.example/", ())


def test_a_server_of_ones_own_that_gets_no_key_needs_no_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY_FILE", raising=False)
    connect("openai", CallSettings(base_url="http://gpu:8000/v1"))


def test_a_config_file_cannot_say_yes(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("reasoner: {base_url: 'https://evil.example'}\nruntime: {allow_hosts: [evil.example]}\n")
    with pytest.raises(PhysPlanError, match="only the command line may"):
        load_config(path)


@pytest.mark.parametrize("kind", [GeminiServer, OpenAIServer])
def test_a_server_that_says_the_key_in_every_field_is_not_repeated(
    tmp_path: Path, kind: type[Loopback]
) -> None:
    """In letters of another case and as JSON escapes too; looked for in all that is shown and stored."""
    name = "GEMINI_API_KEY" if kind is GeminiServer else "OPENAI_API_KEY"
    escaped = "".join(f"\\u{ord(c):04x}" for c in CANARY)

    def respond(asked: Asked) -> Answer:
        n = len(server.asked)
        if n == 1:
            body = json.dumps(server.encode(melting.respond(asked)))
            fields = {"gemini-3-flash-loopback": CANARY, "loopback-vl": escaped, "application/json": CANARY}
            for old, new in fields.items():
                body = body.replace(old, new)
            return Answer(raw=body.encode())
        if kind is OpenAIServer:
            refusal = {"role": "assistant", "content": None, "refusal": CANARY.upper()}
            return Answer(raw=json.dumps({"choices": [{"message": refusal}]}).encode())
        body = '{"candidates": [{"finishReason": "%s", "index": 0}]}' % (CANARY if n == 2 else escaped)
        return Answer(raw=body.encode())

    command = "paper" if kind is GeminiServer else "open"
    picture = melting.draw(tmp_path / "ice.png")
    arguments = [
        "plan",
        "--image",
        str(picture),
        "--prompt",
        melting.PROMPT,
        "--preset",
        command,
        "--verbose",
    ]
    with kind(respond, key=CANARY) as server:
        arguments += [
            "--verbose",
            "--set",
            f"reasoner.base_url={server.url}",
            "-o",
            str(tmp_path / "plan.json"),
        ]
        done = subprocess.run(
            [sys.executable, "-m", "physplan", *arguments],
            capture_output=True,
            env={**os.environ, name: CANARY},
            timeout=240,
        )
        assert len(server.asked) == 2
    assert done.returncode == 2
    assert b"refused" in done.stderr
    everything = done.stdout + done.stderr
    everything += b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert CANARY.lower().encode() not in everything.lower()
    assert b"[hidden key]" in everything


def test_a_stand_in_for_a_key_is_a_word_and_stays_one() -> None:
    assert Secret("EMPTY").redact("the glass is empty") == "the glass is empty"
    assert Secret("none").redact("none") == "none"


def test_redaction_knows_other_letter_cases() -> None:
    assert "7f3a" not in Secret(CANARY).redact(f"{CANARY.upper()} {CANARY.title()}").lower()


def test_the_name_of_this_machine_gets_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "test-key")
    with GeminiServer(lambda asked: Answer(text="hello")) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        settings = CallSettings(base_url=url, folder=tmp_path, policy=QUICK)
        assert connect("gemini", settings).ask(ASK).reply.text == "hello"
        assert server.asked[0].headers["x-goog-api-key"] == "test-key"
