"""Every method by name; an installed package adds its own with an entry point of `physplan.methods`."""

from __future__ import annotations

from physplan.errors import PhysPlanError
from physplan.methods.ablations import ablate, ablation_names
from physplan.methods.method import Method
from physplan.registry import Registry, did_you_mean

METHODS = Registry(
    "method",
    {
        "physplan": "physplan.methods.physplan:PHYSPLAN",
        "guided_sketch": "physplan.methods.guided_sketch:GUIDED_SKETCH",
        "sketch": "physplan.methods.sketch:SKETCH",
        "storyboard": "physplan.methods.sketch:STORYBOARD",
        "conditioned": "physplan.methods.conditioned:CONDITIONED",
        "frame_guidance": "physplan.methods.frame_guidance:FRAME_GUIDANCE",
        "base": "physplan.methods.base:BASE",
        "best_of_n": "physplan.methods.best_of_n:BEST_OF_N",
    },
    group="methods",
)
DEFAULT = "physplan"  # where neither a run nor its preset names one


def find(name: str, default: str = DEFAULT) -> Method:
    """A method by name. An ablation alone, such as `no_depth`, is one of the `default` method."""
    if name in ablation_names():
        own = default.partition(".")[0]
        name = f"{own if own in METHODS and METHODS.load(own).ablatable else DEFAULT}.{name}"
    whole, dot, ablation = name.partition(".")
    if whole in METHODS:
        method: Method = METHODS.load(whole)
        if not dot:
            return method
        if method.ablatable and ablation in ablation_names():
            return ablate(method, ablation)
    raise PhysPlanError(f"There is no method {name!r}. {did_you_mean(name, names())}")


def names() -> list[str]:
    """Methods, then their ablations as `method.ablation`."""
    ablated = [
        f"{name}.{one}" for name in METHODS if METHODS.load(name).ablatable for one in ablation_names()
    ]
    return [*METHODS, *ablated]
