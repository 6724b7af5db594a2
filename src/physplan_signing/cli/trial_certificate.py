"""Make a certificate, its key and the authority that issued it, to try signing with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from physplan.cli.parsers import add_command

_EXAMPLES = """\
examples:
  physplan test-certificate -o trying
  physplan generate --image ice.png --prompt "..." --sign trying/certificate.pem trying/key.pem
  physplan verify-origin runs/.../signed.mp4 --trust trying/authority.pem
"""


def add_parser(subparsers: Any) -> None:
    about = "make a certificate to try signing with; no system trusts it"
    parser = add_command(subparsers, "test-certificate", run, about, __doc__, _EXAMPLES)
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="where to (default: here)")


def run(args: argparse.Namespace) -> int:
    from physplan.foreign import plain
    from physplan_signing.certificates import VALID_DAYS, make_test_certificate

    certificate, key, authority = map(plain, make_test_certificate(Path(args.output)))
    print(f"Made {certificate}, {key} (keep it to yourself) and {authority}, for {VALID_DAYS} days.")
    print("This is for trying: no system trusts it, and anybody can make one that says the same.")
    return 0
