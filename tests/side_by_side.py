"""`make test`: the fast suite in two pytest processes, one per core; both outputs are printed whole.

Arguments are pytest's: `python tests/side_by_side.py -m "not slow and not docs"`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parent
# About half of the time: these folders load models and start commands. The other half is every other file.
HEAVY = ("cli", "docs", "graph", "guidance", "keyframes", "methods", "models", "pipeline", "video")


def halves() -> tuple[list[str], list[str]]:
    """Paths below the repository: HEAVY, and every other folder or file of tests."""
    folders = {path.parent.relative_to(TESTS).parts[:1] for path in TESTS.rglob("test_*.py")}
    rest = sorted(parts[0] for parts in folders if parts and parts[0] not in HEAVY)
    files = sorted(path.name for path in TESTS.glob("test_*.py"))
    return [f"tests/{name}" for name in HEAVY], [f"tests/{name}" for name in (*rest, *files)]


def main(arguments: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", *arguments]
    heavy, rest = halves()
    with tempfile.TemporaryFile() as output:
        other = subprocess.Popen(
            [*command, *heavy], cwd=TESTS.parent, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            first = subprocess.run([*command, *rest], cwd=TESTS.parent, check=False).returncode
            second = other.wait()
        finally:
            other.terminate()
        output.seek(0)
        print(output.read().decode(errors="replace"), flush=True)
    return first or second


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
