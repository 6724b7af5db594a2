"""The stages in order (figure 2), from a picture and a sentence to a video, resumable at each."""

from typing import TYPE_CHECKING

from physplan.lazy import lazy_names

if TYPE_CHECKING:
    from physplan.pipeline.config import Config
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.events import RunEvent
    from physplan.pipeline.pipeline import Cost, PhysPlan, Result
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "config": "Config",
            "config_loading": "load_config",
            "events": "RunEvent",
            "pipeline": "Cost PhysPlan Result",
        },
    )

__all__ = ["Config", "Cost", "PhysPlan", "Result", "RunEvent", "load_config"]
