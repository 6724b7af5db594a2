"""onnxruntime sessions on the CPU, one per weight file and process."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from physplan.extras import need_extra
from physplan_photo.weights import find


@cache
def session(name: str) -> Any:
    """The session of a weight file; OMP_NUM_THREADS bounds its threads as it bounds torch's."""
    need_extra("onnxruntime", extra="photo")
    path = find(name)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    threads = os.environ.get("OMP_NUM_THREADS", "")
    options.intra_op_num_threads = int(threads) if threads.isdigit() else 0
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = False  # it would keep the largest run's memory
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
