"""Guidance beyond the paper: other forms of its terms, preservation of unedited regions, early stopping.

- `counting.py`, `lookalikes.py`, `selection.py`: what is a copy or missing, log forms of eq. 6
- `gradients/`: terms summed before the denoiser's backward pass (`fused`), or without it (`direct`)
- `bystanders.py`: what no edit names is held to the first frame
- `frame_guidance.py`: Frame Guidance's loss, gradient, settings and order of random draws
- `stopping.py`: repeats end when every term is satisfied
"""
