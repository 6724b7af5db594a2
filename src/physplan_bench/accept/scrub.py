"""What leaves in acceptance.json: no path, address, key or name of a person's machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PATH = re.compile(r"(/[\w.@+~-]+){2,}/?|[A-Za-z]:\\[^\s'\"]+")  # two folders or more
ADDRESS = re.compile(r"\b(https?|wss?)://[^\s'\"),;]+")
KEY = re.compile(r"\b(sk-|AIza|hf_|key[-_])[-_A-Za-z0-9]{8,}")
SECRETS = ("_API_KEY", "_TOKEN", "_SECRET")
SHORTEST_SECRET = 8  # characters: a shorter value is a word that may stand anywhere


def scrubbed(value: Any, folders: Iterable[Path] = ()) -> Any:
    """`folders` are left out by their whole path, which may have spaces."""
    known = sorted({*_folders(folders)}, key=len, reverse=True)
    return _clean(value, known, [*_secrets()])


def _clean(value: Any, folders: list[str], secrets: list[str]) -> Any:
    if isinstance(value, dict):
        return {name: _clean(one, folders, secrets) for name, one in value.items()}
    if isinstance(value, list):
        return [_clean(one, folders, secrets) for one in value]
    if not isinstance(value, str):
        return value
    for secret in secrets:
        value = value.replace(secret, "(key)")
    value = ADDRESS.sub("(address)", value)
    for folder in folders:
        value = re.sub(re.escape(folder) + r"(/[\w.@+~-]+)*", "(path)", value)
    return KEY.sub("(key)", PATH.sub("(path)", value))


def _folders(folders: Iterable[Path]) -> Iterator[str]:
    for folder in (*folders, Path.home(), Path.cwd()):
        for text in (str(folder), str(folder.resolve())):
            if len(Path(text).parts) > 1:
                yield text


def _secrets() -> Iterator[str]:
    for name, value in os.environ.items():
        if name.endswith(SECRETS) and len(value.strip()) >= SHORTEST_SECRET:
            yield value.strip()
