"""`python -m tests.screenshots`: a studio and a study with videos made now, and a picture of every page.

Some minutes on two cores. Needs Chromium (tests/browser.py says how to get one). Look at what it made.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[1]
sys.path[:0] = [str(HERE), str(HERE / "studio"), str(HERE / "bench" / "study")]


def main() -> int:
    from studio_double import Client, Opened
    from tests.screenshots import studio, study
    from tests.screenshots.shots import Camera, NotShown

    from browser import MISSING, find_browser, open_browser

    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=HERE.parent / "docs" / "images", metavar="DIR")
    parser.add_argument(
        "--each", type=Path, metavar="DIR", help="also every screen by itself, as large as it is"
    )
    args = parser.parse_args()
    if find_browser() is None:
        print(f"There is {MISSING}.", file=sys.stderr)
        return 1
    for folder in filter(None, (args.output, args.each)):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="physplan-") as work, open_browser() as browser:
        camera, opened = Camera(browser, args.output, args.each), Opened(Path(work) / "runs")
        try:
            pairs = studio.take(camera, opened, Client(opened.port))
            study.take(camera, pairs, Path(work))
        except NotShown as reason:
            print(reason, file=sys.stderr)
            return 1
        finally:
            opened.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
