"""A verdict read back from its JSON. It is untrusted input: every field is checked."""

from __future__ import annotations

from typing import cast

from physplan.graph.errors import ParseError
from physplan.graph.json_values import read_as, read_object, read_string
from physplan.verify.verdict import NOT_CHECKED, SCHEMA, Checked, NotChecked, Verdict

MAX_ENTRIES = 10_000  # entries of a list, more than any plan has


def read_verdict(value: object) -> Checked:
    fields = read_object(value, "$")
    if fields.get("schema") != SCHEMA:
        raise ParseError("$.schema", f"must be {SCHEMA!r}")
    if fields.get("verdict") == NOT_CHECKED:
        return NotChecked(reason=read_string(fields.get("reason", "nobody said why"), "$.reason"))
    return cast(Verdict, read_as(Verdict, value, "$", most=MAX_ENTRIES))
