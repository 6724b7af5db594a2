"""Nothing outside the runs' folder is read or written, no other site can act, foreign words stay words."""

from __future__ import annotations

import io
import json
import shutil
import socket
from itertools import product
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from studio_double import HOSTILE, PROMPT, Client, plan, serving, write_run

from physplan_studio.server import Studio


def traversals() -> list[str]:
    ups = [
        "../",
        "..%2f",
        "%2e%2e/",
        "%2e%2e%2f",
        "..\\",
        "..%5c",
        "....//",
        "..;/",
        "%252e%252e%252f",
        "..%c0%af",
    ]
    targets = ["secret.png", "run.json", "config.yaml", "etc/passwd", ".studio/key"]
    starts = (("runs/", 1), ("runs/half/", 2), ("runs/half/keyframes/", 3))
    found = [f"/{start}{up * n}{target}" for start, n in starts for up, target in product(ups, targets)]
    more = (
        "//etc/passwd /runs/ /runs /runs/half /runs/half/ /runs/half/run.json /runs/half/.lock /.studio/lock"
    )
    return [
        *found,
        *more.split(),
        "/runs/half/calls/ledger.jsonl",
        "/runs/half/keyframes/1.png%00",
        "/pictures/",
    ]


def test_over_a_hundred_paths_lead_nowhere(studio: Studio, runs: Path) -> None:
    paths = traversals()
    assert len(set(paths)) >= 100
    for path in paths:
        with socket.create_connection(("127.0.0.1", studio.server.port), timeout=10) as connection:
            # As it is: a client library would tidy the path.
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())
            reply = connection.makefile("rb").read()
        assert reply.split()[1] == b"404", path
        for word in (b"SECRET", b"identity", b"preset:", b"root:"):
            assert word not in reply, path


def test_names_of_runs_lead_nowhere_either(client: Client, runs: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "outside")
    names = [path.removeprefix("/").removeprefix("runs/") for path in traversals() if path != "/runs/half"]
    names += ["../outside", "half/../../outside", str(tmp_path / "outside"), ".studio", "batch/../half"]
    for what in ("state", "delete", "continue", "stop"):
        for name in names if what == "state" else names[-12:]:
            assert "Traceback" not in client.refused(what, run=name)
    assert client.refused("restore", binned="../outside")
    assert client.refused("start", picture="../secret", prompt="x")
    assert client.refused("start", picture="f" * 64, prompt="x", like="../outside")
    assert (tmp_path / "outside" / "run.json").exists()


def test_links_in_the_runs_folder_are_not_followed(client: Client, runs: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "outside")
    (runs / "linked").symlink_to(tmp_path / "outside")
    (runs / "half" / "video.mp4").symlink_to(tmp_path / "secret.png")
    shutil.rmtree(runs / "batch")
    assert {card["run"] for card in client.ask("runs")["runs"]} == {"old one", "half"}
    assert client.get("runs/linked/frame.png")[0] == 404
    assert client.get("runs/half/video.mp4")[0] == 404
    assert client.get("runs/old%20one/frame.png")[0] == 200


def test_hostile_words_are_answered_as_words(client: Client, runs: Path) -> None:
    picture = client.upload(_picture())[1]["picture"]
    before = sorted(path.name for path in runs.parent.iterdir())
    assert len(HOSTILE) >= 40
    for text in HOSTILE:
        value = plan().to_json() | {"prompt": text}
        for what, given in (
            ("check", {"plan": value}),
            ("state", {"run": text}),
            ("start", {"picture": picture, "prompt": text, "preset": text}),
            ("start", {"picture": text, "prompt": "x"}),
            ("start", {"picture": picture, "prompt": "x", "settings": {text: 1}}),
            ("start", {"picture": picture, "prompt": "x", "settings": {"video.fps": text}}),
            (text[:30].replace("\x00", "") or "nothing", {}),
        ):
            body = json.dumps(given).encode()
            status, answer = client.post(
                f"api/{what}" if what.isascii() and what.isalpha() else "api/odd", body
            )
            assert status in (200, 400), (what, text[:30], answer[:200])
            assert "Traceback" not in answer
            assert len(answer) < 10_000
    for text in HOSTILE:  # a run of such a name is a run like others
        status, answer = client.post(
            "api/start", json.dumps({"picture": picture, "prompt": text, "upto": "plan"}).encode()
        )
        assert status in (200, 400), answer[:200]
        if status == 200:
            name = json.loads(answer)["run"]
            assert name.replace("-", "").isalnum()
    assert sorted(path.name for path in runs.parent.iterdir()) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
    ],
)
def test_a_page_of_another_origin_cannot_start_stop_or_delete(
    client: Client, headers: dict[str, str], runs: Path
) -> None:
    picture = client.upload(_picture())[1]["picture"]
    for what, given in (
        ("start", {"picture": picture, "prompt": PROMPT}),
        ("delete", {"run": "half"}),
        ("continue", {"run": "half"}),
        ("pause", {"paused": True}),
    ):
        assert client.post(f"api/{what}", json.dumps(given).encode(), **headers)[0] == 403
    octets = {"Content_Type": "application/octet-stream", **headers}
    assert client.post("api/picture", _picture(), **octets)[0] == 403
    assert client.ask("queue") == {"jobs": [], "paused": False, "ready": client.ask("queue")["ready"]}
    assert (runs / "half").is_dir()


