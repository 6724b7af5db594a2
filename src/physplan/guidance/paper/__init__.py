"""The paper's method by itself: equations 4 to 10 and algorithm 1 as printed, without options.

| paper | file |
|---|---|
| eq. 3: clean estimate | `physplan/video/noise.py`, of each noise family |
| eqs. 4, 5: occupancy, reference feature | `occupancy.py`, `keyframes.py` |
| instances, matching pi* | `instances.py`, `matching.py` |
| eqs. 6, 7: the terms | `terms.py`, summed over instances in `measurement.py` |
| eq. 8: which terms | `selection.py` |
| eq. 9: regions | `regions.py` |
| eq. 10: the update | `update.py` |
| algorithm 1 | `algorithm.py`, `constants.py` |

Videos are made by `physplan.guidance.sampler`, which calls these functions; a test holds the two equal.
"""
