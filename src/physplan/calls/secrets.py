"""Keys: read from the environment or a secret file, hidden wherever they might be printed or stored."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from physplan.errors import PhysPlanError

HIDDEN_KEY = "[hidden key]"
# What is shorter is a stand-in for servers that want none ("EMPTY", "none"), and a word of many answers.
MIN_KEY_LENGTH = 8


class Secret:
    """A string that shows itself only to `reveal`: not in a repr, format, pickle or copied `__dict__`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def redact(self, text: str) -> str:
        """The text without the key, also in other letter case, or quoted for a URL or for JSON."""
        if len(self._value) < MIN_KEY_LENGTH:
            return text
        forms = {self._value, quote(self._value, safe=""), json.dumps(self._value)[1:-1]}
        return re.sub("|".join(map(re.escape, forms)), HIDDEN_KEY, text, flags=re.IGNORECASE)

    def __repr__(self) -> str:
        return HIDDEN_KEY

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(HIDDEN_KEY, spec)

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret is not pickled: give the process its key through the environment.")


_LOGGED: dict[str, Secret] = {}


def keep_out_of_logs(secret: Secret) -> None:
    """No log record of this process holds the key from now on: HTTP libraries log what servers echo."""
    if not _LOGGED:
        make = logging.getLogRecordFactory()

        def redacted(*args: Any, **kwargs: Any) -> logging.LogRecord:
            record = make(*args, **kwargs)
            try:
                message = record.getMessage()
            except Exception:  # a malformed record is the logging module's to report
                return record
            clean = message
            for known in _LOGGED.values():
                clean = known.redact(clean)
            if clean != message:
                record.msg, record.args = clean, ()
            return record

        logging.setLogRecordFactory(redacted)
    _LOGGED[secret.reveal()] = secret


def load_secret(*names: str, environ: Mapping[str, str] | None = None) -> Secret | None:
    """The first of `NAME` (the key itself) or `NAME_FILE` (a file that holds it) that is set."""
    environ = os.environ if environ is None else environ
    for name in names:
        if value := environ.get(name, "").strip():
            return _checked(value, name)
        if path := environ.get(f"{name}_FILE", ""):
            try:
                value = Path(path).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError):
                raise PhysPlanError(
                    f"The key file that {name}_FILE names cannot be read: check the path and its permissions."
                ) from None
            return _checked(value, f"the file that {name}_FILE names")
    return None


def need_secret(*names: str, service: str) -> Secret:
    secret = load_secret(*names)
    if secret is None:
        raise PhysPlanError(
            f"{service} needs a key: set {names[0]}, or {names[0]}_FILE to a file that holds it "
            "(the sandbox preset needs none)."
        )
    return secret


def _checked(value: str, where: str) -> Secret:
    # A header cannot carry these; the SDK's own error would print the key.
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise PhysPlanError(
            f"{where} does not hold a key: it must be one line of printable ASCII without spaces."
        )
    secret = Secret(value)
    keep_out_of_logs(secret)
    return secret
