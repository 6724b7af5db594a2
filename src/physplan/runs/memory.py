"""The most memory that a stage held: what was allocated on a GPU, else what the process kept resident."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path


class PeakMemory:
    """Begins when it is made. Models that are loaded by then count too: they are held as well.

    Where the process's high-water mark cannot be lowered (not Linux), it is that of all stages so far.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        if device.startswith("cuda"):
            import torch

            torch.cuda.reset_peak_memory_stats(device)
            return
        with suppress(OSError):  # not Linux, or not allowed: the mark stays, as said above
            Path("/proc/self/clear_refs").write_text(
                "5", encoding="utf-8"
            )  # lowers the mark to what is resident now

    def bytes(self) -> int | None:
        """None where the system has no such counter (Windows)."""
        if self._device.startswith("cuda"):
            import torch

            return int(torch.cuda.max_memory_allocated(self._device))
        try:
            import resource
        except ImportError:
            return None
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024  # Linux counts in KiB
