"""What a video says of itself: read back as it was written, bounded, and never trusted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import pytest
import torch
from PIL import Image

from physplan import __version__
from physplan.graph.errors import GraphError
from physplan.origin import Origin, OriginError, read_origin
from physplan.origin.local_names import local_names, without_paths
from physplan.origin.record import MAX_PICTURE, TAG, digital_source_type, png_of
from physplan.video.files import read_video, write_video
from physplan.video.marks import MADE_BY_A_MODEL, XMP_BOX, xmp_packet

ORIGIN = Origin(
    prompt="ice, “melting” ❄",
    method="physplan",
    seed=7,
    preset="sandbox",
    settings={"video.model": "sandbox", "video.source": None, "guidance": {"step_size": 4.0}},
    versions={"physplan": "0.1.0"},
    hashes={"frames": "0" * 64},
    plan={"prompt": "ice", "provenance": {"rules": None}},
    picture=png_of(Image.new("RGB", (20, 30), "red")),
)
FRAMES = torch.full((5, 3, 16, 16), 0.4)


def written(path: Path, text: str | None = None) -> Path:
    write_video(path, FRAMES, fps=8, tags={TAG: ORIGIN.to_text() if text is None else text})
    return path


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
def test_a_file_says_how_it_was_made_also_under_another_name(name: str, tmp_path: Path) -> None:
    moved = tmp_path / "holiday"
    moved.write_bytes(written(tmp_path / name).read_bytes())
    assert read_origin(moved) == ORIGIN
    assert digital_source_type(moved) == "trainedAlgorithmicMedia"
    image = read_origin(moved).image()
    assert image is not None
    assert image.size == (20, 30)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
def test_equal_videos_are_equal_files(name: str, tmp_path: Path) -> None:
    first, second = written(tmp_path / name), written(tmp_path / f"b{name}")
    assert first.read_bytes() == second.read_bytes()


def test_every_mp4_carries_the_mark_in_xmp_where_other_programs_look(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", FRAMES, fps=8)
    boxes = dict(top_boxes((tmp_path / "a.mp4").read_bytes()))
    names = [*boxes]
    assert (names[0], names[-1]) == (b"ftyp", b"uuid")
    assert boxes[b"uuid"].startswith(XMP_BOX)
    packet = boxes[b"uuid"].removeprefix(XMP_BOX)
    assert packet == xmp_packet(__version__)
    assert MADE_BY_A_MODEL.encode() in packet
    assert len(read_video(tmp_path / "a.mp4").frames) == 5


def test_the_xmp_is_xml_with_the_property_of_iptc() -> None:
    from xml.etree import ElementTree

    root = ElementTree.fromstring(xmp_packet("0.1.0").decode())
    (found,) = root.iter("{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}DigitalSourceType")
    assert found.text == MADE_BY_A_MODEL


def top_boxes(content: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at < len(content):
        size = int.from_bytes(content[at : at + 4], "big")
        found.append((content[at + 4 : at + 8], content[at + 8 : at + size]))
        at += size
    assert at == len(content), "the boxes fill the file"
    return found


def test_a_video_of_another_program_says_nothing(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", FRAMES, fps=8)
    with pytest.raises(OriginError, match="does not say how it was made"):
        read_origin(tmp_path / "a.mp4")


def test_a_picture_that_is_too_large_is_left_out() -> None:
    large = replace(ORIGIN, picture=bytes(MAX_PICTURE + 1))
    assert Origin.from_text(large.to_text()) == replace(ORIGIN, picture=None)


def spoilt(**changes: Any) -> str:
    return json.dumps({**json.loads(ORIGIN.to_text()), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[" * 100_000,
        "{}",
        '{"version": 2}',
        spoilt(seed="seven"),
        spoilt(seed=True),
        spoilt(prompt="x" * 20_000),
        spoilt(settings=[]),
        spoilt(hashes={"plan": "../../etc"}),
        spoilt(versions={"physplan": {"a": 1}}),
        spoilt(picture="%%%"),
        spoilt(picture="A" * 1_000_000),
        spoilt(surprise=1),
        '{"version": 1, "version": 1}',
        '{"version": NaN}',
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    with pytest.raises(GraphError):
        Origin.from_text(text)
    if text:  # an empty tag is none
        with pytest.raises(OriginError, match=r"clip\.mp4 says of itself cannot be used"):
            read_origin(written(tmp_path / "clip.mp4", text))


def test_paths_of_a_machine_are_cut_to_their_last_name(tmp_path: Path) -> None:
    settings = {
        "video.source": "/data/ann/models/wan",
        "editor.options": {"source": "C:\\models\\flux", "model": "gemini-3"},
        "perception.depth": {"options": {"source": "depth-anything/Depth-Anything-V2-Small-hf"}},
        "list": ["~/x", "./y", str(tmp_path)],
        "video.negative_prompt": "blurred",
    }
    clean = without_paths(settings)
    assert clean["video.source"] == "local:wan"
    assert clean["editor.options"] == {"source": "local:flux", "model": "gemini-3"}
    assert clean["perception.depth"] == settings["perception.depth"]
    assert clean["list"] == ["local:x", "local:y", f"local:{tmp_path.name}"]
    assert "ann" not in json.dumps(clean)
    assert dict(local_names(clean))["editor.options.source"] == "flux"


def test_a_folder_here_that_looks_like_a_name_on_the_hub_is_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "mine").mkdir(parents=True)
    assert without_paths("models/mine") == "local:mine"
    assert without_paths("facebook/sam3") == "facebook/sam3"


def test_a_remuxed_copy_by_another_program_keeps_the_words_it_copies(tmp_path: Path) -> None:
    """As `ffmpeg -c copy -movflags use_metadata_tags` does; a plain re-encoding loses them."""
    source, target = written(tmp_path / "a.mp4"), tmp_path / "b.mp4"
    with (
        av.open(str(source)) as given,
        av.open(str(target), "w", options={"movflags": "use_metadata_tags"}) as packed,
    ):
        packed.metadata.update(given.metadata)
        stream = packed.add_stream_from_template(given.streams.video[0])
        for packet in given.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                packed.mux(packet)
    assert read_origin(target) == ORIGIN
