"""The back ends that hold weights in few bits, and what each needs: known before anything is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.extras import install_command, is_installed
from physplan.registry import did_you_mean


@dataclass(frozen=True, kw_only=True)
class BackEnd:
    package: str | None = None  # that it needs
    bits: float = 8.0  # of a matrix' weight, its share of the scales included
    gpu: bool = False  # whether it runs nowhere else


BACK_ENDS = {
    "fp8-storage": BackEnd(),
    "torchao-int8": BackEnd(package="torchao"),
    "bitsandbytes-int8": BackEnd(package="bitsandbytes", gpu=True),
    "bitsandbytes-nf4": BackEnd(package="bitsandbytes", bits=4.5, gpu=True),  # a float32 for every 64
}
GGUF = BackEnd(package="gguf")


def back_end(choice: str) -> BackEnd:
    if choice.endswith(".gguf"):
        return GGUF
    if choice not in BACK_ENDS:
        raise PhysPlanError(
            f"There is no quantisation {choice!r}: give a .gguf file, or one of {', '.join(BACK_ENDS)}."
            f" {did_you_mean(choice, BACK_ENDS)}"
        )
    return BACK_ENDS[choice]


def check_rest(choice: str, offload: str) -> None:
    """Refuse quantised weights that were to rest elsewhere."""
    back_end(choice)
    if offload in ("group", "disk"):
        raise PhysPlanError(
            f"Quantised weights stay on the device: use offload none or model, not {offload}, or none of"
            " them quantised."
        )


def check_compiled(choice: str | None, offload: str) -> None:
    """Refuse to compile blocks whose weights come and go, or are unpacked."""
    if choice is not None or offload in ("group", "disk"):
        raise PhysPlanError(
            "Compiled blocks have their weights there, and whole: leave out runtime.compile, or"
            " video.quantisation and offload group and disk."
        )


def lacking(choice: str, *, device: str) -> Iterator[tuple[str, str]]:
    """What a choice needs and does not find here, and what to do about it; nothing is loaded for that."""
    found = back_end(choice)
    if found.package is not None and not is_installed(found.package):
        how = install_command("gguf") if found is GGUF else f"pip install {found.package}"
        yield f"the package {found.package}", how
    if found.gpu and not device.startswith("cuda"):
        yield f"a GPU for {choice}", "use a .gguf file, torchao-int8 or fp8-storage, which run anywhere"
    if found is GGUF and not Path(choice).is_file():
        yield f"the file {choice}", "check the path"
