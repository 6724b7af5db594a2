"""The sketch of the plan without gradients: as the video model's start, or as the video itself."""

from physplan.methods.method import Method

SKETCH = Method(name="sketch", about="the video model starts from the noised sketch", starts_at="sketch")
STORYBOARD = Method(
    name="storyboard", about="the sketch is the video: no video model", starts_at="sketch", samples=False
)
