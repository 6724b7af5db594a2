"""The video model alone: the picture and the sentence, no plan."""

from physplan.methods.method import Method

BASE = Method(name="base", about="the video model alone: no plan", follows_plan=False)
