"""Run as a process of its own: loads the models once, then forks a child for every run it is asked for.

Reads lines `FOLDER STAGE KIND`, answers `started PID` and `ended STATUS`. The child kills itself with SIGKILL
when it hears of that stage boundary (`- -`: never). Forking saves thirty imports of torch.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys

import torch

from physplan.pipeline import PhysPlan, RunEvent

config, image, prompt = sys.argv[1:]
torch.set_num_threads(1)
pp = PhysPlan.from_preset(json.loads(config))
_ = pp.backends.segmenter, pp.backends.depth, pp.backends.encoder, pp.backends.video
# What is imported here is imported once.
pp.forecast(image, prompt, output_dir="nowhere")
importlib.import_module("google.genai")
importlib.import_module("physplan.report")
print("ready", flush=True)
for line in sys.stdin:
    folder, stage, kind = line.split()

    def watch(event: RunEvent, stage: str = stage, kind: str = kind) -> None:
        if (event.stage, event.kind) == (stage, kind):
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        pp.generate(image, prompt, seed=5, output_dir=folder, on_event=watch)
        os._exit(0)
    print(f"started {child}", flush=True)
    print(f"ended {os.waitpid(child, 0)[1]}", flush=True)
