"""Signed videos: what was signed, by whom, and what is left of it after somebody had a hand in it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.origin import Origin, read_origin
from physplan.origin.record import TAG, png_of
from physplan.video.files import read_video, write_video

pytest.importorskip("c2pa", reason='content credentials need pip install "physplan[provenance]"')
from physplan_signing.certificates import load_credential, make_test_certificate
from physplan_signing.credentials import read_credentials, sign_video

ORIGIN = Origin(
    prompt="ice",
    method="physplan",
    seed=0,
    preset="sandbox",
    settings={"video.model": "cogvideox-5b", "reasoner.name": "paper"},
    versions={"physplan": "0.1.0"},
    hashes={"plan": "ab" * 32},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video, a certificate, and the video signed with it."""
    folder = tmp_path_factory.mktemp("signed")
    frames = torch.rand(5, 3, 32, 48, generator=torch.Generator().manual_seed(0))
    write_video(folder / "video.mp4", frames, fps=8, tags={TAG: ORIGIN.to_text()})
    make_test_certificate(folder)
    credential = load_credential(folder / "certificate.pem", folder / "key.pem")
    frame = png_of(Image.new("RGB", (48, 32), "blue"))
    sign_video(folder / "video.mp4", folder / "signed.mp4", credential=credential, origin=ORIGIN, frame=frame)
    return folder


def test_a_signed_video_names_its_plan_its_models_and_its_first_frame(folder: Path) -> None:
    found = read_credentials(folder / "signed.mp4", trusted=folder / "authority.pem")
    assert found.state == "valid"
    assert found.said == {
        "c2pa.created": "trainedAlgorithmicMedia",
        "plan_sha256": "ab" * 32,
        "models": "paper, cogvideox-5b",
        "method": "physplan",
        "made from": "first frame",
    }
    assert found.program.startswith("PhysPlan")
    assert "not trusted" in found.signer


def test_a_signature_is_small_and_leaves_frames_and_metadata_alone(folder: Path) -> None:
    plain, signed = folder / "video.mp4", folder / "signed.mp4"
    assert torch.equal(read_video(plain).frames, read_video(signed).frames)
    assert read_origin(signed) == ORIGIN
    assert signed.stat().st_size - plain.stat().st_size < 20_000


def test_a_signer_whom_nobody_vouches_for_is_untrusted(folder: Path, tmp_path: Path) -> None:
    assert read_credentials(folder / "signed.mp4").state == "untrusted"
    _, _, other = make_test_certificate(tmp_path)
    assert read_credentials(folder / "signed.mp4", trusted=other).state == "untrusted"


@pytest.mark.parametrize("where", [b"mdat", b"moov", b"org.physplan.origin", b"trainedAlgorithmicMedia"])
def test_a_changed_byte_is_found_in_pictures_index_and_claims(
    folder: Path, tmp_path: Path, where: bytes
) -> None:
    content = bytearray((folder / "signed.mp4").read_bytes())
    content[content.index(where) + len(where) + 12] ^= 1
    (tmp_path / "changed.mp4").write_bytes(content)
    found = read_credentials(tmp_path / "changed.mp4", trusted=folder / "authority.pem")
    assert found.state == "tampered"
    assert found.reasons


def test_a_video_cut_short_is_not_valid(folder: Path, tmp_path: Path) -> None:
    content = (folder / "signed.mp4").read_bytes()
    (tmp_path / "cut.mp4").write_bytes(content[:-40])
    assert read_credentials(tmp_path / "cut.mp4", trusted=folder / "authority.pem").state == "tampered"


def test_a_video_encoded_anew_has_no_credentials_left(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_video(tmp_path / "anew.mp4", read_video(folder / "signed.mp4").frames, fps=8)
    assert main(["verify-origin", str(tmp_path / "anew.mp4")]) == 1
    assert capsys.readouterr().out.startswith("none: ")


@pytest.mark.parametrize(
    ("trust", "code", "word"), [(True, 0, "valid: "), (False, 1, "untrusted: ")], ids=["trusted", "not"]
)
def test_the_command_answers_in_a_word_and_a_code(
    folder: Path, capsys: pytest.CaptureFixture[str], trust: bool, code: int, word: str
) -> None:
    more = ["--trust", str(folder / "authority.pem")] if trust else []
    assert main(["verify-origin", str(folder / "signed.mp4"), *more]) == code
    assert capsys.readouterr().out.startswith(word)


def test_nothing_is_fetched_for_a_check(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert read_credentials(folder / "signed.mp4").state == "untrusted"


def test_a_test_certificate_says_what_it_is_and_keeps_its_key_close(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test-certificate", "-o", str(tmp_path / "new")]) == 0
    assert "no system trusts it" in capsys.readouterr().out
    assert (tmp_path / "new" / "key.pem").stat().st_mode & 0o077 == 0
    assert main(["test-certificate", "-o", str(tmp_path / "new")]) == 2
    assert "is there already" in capsys.readouterr().err


def test_certificates_that_cannot_be_used_are_refused_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    (tmp_path / "text.pem").write_text("hello")
    with pytest.raises(PhysPlanError, match="cannot be read"):
        load_credential(tmp_path / "missing.pem", key)
    with pytest.raises(PhysPlanError, match="holds no certificate"):
        load_credential(tmp_path / "text.pem", key)
    with pytest.raises(PhysPlanError, match="holds no private key"):
        load_credential(certificate, tmp_path / "text.pem")
    _, other, _ = make_test_certificate(tmp_path / "other")
    with pytest.raises(PhysPlanError, match="does not belong to the certificate"):
        load_credential(certificate, other)
    with pytest.raises(PhysPlanError, match="cannot be read as certificates"):
        read_credentials(folder / "signed.mp4", trusted=tmp_path / "missing.pem")
    assert "BEGIN" not in repr(load_credential(certificate, key))


def test_a_locked_key_is_named_as_such(folder: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as pem

    key = pem.load_pem_private_key((folder / "key.pem").read_bytes(), None)
    locked = key.private_bytes(
        pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.BestAvailableEncryption(b"secret")
    )
    (tmp_path / "locked.pem").write_bytes(locked)
    with pytest.raises(PhysPlanError, match="locked with a password"):
        load_credential(folder / "certificate.pem", tmp_path / "locked.pem")


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("physplan.extras.importlib.util.find_spec", lambda name: None)
    with pytest.raises(PhysPlanError, match=r"pip install .*\[provenance\]"):
        load_credential("a.pem", "b.pem")
