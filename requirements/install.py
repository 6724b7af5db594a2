"""Install PhysPlan and what it needs beside this Python: `install.py base`, `photo` or `dev`.

Where the lock fits (Linux on x86_64, CPython 3.11) every file is checked against its hash and nothing but
what the lock names gets in; elsewhere the versions of constraints.txt are installed, without hashes.

torch's usual build for Linux brings several GB of CUDA packages. Where there is no NVIDIA card, the build for
the CPU alone is taken: from where pip is told to look, else through uv, which knows where torch keeps it.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
NO_CPU_BUILD = (
    "No build of torch for the CPU alone was found: its usual build is installed, with several GB of CUDA "
    "packages. To avoid that, tell pip where there is one (PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS)."
)
EXTRAS = {
    "base": "",
    "photo": "[photo]",
    "dev": "[dev,gemini,openai,eval,cluster,provenance,gguf,photo,docs]",
}


def lock_fits() -> bool:
    return (
        sys.platform == "linux"
        and platform.machine() == "x86_64"
        and platform.libc_ver()[0] == "glibc"
        and platform.python_implementation() == "CPython"
        and sys.version_info[:2] == (3, 11)
    )


def has_nvidia() -> bool:
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def pip(*arguments: str, needed: bool = True) -> bool:
    command = [sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(command, cwd=ROOT, check=needed, capture_output=not needed)
    return done.returncode == 0


def install_locked(name: str, *, needed: bool = True) -> bool:
    arguments = ("--require-hashes", "--no-deps", "--only-binary=:all:", "-r", str(HERE / f"{name}.txt"))
    return pip("install", *arguments, needed=needed)


def install_torch() -> None:
    """The build that fits the machine, checked against its hash."""
    cpu = ("--require-hashes", "--no-deps", "-r", str(HERE / "cpu.txt"))
    if not has_nvidia() and (install_locked("cpu", needed=False) or through_uv(*cpu)):
        return
    if not has_nvidia():
        print(NO_CPU_BUILD, file=sys.stderr)
    install_locked("cuda")


def through_uv(*arguments: str) -> bool:
    """uv is fetched for this alone, and does not stay."""
    if not install_locked("uv", needed=False):
        return False
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
    done = subprocess.run([*command, "--torch-backend", "cpu", *arguments], cwd=ROOT, check=False)
    pip("uninstall", "--yes", "uv", needed=False)
    return done.returncode == 0


def pinned(name: str) -> str:
    found = re.search(rf"^{name}==\S+", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    assert found
    return found[0]


def install(name: str) -> None:
    if not lock_fits():
        print(
            "The lock with hashes is for Linux on x86_64 and CPython 3.11: here the versions of "
            "constraints.txt are installed, without hashes.",
            file=sys.stderr,
        )
        if sys.platform == "linux" and not has_nvidia():
            cpu = f"{pinned('torch')}+cpu"
            if not (pip("install", "--no-deps", cpu, needed=False) or through_uv(cpu)):
                print(NO_CPU_BUILD, file=sys.stderr)
        pip("install", "-c", "constraints.txt", "-e", f".{EXTRAS[name]}")
        return
    install_torch()
    install_locked(name)
    # The lock holds what builds the package too: an isolated build would fetch it anew, without hashes.
    pip("install", "--no-deps", "--no-build-isolation", "-e", ".")
    pip("check")


if __name__ == "__main__":
    try:
        install(sys.argv[1])
    except subprocess.CalledProcessError as error:
        raise SystemExit(error.returncode) from None
