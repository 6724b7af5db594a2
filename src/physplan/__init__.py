"""PhysPlan: physically plausible video from a picture and a sentence."""

import sys
from typing import TYPE_CHECKING, Any

from physplan.moved import MovedModules

if TYPE_CHECKING:
    from physplan.pipeline import PhysPlan

__version__ = "0.2.0"
__all__ = ["PhysPlan", "__version__"]

sys.meta_path.append(MovedModules())


def __getattr__(name: str) -> Any:
    """`from physplan import PhysPlan`, without loading torch for those who need only the graph."""
    if name == "PhysPlan":
        from physplan.pipeline import PhysPlan

        return PhysPlan
    raise AttributeError(f"module 'physplan' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
