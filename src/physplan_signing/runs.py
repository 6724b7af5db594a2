"""Sign the video of a run's folder: what `physplan generate --sign` does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from physplan.origin.record import png_of, read_origin
from physplan.runs import layout
from physplan_signing.certificates import Credential, load_credential
from physplan_signing.credentials import sign_video


def signer(certificate: str, key: str) -> Callable[[Path], Path]:
    """A function that signs a run's folder; the two PEM files are read and checked now."""
    return partial(sign_run, credential=load_credential(certificate, key))


def sign_run(folder: Path, credential: Credential) -> Path:
    """A signed copy of a run's video. The video itself stays as it is: equal runs have equal files."""
    origin = read_origin(folder / layout.VIDEO)
    frame = png_of(layout.load_picture(folder, layout.FRAME))
    sign_video(
        folder / layout.VIDEO, folder / layout.SIGNED, credential=credential, origin=origin, frame=frame
    )
    return folder / layout.SIGNED
