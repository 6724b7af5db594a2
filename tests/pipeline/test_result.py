"""What a run gives back, as people meet it: printed, saved, shown in a notebook; and what a failure says."""

from __future__ import annotations

import base64
import errno
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from physplan.calls.protocol import CallFault
from physplan.errors import PhysPlanError
from physplan.pipeline.failure import advice, explain
from physplan.pipeline.result import Cost, Result, convert
from physplan.video.files import read_video

FRAMES = torch.rand(5, 3, 32, 48, generator=torch.Generator().manual_seed(0))


def result(video: object = FRAMES) -> Result:
    return Result(
        video=video,
        plan=None,
        keyframes=(),
        losses={},
        cost=Cost(seconds={"latents": 3.2}),
        notes=("the cup was not found",),
        folder=None,
        fps=8.0,
    )


def test_it_prints_as_one_short_line() -> None:
    assert repr(result()) == "Result(5 frames at 8 per second, unguided, 3 s, 0.00 USD, not checked, 1 notes)"


@pytest.mark.parametrize("kind", ["pt", "np", "pil"])
def test_it_is_saved_whatever_its_frames_are(tmp_path: Path, kind: str) -> None:
    path = result(convert(FRAMES, kind)).save(tmp_path / "ice.mkv")  # type: ignore[arg-type]
    saved = read_video(path)
    assert saved.fps == 8
    assert (saved.frames - FRAMES).abs().max() <= 1.01 / 255, "without loss, but for eight bits"


def test_a_name_that_is_no_video_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match=r"let it end in \.mp4, \.gif or \.mkv"):
        result().save(tmp_path / "ice.txt")


def test_a_notebook_shows_its_video() -> None:
    shown = result()._repr_html_()
    encoded = re.search(r'src="data:video/mp4;base64,([^"]+)"', shown)
    assert encoded is not None
    assert b"ftyp" in base64.b64decode(encoded[1])[:16]


def test_arrays_and_pictures_are_the_frames() -> None:
    assert np.allclose(convert(FRAMES, "np"), FRAMES.permute(0, 2, 3, 1))
    assert isinstance(convert(FRAMES, "pil")[0], Image.Image)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyboardInterrupt(), "Run it again: it continues where it stopped."),
        (OSError(errno.ENOSPC, "No space left on device"), "once there is room on the disk"),
        (PhysPlanError("The plan is wrong."), "fails again until that is changed"),
    ],
)
def test_a_failure_says_whether_the_same_command_helps(error: BaseException, words: str) -> None:
    assert words in advice(error)
    assert explain(error)


def test_a_lost_connection_is_worth_another_try_and_a_wrong_key_is_not() -> None:
    assert "continues" in advice(CallFault("the connection was lost", retryable=True))
    assert "fails again" in advice(CallFault("the key is not valid", status=401))
