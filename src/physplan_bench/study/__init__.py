"""The user study: two videos of one prompt side by side, three criteria, one choice for each.

`make` pairs the videos and hides who made them, `serve` shows them to people, `analyse` counts the votes.
"""
