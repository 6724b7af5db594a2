"""Switch each check off in turn and count the tests that notice: `make mutants`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from physplan.graph import CHECKS

HERE = Path(__file__).parent
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
TESTS = [HERE / "test_edit_checks.py", HERE / "test_event_chain.py"]
NEEDED = 3


def failing_tests(switched_off: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        environment = os.environ | {"PHYSPLAN_TEST_SWITCH_OFF": switched_off}
        command = [*PYTEST, f"--junitxml={report}", *TESTS]
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        cases = ElementTree.parse(report).iter("testcase")
        return [str(case.get("name")) for case in cases if case.find("failure") is not None]


def main() -> int:
    if broken := failing_tests(""):
        print(f"tests fail already: {', '.join(broken)}")
        return 1
    enough = True
    for name in CHECKS:
        failing = failing_tests(name)
        enough &= len(failing) >= NEEDED
        print(f"without {name}: {len(failing)} tests fail (at least {NEEDED} must), such as")
        print("\n".join(f"    {test}" for test in failing[:NEEDED]))
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
