"""Shared by the evaluation's tests: writing small videos, and calling `physplan evaluate` in this process."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from physplan.cli import evaluate
from physplan.errors import PhysPlanError


def write_video(path: Path, frames: np.ndarray, *, fps: int = 8) -> Path:
    """(T, H, W, 3) uint8 as H.264."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(fps))
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": "12", "preset": "ultrafast"}
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    return path


@pytest.fixture
def evaluate_command(capsys) -> Callable[..., tuple[int, str, str]]:
    """Run `physplan evaluate ...` as the command line does; returns exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser(prog="physplan")
        evaluate.add_parser(parser.add_subparsers(required=True))
        try:
            args = parser.parse_args(["evaluate", *map(str, arguments)])
            code = args.run(args)
        except PhysPlanError as error:
            print(f"physplan: {error}", file=sys.stderr)
            code = error.exit_code
        except SystemExit as exit:
            code = int(exit.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
