"""The paper's method: algorithm 1, from noise."""

from physplan.methods.method import Method

PHYSPLAN = Method(
    name="physplan",
    about="the paper's algorithm 1: from noise, guided by the terms of every edit",
    settings="guidance",
    ablatable=True,
)
