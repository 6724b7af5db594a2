"""Video files: what is written reads back, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import av
import pytest
import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.video import files, untrusted_video
from physplan.video.files import read_video, run_metadata, write_video


def smooth_video(frames: int = 9, height: int = 48, width: int = 64) -> Tensor:
    coarse = torch.rand(frames, 3, 3, 4, generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.interpolate(coarse, (height, width), mode="bilinear", align_corners=True)


KINDS = [
    ("clip.mp4", False),
    ("exact.mp4", True),
    ("exact.mkv", False),
    ("clip.gif", False),
    ("frames", False),
]


@pytest.mark.parametrize(("name", "lossless"), KINDS)
@pytest.mark.parametrize("fps", [8, 16, 23.976])
def test_frames_fps_and_metadata_read_back(name: str, lossless: bool, fps: float, tmp_path: Path) -> None:
    video = smooth_video()
    metadata = run_metadata(seed=7, preset="sandbox", prompt="ice, “melting” ❄")
    write_video(tmp_path / name, video, fps=fps, lossless=lossless, metadata=metadata)
    found = read_video(tmp_path / name)
    assert found.frames.shape == video.shape
    assert found.fps == fps
    assert found.metadata == metadata
    assert set(found.metadata["versions"]) == {"physplan", "torch", "diffusers"}
    error = (found.frames - video).abs()
    if lossless or name in ("exact.mkv", "frames"):
        assert error.max() <= 0.5 / 255 + 1e-6
    else:
        assert error.mean() < (0.04 if name == "clip.gif" else 0.015)


def test_mp4_is_what_every_player_shows(tmp_path: Path) -> None:
    write_video(tmp_path / "clip.mp4", smooth_video(), fps=8)
    with av.open(str(tmp_path / "clip.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert stream.frames == 9
        assert stream.average_rate == 8
    data = (tmp_path / "clip.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat"), "the index comes first, so that browsers can start"


def test_colours_survive_the_way_through_yuv(tmp_path: Path) -> None:
    colours = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.2, 0.5, 0.7], [1, 1, 1], [0, 0, 0]])
    video = colours.float()[:, :, None, None].expand(6, 3, 32, 48)
    write_video(tmp_path / "c.mp4", video, fps=8)
    assert (read_video(tmp_path / "c.mp4").frames - video).abs().max() < 2 / 255


def test_a_video_at_rest_keeps_all_its_frames_in_a_gif(tmp_path: Path) -> None:
    write_video(tmp_path / "still.gif", torch.full((7, 3, 16, 16), 0.3), fps=8)
    assert len(read_video(tmp_path / "still.gif").frames) == 7


def test_odd_sizes_are_made_even_for_mp4_only(tmp_path: Path) -> None:
    video = smooth_video(3, 33, 31)
    write_video(tmp_path / "odd.mp4", video, fps=8)
    write_video(tmp_path / "odd.mkv", video, fps=8)
    assert read_video(tmp_path / "odd.mp4").frames.shape[-2:] == (34, 32)
    assert read_video(tmp_path / "odd.mkv").frames.shape[-2:] == (33, 31)


@pytest.mark.parametrize("name", ["clip.mp4", "clip.gif", "frames"])
def test_a_write_that_fails_leaves_the_old_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(tmp_path / name, smooth_video(3), fps=8)

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(files.Image, "fromarray", full_disk)
    monkeypatch.setattr(files, "with_palette", full_disk)
    monkeypatch.setattr(files, "to_yuv", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_video(tmp_path / name, smooth_video(5), fps=8)
    monkeypatch.undo()
    assert len(read_video(tmp_path / name).frames) == 3
    assert [p.name for p in tmp_path.iterdir()] == [name], "no temporary file is left"


def test_a_folder_of_frames_is_replaced_whole(tmp_path: Path) -> None:
    write_video(tmp_path / "frames", smooth_video(9), fps=8)
    write_video(tmp_path / "frames", smooth_video(3), fps=8)
    assert len(list((tmp_path / "frames").glob("*.png"))) == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.mp4", None, "There is no video"),
        ("text.mp4", b"not a video", "cannot be read as a video"),
    ],
)
def test_a_file_that_is_no_video_is_one_sentence(
    name: str, content: bytes | None, message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(PhysPlanError, match=message):
        read_video(tmp_path / name)


def test_what_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match=r"use \.mp4, \.mkv"):
        write_video(tmp_path / "clip.avi", smooth_video(), fps=8)
    with pytest.raises(PhysPlanError, match=r"frames \[F, 3, H, W\], not \[3, 4\]"):
        write_video(tmp_path / "clip.mp4", torch.zeros(3, 4), fps=8)
    with pytest.raises(PhysPlanError, match="holds no frames"):
        read_video(tmp_path)


def test_a_video_of_someone_else_has_no_metadata_but_its_own_fps(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "other.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=12)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        for _ in range(4):
            container.mux(stream.encode(av.VideoFrame(32, 32, "yuv420p")))
        container.mux(stream.encode())
    found = read_video(tmp_path / "other.mp4")
    assert (len(found.frames), found.fps, found.metadata) == (4, 12.0, {})


def test_a_folder_of_somebody_elses_files_is_not_replaced_by_frames(tmp_path: Path) -> None:
    (tmp_path / "holidays").mkdir()
    (tmp_path / "holidays" / "beach.png").write_text("mine")
    with pytest.raises(PhysPlanError, match="holds other files than frames"):
        write_video(tmp_path / "holidays", torch.zeros(2, 3, 8, 8), fps=8)
    assert [path.name for path in tmp_path.rglob("*.png")] == ["beach.png"]


@pytest.mark.parametrize("said", ['"<script>"', "-3", "1e400", "null", "[8]"])
def test_a_rate_that_is_none_is_not_believed(tmp_path: Path, said: str) -> None:
    write_video(tmp_path / "frames", torch.zeros(2, 3, 8, 8), fps=8)
    (tmp_path / "frames" / "frames.json").write_text(f'{{"fps": {said}}}')
    assert read_video(tmp_path / "frames").fps == 0


def test_a_video_is_decoded_as_far_as_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.mp4", "frames"):
        write_video(tmp_path / name, smooth_video(), fps=8)
        monkeypatch.setattr(files, "MAX_PIXELS", 9 * 48 * 64)
        assert len(read_video(tmp_path / name).frames) == 9
        monkeypatch.setattr(files, "MAX_PIXELS", 9 * 48 * 64 - 1)
        with pytest.raises(PhysPlanError, match="megapixels in all"):
            read_video(tmp_path / name)
    monkeypatch.setattr(untrusted_video, "MAX_FRAME", 48 * 64 - 1)
    with pytest.raises(PhysPlanError, match="frames of 64 x 48 pixels"):
        read_video(tmp_path / "a.mp4")


def test_a_list_of_other_files_is_no_video(tmp_path: Path) -> None:
    """FFmpeg would show what the list names, whatever the list is called."""
    write_video(tmp_path / "secret.mp4", smooth_video(), fps=8)
    for head in ("#EXTM3U\n#EXT-X-VERSION:3\n#EXTINF:1,\n", "ffconcat version 1.0\nfile "):
        (tmp_path / "video.mp4").write_text(f"{head}secret.mp4\n")
        with pytest.raises(PhysPlanError, match="cannot be read as a video"):
            read_video(tmp_path / "video.mp4")
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(PhysPlanError, match="not a regular file"):
        read_video(tmp_path / "pipe.mp4")
