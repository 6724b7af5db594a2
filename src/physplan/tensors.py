"""Tensors on disk: safetensors, written whole, and the same bytes for the same content."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan.files import atomic_path

if TYPE_CHECKING:
    from torch import Tensor


def save_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """The library writes metadata in an order that changes from process to process, and calls a full disk a
    fault of the format: so the header is put in order, and the file written, here."""
    from safetensors.torch import save

    content = memoryview(save(dict(tensors), dict(metadata) if metadata else None))
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(bytes(content[8:start])), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the data begin at a multiple of eight
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.write(content[start:])


def open_tensors(path: str | os.PathLike[str]) -> Any:
    """For `with`: safetensors as torch tensors. Of a pipe the library would wait for words for ever."""
    from safetensors import safe_open

    if os.path.exists(path) and not os.path.isfile(path):
        raise PhysPlanError(f"{os.fspath(path)} is not a regular file: make it again.")
    return safe_open(path, framework="pt")
