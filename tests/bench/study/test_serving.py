"""The server: nothing outside the study is read, no other site can vote, no method is named."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from study_people import METHODS, Person, get, post, serving

from physplan_bench.study.criteria import KEYS
from physplan_bench.study.design import load_study
from physplan_bench.study.server import StudyServer

CHOICES = dict.fromkeys(KEYS, "a")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    (tmp_path / "secret.jpg").write_text("SECRET")
    return Path(shutil.copytree(made, tmp_path / "study"))


@pytest.fixture
def server(folder: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[StudyServer]:
    with serving(folder) as found:
        yield found
    assert capfd.readouterr().err == ""  # no traceback, whatever was asked


def traversals() -> list[str]:
    """A hundred ways to ask for a file beside the study's."""
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
    targets = ["secret.jpg", "study.json", "votes.sqlite", "etc/passwd", "videos/../study.json"]
    found = [
        f"/{start}{up * n}{target}"
        for start, n in (("", 1), ("videos/", 2))
        for up, target in product(ups, targets)
    ]
    return [
        *found,
        "//etc/passwd",
        "/study.json",
        "/votes.sqlite",
        "/videos/",
        "/videos",
        "/frames/.",
        "/.",
        "/~root",
    ]


def test_a_hundred_paths_lead_nowhere(server: StudyServer) -> None:
    paths = traversals()
    assert len(set(paths)) >= 100
    for path in paths:
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        with connection:  # as it is: a client library would tidy the path
            connection.sendall(
                f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
            )
            reply = connection.makefile("rb").read()
        assert reply.split()[1] == b"404", path
        for word in (b"SECRET", b"PhysPlan", b"SQLite", b"root:"):
            assert word not in reply, path


def test_neither_page_nor_answers_name_a_method_and_all_are_protected(server: StudyServer) -> None:
    seen = b""
    for path in ("/", "/page.js", "/page.css"):
        status, body, headers = get(server.port, path)
        assert status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Set-Cookie" not in headers
        assert "Access-Control-Allow-Origin" not in headers
        seen += body
    person = Person(server.port)
    states = [person.ask("about"), person.ask("join", consent=True)]
    while not states[-1].get("finished"):
        choices = dict(CHOICES)
        states.append(person.ask("vote", trial=states[-1]["answered"], choices=choices, seconds=1.5))
    assert len(states) == 2 + 9
    assert len(states[-1]["code"]) == 8
    seen += json.dumps(states).encode()
    for method in METHODS:
        assert method.lower().encode() not in seen.lower()


def test_videos_are_sent_whole_and_in_parts(server: StudyServer, folder: Path) -> None:
    name = load_study(folder).example.good
    content = (folder / name).read_bytes()
    status, body, headers = get(server.port, f"/{name}")
    assert (status, body, headers["Content-Type"]) == (200, content, "video/mp4")
    size = len(content)
    for asked, part in {
        "bytes=5-9": content[5:10],
        "bytes=5-": content[5:],
        "bytes=-7": content[-7:],
    }.items():
        status, body, headers = get(server.port, f"/{name}", Range=asked)
        assert (status, body) == (206, part)
        assert headers["Content-Range"].endswith(f"/{size}")
    assert get(server.port, f"/{name}", Range=f"bytes={size}-")[0] == 416
    for odd in ("bytes=9-5", "bytes=", "lines=1-2", "bytes=1-2,4-5", "bytes=" + "9" * 400 + "-"):
        assert get(server.port, f"/{name}", Range=odd)[:2] == (200, content)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://[evil"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "[evil"},
    ],
)
def test_pages_of_other_origins_cannot_join_or_vote(server: StudyServer, headers: dict[str, str]) -> None:
    body = json.dumps({"consent": True, "participant": "0" * 32}).encode()
    assert post(server.port, "/api/join", body, **headers)[0] == 403
    assert post(server.port, "/api/state", body) == (200, '{"unknown": true}')


