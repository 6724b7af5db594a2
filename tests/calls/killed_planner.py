"""Run as a child process: plans the melting scene against a server, to be killed at any moment."""

from __future__ import annotations

import sys

from physplan.calls.settings import CallSettings
from physplan.reasoning import make_reasoner, plan

url, folder, image, output = sys.argv[1:]
reasoner = make_reasoner("paper", CallSettings(base_url=url, folder=folder))
plan(reasoner, image, "an ice cube melting in the sun").save(output)
