"""The licences of the tested set, as the packages themselves say: `make pages` writes docs/licences.md."""

from __future__ import annotations

import re
import sys
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import cast

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "licences.md"
HEAD = """# Licences

PhysPlan is under the Apache License 2.0. It ships none of the packages below; `make` installs them from pip's
index. What each says of its licence, in the versions of the lock (`requirements/`). Written by `make pages`.
*Tests* marks what only the tests, the evaluation, the paid services, a cluster or the site need.

| package | version | licence | |
|---|---|---|---|
"""
# What stands in a field or a classifier, by its short name.
SHORT = {
    "Apache Software License": "Apache-2.0",
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "BSD License": "BSD",
    "3-Clause BSD License": "BSD-3-Clause",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "ISC License (ISCL)": "ISC",
}


def read_lock(name: str) -> dict[str, str]:
    """Versions by package."""
    lines = (HERE / f"{name}.txt").read_text("utf-8").splitlines()
    return dict(re.findall(r"^(\S+)==(\S+)", line)[0] for line in lines if line[0].isalpha())


def licence(name: str) -> str:
    """The expression, else the classifiers, else the first line of the field."""
    about = cast(Message, metadata(name))
    if said := about["License-Expression"]:
        return str(said)
    classes = [c.split(" :: ")[-1] for c in about.get_all("Classifier", []) if c.startswith("License :: ")]
    classes = [c for c in classes if c != "OSI Approved"]
    said = classes or [str(about["License"] or "not said").strip().splitlines()[0][:60]]
    return ", ".join(SHORT.get(one, one) for one in said)


def page() -> str:
    base, dev, rows = read_lock("base"), read_lock("dev"), []
    for name, version in sorted({**read_lock("dev"), **read_lock("cpu")}.items()):
        use = "tests" if name in dev and name not in base else ""
        rows.append(f"| {name} | {version} | {licence(name)} | {use} |")
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    try:
        PAGE.write_text(page(), encoding="utf-8")
    except PackageNotFoundError as error:
        sys.exit(f"{error.name} is not installed: make setup-dev first.")
