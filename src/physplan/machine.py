"""What this machine has: versions, devices, memory, disk, keys, extras, weights; and what a preset lacks."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from physplan import plugins
from physplan.extras import install_command
from physplan.presets import Needs

GB = 1e9
PACKAGES = (
    *("torch", "diffusers", "transformers", "accelerate", "safetensors", "huggingface-hub", "numpy", "scipy"),
    *("pillow", "av", "pymunk", "google-genai", "openai", "ray"),
)


@dataclass(frozen=True)
class Missing:
    """Something a preset needs and this machine lacks, and how to get it."""

    kind: str  # key, server, extra, access, weights, memory, gpu
    what: str
    fix: str


@dataclass(frozen=True, kw_only=True)
class Weights:
    """One file or hub repository of a preset; `path` is None where it is not on this machine."""

    name: str
    about: str
    path: Path | None
    optional: bool = False


class WeightSet(Protocol):
    """What a package registers as `physplan.weights` under a preset's name."""

    def listed(self) -> Sequence[Weights]: ...

    def get(self, progress: Callable[[str], None]) -> None:
        """Fetch what is missing; one that is needed and cannot be had is a PhysPlanError."""
        ...


def versions() -> dict[str, str | None]:
    """Installed versions, from the packages' metadata; nothing is imported."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in ("physplan", *PACKAGES):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def memory_gb() -> float:
    """Of the machine, or of the container when that has less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="utf-8").strip()
    except OSError:  # no control group here, so no limit of its own
        limit = "max"
    return (min(total, int(limit)) if limit.isdigit() else total) / GB


def gpus() -> list[dict[str, Any]]:
    """CUDA devices and their memory. torch takes seconds to import: only where there is a driver."""
    if ctypes.util.find_library("cuda") is None and not Path("/proc/driver/nvidia").exists():
        return []
    import torch

    if not torch.cuda.is_available():
        return []
    found = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    return [{"name": gpu.name, "memory_gb": round(gpu.total_memory / GB, 1)} for gpu in found]


def weights_folder() -> Path:
    """Where the Hugging Face hub keeps what it downloaded."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()


# Gated weights: access is requested on the hub page, and needs a login.
GATED = ("black-forest-labs/FLUX.", "facebook/dinov3", "facebook/sam3")


def asks_for_access(name: str) -> bool:
    """Whether weights on the hub are gated, not here yet, and no login could fetch them."""
    return name.startswith(GATED) and not has_weights(name) and not logged_in()


def logged_in() -> bool:
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface")
    token = Path(os.environ.get("HF_TOKEN_PATH") or home / "token").expanduser()
    given = os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN")
    return bool(given) or token.is_file()


def no_folder(source: str) -> Missing | None:
    """A path that leads nowhere; a name on the hub may."""
    names_folder = source.count("/") != 1 or source.startswith((".", "/", "~"))
    if not names_folder or Path(source).expanduser().is_dir():
        return None
    return Missing("weights", f"the folder {source}", "give a model's folder, or a hub name: owner/name")


def no_file(path: str) -> Missing | None:
    if Path(path).is_file():
        return None
    return Missing("weights", f"the file {path}", "give a .safetensors file with the weights")


def gated(name: str) -> Missing:
    return Missing(
        "access",
        f"access to the gated weights {name}",
        "ask for it on their hub page, then hf auth login (or set HF_TOKEN)",
    )


def has_weights(name: str) -> bool:
    snapshots = weights_folder() / f"models--{name.replace('/', '--')}" / "snapshots"
    return snapshots.is_dir() and any(path.exists() for path in snapshots.rglob("*.safetensors"))


def has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the parent of a dotted name
        return False


def has_key(name: str) -> bool:
    """A key in the environment, or a file that holds it."""
    if os.environ.get(name, "").strip():
        return True
    path = os.environ.get(f"{name}_FILE", "")
    return bool(path) and Path(path).is_file()


def answers(url: str, timeout: float = 0.5) -> bool:
    """Does anything listen at this address?"""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout):
            return True
    except (OSError, ValueError):
        return False


def disk(path: Path) -> float:
    """Free space where `path` is or would be."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free / GB


def missing(needs: Needs, *, memory: float, gpu_memory: float, preset: str = "") -> Iterator[Missing]:
    """Everything that keeps a preset from running here, in the words of `--dry-run`."""
    if needs.keys and not any(has_key(name) for name in needs.keys):
        first, names = needs.keys[0], " or ".join(needs.keys)
        fix = f"export {first}=... (or {first}_FILE=the file that holds it)"
        yield Missing("key", f"the key {names}", f"{fix}, or use {needs.instead}" if needs.instead else fix)
    if needs.server:
        variable, default = needs.server
        url = os.environ.get(variable) or default
        if not answers(url):
            yield Missing("server", f"a server at {url}", f"start one there, or set {variable}")
    for extra, module in (needs.extras or {}).items():
        if not has_module(module):
            yield Missing("extra", f"the package {module}", install_command(extra))
    yield from _missing_weights(needs, preset)
    yield from own_weights(preset)
    if memory < needs.memory_gb:
        yield Missing("memory", f"{needs.memory_gb:.0f} GB of memory", f"this machine has {memory:.1f} GB")
    if gpu_memory < needs.gpu_memory_gb:
        has = f"the largest here has {gpu_memory:.1f} GB" if gpu_memory else "there is none here"
        yield no_gpu(needs.gpu_memory_gb, has)


def no_gpu(needed: float, has: str) -> Missing:
    return Missing("gpu", f"a CUDA GPU with {needed:g} GB", has)


def to_fetch(name: str, preset: str) -> Missing:
    """Weights that a run fetches by itself; fetched before, a run may be offline."""
    fix = f"physplan models get {preset}" if preset else f"hf download {name}"
    return Missing("weights", f"the weights {name}", fix)


def own_weights(preset: str) -> list[Missing]:
    """Files that the package of a preset fetches, but for the optional ones."""
    listed = plugins.load(entry).listed() if (entry := plugins.entries("weights").get(preset)) else ()
    return [to_fetch(one.name, preset) for one in listed if not one.path and not one.optional]


def _missing_weights(needs: Needs, preset: str) -> Iterator[Missing]:
    for name in needs.weights:
        if asks_for_access(name):
            yield gated(name)
        if not has_weights(name):
            yield to_fetch(name, preset)
    for name in needs.embedded:
        package, _, folder = name.partition("/")
        if not any(Path(str(resources.files(package).joinpath(folder))).glob("*.safetensors")):
            yield Missing("weights", name, "they come with PhysPlan: install it again")
