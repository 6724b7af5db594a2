"""Check the content credentials (C2PA) of a video."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.cli.parsers import add_command
from physplan.foreign import plain

if TYPE_CHECKING:
    from physplan_signing.credentials import Credentials

_EXAMPLES = """\
examples:
  physplan verify-origin signed.mp4
  physplan verify-origin signed.mp4 --trust authority.pem      believe the signers of this authority

Answers: valid (unchanged, and by a signer of an authority you trust), untrusted (unchanged, but anybody may
have signed it), tampered, none. Exit code: 0 valid, 1 any other answer, 2 a file is not what it should be.
"""
_WORDS = {
    "valid": "It is what was signed, and the signer belongs to an authority that you trust.",
    "untrusted": "It is what was signed, but anybody may have signed it: no authority that you trust stands "
    "behind the signer (--trust FILE).",
    "tampered": "It is not what was signed.",
    "none": "It has no content credentials. That proves nothing: they are lost when a video is encoded anew.",
}


def add_parser(subparsers: Any) -> None:
    about = "whether a video is signed, and still what was signed"
    parser = add_command(subparsers, "verify-origin", run, about, __doc__, _EXAMPLES)
    parser.add_argument("video", metavar="VIDEO", help="an .mp4")
    parser.add_argument("--trust", metavar="FILE", help="PEM file with the authorities that you trust")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    from physplan_signing.credentials import read_credentials

    found = read_credentials(args.video, trusted=Path(args.trust) if args.trust else None)
    if args.json:
        import json
        from dataclasses import asdict

        print(json.dumps(asdict(found), indent=2))
    else:
        _print(found)
    return 0 if found.state == "valid" else 1


def _print(found: Credentials) -> None:
    print(f"{found.state}: {_WORDS[found.state]}")
    rows = [("signer", found.signer), ("program", found.program), *(found.said or {}).items()]
    for name, text in rows:
        if text:
            print(f"  {plain(name)}: {plain(text)}")
    for reason in found.reasons:
        print(f"  wrong: {plain(reason)}")
