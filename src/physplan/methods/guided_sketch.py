"""Guidance from the sketch: the terms correct what the sketch leaves unsatisfied."""

from physplan.methods.method import Method

GUIDED_SKETCH = Method(
    name="guided_sketch",
    about="from the noised sketch; guided by the terms while one is unsatisfied",
    settings="guided_sketch",
    starts_at="sketch",
    ablatable=True,
)