def test_a_form_of_another_page_is_no_request(client: Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert client.post("api/pause", b'{"paused": true}', Content_Type=kind)[0] == 415


def test_a_foreign_name_that_leads_here_gets_no_page(client: Client) -> None:
    assert client.get("", Host="evil.example")[0] == 421


def _picture(size: tuple[int, int] = (40, 30), kind: str = "PNG", **more: object) -> bytes:
    encoded = io.BytesIO()
    Image.effect_noise(size, 60).convert("RGB").save(encoded, kind, **more)  # type: ignore[arg-type]
    return encoded.getvalue()


def test_what_is_no_picture_too_large_or_cut_off_is_refused_in_a_sentence(client: Client, runs: Path) -> None:
    bomb = io.BytesIO()
    Image.new("1", (12_000, 12_000)).save(bomb, "PNG")
    wrong = [
        b"",
        b"no picture",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        b"<html><script>alert(1)</script>",
        _picture(kind="GIF"),
        _picture(kind="BMP"),
        _picture()[:80],
        _picture(kind="JPEG")[:200],
        _picture((8, 8)),
        bomb.getvalue(),
    ]
    for content in wrong:
        status, answer = client.upload(content)
        assert status == 400, content[:20]
        assert answer["error"].endswith("."), answer
    for length, status in ((30_000_001, b"413"), (5_000, b"400")):
        with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
            connection.sendall(
                b"POST /api/picture HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
                b"Content-Length: %d\r\n\r\n\x89PNG" % length
            )
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(65536).split()[1] == status


def test_a_picture_is_kept_as_its_pixels_and_no_more(client: Client) -> None:
    info = PngInfo()
    info.add_text("Comment", "<script>SECRET</script>")
    status, answer = client.upload(_picture(pnginfo=info) + b"<script>SECRET</script>")
    assert status == 200
    assert (answer["width"], answer["height"]) == (40, 30)
    status, content, headers = client.get(f"pictures/{answer['picture']}.png")
    assert (status, headers["Content-Type"]) == (200, "image/png")
    assert b"SECRET" not in content
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_every_answer_is_protected_and_a_report_can_run_nothing(client: Client) -> None:
    for path in ("", "app.js", "studio.css", "runs/old%20one/frame.png"):
        status, _, headers = client.get(path)
        assert status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in headers
        assert "Set-Cookie" not in headers
    status, _, headers = client.get("runs/old%20one/report.html")
    policy = headers["Content-Security-Policy"]
    assert status == 200
    assert policy.endswith("sandbox")
    assert "script-src" not in policy
    assert "default-src 'none'" in policy


def test_keys_are_never_sent_to_the_page(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "KEY-THAT-IS-SECRET")
    with serving(runs) as studio:
        client = Client(studio.server.port)
        seen = json.dumps([client.ask("about"), client.ask("runs"), client.ask("queue")])
        seen += json.dumps(client.ask("state", run="half"))
    assert "KEY-THAT-IS-SECRET" not in seen
    assert str(runs) not in seen


def test_elsewhere_than_on_this_machine_a_secret_link_is_needed_and_stays_good(runs: Path) -> None:
    with serving(runs, "0.0.0.0") as studio:
        key, client = studio.server.site.key, Client(studio.server.port)
        assert len(key) >= 20
        for path in ("", "app.js", key, f"{key[:-1]}/", f"{key}x/app.js", "runs/half/frame.png"):
            assert client.get(path)[0] == 404
        assert client.post("api/pause", b'{"paused": true}')[0] == 404
        assert Client(studio.server.port, f"/{key}/").ask("queue")["paused"] is False
    assert (runs / ".studio" / "key").stat().st_mode & 0o077 == 0
    with serving(runs, "0.0.0.0") as studio:
        assert studio.server.site.key == key
