"""`physplan test-certificate`: a certificate to try signing with. No system trusts it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

_EXAMPLES = """\
examples:
  physplan test-certificate -o trying
  physplan generate --image ice.png --prompt "..." --sign trying/certificate.pem trying/key.pem
  physplan verify-origin runs/.../signed.mp4 --trust trying/authority.pem
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "test-certificate",
        help="make a certificate to try signing with; no system trusts it",
        description="Make a certificate, its key and the authority that issued it, to try signing with.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", default=".", metavar="DIR", help="where to (default: here)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from physplan.foreign import plain
    from physplan_signing.certificates import VALID_DAYS, make_test_certificate

    certificate, key, authority = map(plain, make_test_certificate(Path(args.output)))
    print(f"Made {certificate}, {key} (keep it to yourself) and {authority}, for {VALID_DAYS} days.")
    print("This is for trying: no system trusts it, and anybody can make one that says the same.")
    return 0
