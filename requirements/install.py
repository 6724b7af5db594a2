"""Install PhysPlan and what it needs beside this Python: `install.py base` or `install.py dev`.

Where the lock fits (Linux on x86_64, CPython 3.11) every file is checked against its hash and nothing but
what the lock names gets in; elsewhere the versions of constraints.txt are installed, without hashes.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
EXTRAS = {"base": "", "dev": "[dev,gemini,openai,eval,cluster,provenance]"}


def lock_fits() -> bool:
    return (
        sys.platform == "linux"
        and platform.machine() == "x86_64"
        and platform.libc_ver()[0] == "glibc"
        and platform.python_implementation() == "CPython"
        and sys.version_info[:2] == (3, 11)
    )


def pip(*arguments: str, needed: bool = True) -> bool:
    command = [sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(command, cwd=ROOT, check=needed, capture_output=not needed)
    return done.returncode == 0


def install_locked(name: str, *, needed: bool = True) -> bool:
    arguments = ("--require-hashes", "--no-deps", "--only-binary=:all:", "-r", str(HERE / f"{name}.txt"))
    return pip("install", *arguments, needed=needed)


def install(name: str) -> None:
    if not lock_fits():
        print(
            "The lock with hashes is for Linux on x86_64 and CPython 3.11: here the versions of "
            "constraints.txt are installed, without hashes.",
            file=sys.stderr,
        )
        pip("install", "-c", "constraints.txt", "-e", f".{EXTRAS[name]}")
        return
    if not install_locked("cpu", needed=False):  # pip has been told of no CPU build of torch
        install_locked("cuda")
    install_locked(name)
    # The lock holds what builds the package too: an isolated build would fetch it anew, without hashes.
    pip("install", "--no-deps", "--no-build-isolation", "-e", ".")
    pip("check")


if __name__ == "__main__":
    try:
        install(sys.argv[1])
    except subprocess.CalledProcessError as error:
        raise SystemExit(error.returncode) from None
