"""Losses and terms of the user by name, with the identity that decides what a run keeps. Loads no torch.

A loss is registered in Python (`register_loss`) or by an installed package, as an entry point of
`physplan.losses`: a function, whose attribute `identity`, if any, is its identity.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from physplan import plugins
from physplan.errors import PhysPlanError
from physplan.graph import Term
from physplan.registry import did_you_mean

if TYPE_CHECKING:
    from torch import Tensor

    from physplan.graph import Event
    from physplan.guidance.config import GuidanceConfig
    from physplan.perception.evidence import KeyframeEvidence

    # From a frame [3, H, W], the event it belongs to and the event's keyframe to a scalar and the region
    # [h, w], on any grid, that it may change (None: everywhere).
    Loss = Callable[[Tensor, Event, KeyframeEvidence], tuple[Tensor, Tensor | None]]

L = TypeVar("L", bound="Loss")
BUILT_IN = ("terms", "rest", "whole_frame")
BUILT_IN_TERMS = (*(term.value for term in Term), "keep", "rest", "whole_frame")
LOSSES: dict[str, Loss] = {}
IDENTITIES: dict[str, str | None] = {}  # of losses


def register_loss(name: str, *, identity: str | None = None) -> Callable[[L], L]:
    """Make a loss available as `GuidanceConfig(losses=("terms", name))`.

    `identity` names what it computes, such as "darker, version 2": change it with the code. A run keeps what
    a loss with an identity has made; without one its videos are sampled again each time. To register a name
    again replaces the loss, as running a notebook's cell again does.
    """
    if name in BUILT_IN:
        raise PhysPlanError(f"A loss named {name!r} exists already: choose another name.")

    def register(loss: L) -> L:
        LOSSES[name], IDENTITIES[name] = loss, identity
        return loss

    return register


def own_losses(losses: Sequence[Loss]) -> tuple[str, ...]:
    """Register functions under their own names; an attribute `identity` of one is its identity."""
    for loss in losses:
        register_loss(loss.__name__, identity=getattr(loss, "identity", None))(loss)
    return tuple(loss.__name__ for loss in losses)


def loss_names() -> tuple[str, ...]:
    """The names of all losses that a config may have; nothing is imported."""
    return tuple(dict.fromkeys((*BUILT_IN, *LOSSES, *plugins.entries("losses"))))


def find_loss(name: str) -> Loss:
    """A loss of the user or of an installed package, by name."""
    if name not in LOSSES:
        entry = plugins.entries("losses").get(name)
        if entry is None:
            raise PhysPlanError(f"There is no loss named {name!r}. {did_you_mean(name, loss_names())}")
        loss: Loss = plugins.load(entry)
        register_loss(name, identity=getattr(loss, "identity", None))(loss)
    return LOSSES[name]


def check_losses(config: GuidanceConfig) -> None:
    """Refuse the name of a loss or term that there is not."""
    for name in config.losses:
        if name not in BUILT_IN:
            find_loss(name)
    terms = (*BUILT_IN_TERMS, *own_terms(), *loss_names())
    for name in config.measure.satisfied_by:
        if name not in terms:
            raise PhysPlanError(f"satisfied_by: there is no term {name!r}. {did_you_mean(name, terms)}")


def own_identities(config: GuidanceConfig) -> dict[str, str | None]:
    """The identity of every loss and term of the user's own that decides a sampling; None: it has none."""
    own = [name for name in config.losses if name not in BUILT_IN]
    for name in own:
        find_loss(name)  # an installed package's is registered with its identity
    losses = {f"loss {name}": IDENTITIES.get(name) for name in own}
    terms = own_terms() if "terms" in config.losses else {}
    return losses | {f"term {name}": identity for name, identity in terms.items()}


def own_terms() -> Mapping[str, str | None]:
    """Terms that were added to `TERMS`, or put in the place of one of ours."""
    measurement = sys.modules.get("physplan.guidance.measurement")
    if measurement is None:
        return {}
    ours = measurement.OURS
    return {name: one.identity for name, one in measurement.TERMS.items() if one is not ours.get(name)}
