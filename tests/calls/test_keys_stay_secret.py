"""A canary key must turn up in no file, log, traceback or output, whatever goes wrong."""

from __future__ import annotations

import copy
import io
import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from physplan.calls.gateway import CallPolicy
from physplan.calls.protocol import Request
from physplan.calls.secrets import Secret, load_secret
from physplan.calls.settings import CallSettings, connect
from physplan.errors import PhysPlanError
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked, GeminiServer, Loopback, OpenAIServer
from physplan_testing.melting import PROMPT

CANARY = "canary-7f3a+/=key"


def test_a_secret_hides_itself() -> None:
    secret = Secret(CANARY)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", repr([secret]), repr({"key": secret})]
    assert not any(CANARY in text for text in shown)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        copy.deepcopy(secret)
    assert secret.reveal() == CANARY


def test_redaction_finds_quoted_forms() -> None:
    from urllib.parse import quote

    text = f"{CANARY} {quote(CANARY, safe='')} {json.dumps(CANARY)}"
    assert "7f3a" not in Secret(CANARY).redact(text)


@pytest.mark.parametrize("value", ["two words", "zeile\nzwei", "schlüssel", "\x00"])
def test_what_no_header_can_carry_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(PhysPlanError, match="does not hold a key") as caught:
        load_secret("K", environ={"K": value})
    assert value not in str(caught.value)


def echoing(asked: Asked) -> Answer:
    """A server that says the key in every kind of answer it can give, good and bad."""
    if asked.act == "nodes":
        return melting.respond(asked)
    if asked.act == "deltas":
        leaky = json.loads(json.dumps(melting.DELTAS))
        leaky[0]["states"][0]["state"] = f"melted {CANARY}"
        return Answer(text=json.dumps({"deltas": leaky}))
    return Answer(status=403, message=f"key {CANARY} may not do this", headers={"X-Key": CANARY})


@pytest.mark.parametrize("kind", [GeminiServer, OpenAIServer])
def test_the_canary_is_nowhere_after_a_run_with_errors(tmp_path: Path, kind: type[Loopback]) -> None:
    image = melting.draw(tmp_path / "ice.png")
    preset = "paper" if kind is GeminiServer else "open"
    name = "GEMINI_API_KEY" if kind is GeminiServer else "OPENAI_API_KEY"
    environ = {**os.environ, name: CANARY, "OPENAI_LOG": "debug"}
    code = (
        "import logging, sys; logging.basicConfig(level=logging.DEBUG); "
        "from physplan.cli import plan; import argparse; p = argparse.ArgumentParser(); "
        "plan.add_parser(p.add_subparsers()); a = p.parse_args(sys.argv[1:]); a.run(a)"
    )
    with kind(echoing, key=CANARY) as server:
        arguments = ["plan", "--image", str(image), "--prompt", PROMPT, "--preset", preset, "--verbose"]
        arguments += ["--set", f"reasoner.base_url={server.url}", "-o", str(tmp_path / "plan.json")]
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            env=environ,
            cwd=tmp_path,
            timeout=240,
        )
        assert len(server.asked) >= 3
        assert any(CANARY in value for value in server.asked[0].headers.values()), "the server got the key"
    assert done.returncode != 0
    assert b"403" in done.stderr
    assert b"Traceback" in done.stderr, "this run prints tracebacks on purpose"
    assert CANARY.encode() not in done.stdout + done.stderr
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 4
    for path in written:
        assert CANARY.encode() not in path.read_bytes(), path


def test_no_frame_of_a_traceback_shows_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools such as rich and sentry print the local variables of every frame."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    try:
        with OpenAIServer(lambda asked: Answer(status=400, message=CANARY), key=CANARY) as server:
            gateway = connect(
                "openai", CallSettings(base_url=server.url, policy=CallPolicy(attempts=1, timeout=5))
            )
            with pytest.raises(PhysPlanError) as caught:
                gateway.ask(Request(purpose="p", model="m", text="t"))
    finally:
        logging.getLogger().removeHandler(handler)
    error = caught.value
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [frame for frame in report.stack if "physplan" in frame.filename]
    assert ours
    assert not any(CANARY in value for frame in ours for value in (frame.locals or {}).values())
    assert error.__cause__ is None
    assert CANARY not in str(error) + log.getvalue()
