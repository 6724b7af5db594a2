"""One thread per test process: tiny models run slower on two, and much slower on a busy machine."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported, and for child processes