def test_a_foreign_name_that_leads_here_gets_no_page(server: StudyServer) -> None:
    assert get(server.port, "/", Host="evil.example")[0] == 421


def test_what_is_no_request_of_the_page_is_refused_and_the_server_goes_on(server: StudyServer) -> None:
    person = Person(server.port)
    person.ask("join", consent=True)
    good = {"participant": person.token, "trial": 0, "choices": CHOICES, "seconds": 1.0}
    wrong = [
        good | {"choices": {}},
        good | {"choices": CHOICES | {"plausibility": "c"}},
        good | {"choices": CHOICES | {"plausibility": ["a"]}},
        good | {"choices": CHOICES | {"more": "a"}},
        good | {"choices": None},
        good | {"trial": -1},
        good | {"trial": True},
        good | {"trial": "0"},
        good | {"seconds": "1"},
        good | {"seconds": None},
        good | {"participant": "\ud800"},
        good | {"participant": "x' OR 1=1 --"},
        good | {"participant": ["a"]},
    ]
    for body in wrong:
        assert post(server.port, "/api/vote", json.dumps(body).encode())[0] == 400, body
    for body in (b"", b"{", b"[]", b"null", b"[" * 16_000, b"\xff", b"1" * 9000, b'{"seconds": NaN}'):
        assert post(server.port, "/api/vote", body)[0] in (400, 411), body[:20]
    assert post(server.port, "/api/join", b'{"consent": false, "participant": "%s"}' % (b"1" * 32))[0] == 400
    assert post(server.port, "/api/drop", b"{}")[0] == 400
    assert post(server.port, "/videos/x", b"{}")[0] == 404
    assert post(server.port, "/api/vote", json.dumps(good).encode(), Content_Type="text/plain")[0] == 415
    assert person.ask("vote", **good | {"trial": 5})["answered"] == 0  # only the next may be answered
    assert person.ask("vote", **good)["answered"] == 1
    assert person.ask("vote", **good)["answered"] == 1  # sent twice, kept once


def test_oversized_endless_and_broken_requests_are_refused(server: StudyServer) -> None:
    assert post(server.port, "/api/vote", b"{" + b" " * 20_000 + b"}")[0] == 413
    for head in (
        b"POST /api/vote HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 99999999999\r\n\r\n",
        b"POST /api/vote HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"POST /api/vote HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 70_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(head)
            reply = connection.recv(65536)
        # What is no HTTP at all is answered without a status line.
        assert reply[:11] in (b"HTTP/1.1 40", b"HTTP/1.1 41", b"HTTP/1.1 43", b"HTTP/1.1 50") or (
            reply.startswith(b'{"error"')
        ), head[:30]
        assert b"Traceback" not in reply
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"POST /api/vote HTTP/1.1\r\nContent-Le")  # and gone
    assert get(server.port, "/")[0] == 200


def test_elsewhere_than_on_this_machine_a_secret_link_is_needed_and_stays_good(folder: Path) -> None:
    with serving(folder, "0.0.0.0") as server:
        key, port = server.site.key, server.port
        assert len(key) >= 20
        for path in ("/", "/page.js", f"/{key}", f"/{key[:-1]}/", "/x/", f"/{key}x/page.js"):
            assert get(port, path)[0] == 404
        assert post(port, "/api/about", b"{}")[0] == 404
        assert get(port, f"/{key}/")[0] == 200
        assert get(port, f"/{key}/page.js", Host="study.example")[0] == 200
        assert post(port, f"/{key}/api/about", b"{}")[0] == 200
        assert post(port, f"/{key}/api/about", b"{}", Origin="http://evil.example")[0] == 403
    with serving(folder, "0.0.0.0") as server:
        assert server.site.key == key


def test_when_all_places_are_taken_people_are_told(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "study"))
    with serving(folder) as server:
        for _ in range(12):
            assert "trial" in Person(server.port).ask("join", consent=True)
        assert Person(server.port).ask("join", consent=True) == {"full": True}
