"""Attention by name: the library's back ends, and what each needs, known before anything is loaded.

Those that the library would fetch as code from the hub are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan.extras import is_installed
from physplan.registry import did_you_mean

if TYPE_CHECKING:
    from physplan.video.base import FamilyModel


@dataclass(frozen=True, kw_only=True)
class Attention:
    package: str | None = None  # that it needs
    install: str = ""
    gpu: bool = False  # whether it runs nowhere else
    gradients: bool = True  # whether it has a backward pass
    masks: bool = True  # whether it can hide words


ATTENTION = {
    "native": Attention(),  # torch chooses
    "_native_math": Attention(),
    "_native_flash": Attention(masks=False),
    "_native_efficient": Attention(gpu=True),
    "_native_cudnn": Attention(gpu=True),
    "flash": Attention(package="flash_attn", install="pip install flash-attn", gpu=True, masks=False),
    "_flash_3": Attention(
        package="flash_attn_interface", install="build it from its source", gpu=True, masks=False
    ),
    "sage": Attention(
        package="sageattention", install="pip install sageattention", gpu=True, gradients=False, masks=False
    ),
    "xformers": Attention(package="xformers", install="pip install xformers", gpu=True),
}


def attention(name: str) -> Attention:
    if name not in ATTENTION:
        raise PhysPlanError(f"There is no attention called {name!r}. {did_you_mean(name, ATTENTION)}")
    return ATTENTION[name]


def lacking(name: str, *, device: str) -> Iterator[tuple[str, str]]:
    """What it needs and does not find here, and what to do about it."""
    found = attention(name)
    if found.package is not None and not is_installed(found.package):
        yield f"the package {found.package}", found.install
    if found.gpu and not device.startswith("cuda"):
        yield f"a GPU for the attention {name}", "leave video.attention out, and torch chooses"


def check_gradients(name: str) -> None:
    """Refuse an attention without a backward pass."""
    if not attention(name).gradients:
        raise PhysPlanError(
            f"The attention {name} has no backward pass: use another, gradient mode direct, or a method that"
            " needs no gradient, such as sketch or conditioned."
        )


def processors(model: FamilyModel, name: str) -> list[Any]:
    """What of a model's denoisers attends; refused where that takes no name, or not this one."""
    if model.masks_words and not attention(name).masks:
        able = [other for other, one in ATTENTION.items() if one.masks]
        raise PhysPlanError(
            f"{model.name} hides words behind a mask, and the attention {name} knows none: use"
            f" {', '.join(able)}."
        )
    found = [
        getattr(module, "processor", None) for network in model.denoisers for module in network.modules()
    ]
    chosen = [processor for processor in found if hasattr(processor, "_attention_backend")]
    if not chosen:
        raise PhysPlanError(
            f"The attention of {model.name} is torch's own choice in this version of the library: leave"
            " video.attention out."
        )
    return chosen


def attend(model: FamilyModel, name: str) -> None:
    """Set the attention of this model alone; the library's own switch sets that of all others too."""
    from diffusers.models.attention_dispatch import AttentionBackendName

    for processor in processors(model, name):
        processor._attention_backend = AttentionBackendName(name)
