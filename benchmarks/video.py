"""How well and how cheaply a window of latents shows a frame, per family and window length.

    python -m benchmarks.video                       # tiny random-weight models of the real classes
    python -m benchmarks.video --model path/to/model # a local model, at its own size

The error is the mean absolute difference (in 1/255) between the preview of a frame and that frame of the full
decode, over all frames; beside it the difference between neighbouring frames, to know what is small. Random
weights remember more of the past than trained ones: the order of the rows carries over, the numbers do not.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import diffusers
import torch
import transformers

from physplan.video.base import FamilyModel
from physplan.video.frames import WindowMode
from physplan_models.loading import LoadOptions, load_video_model
from physplan_models.memory import Saved, parameters

COLUMNS = ("mean", "worst", "worst 0-4", "last", "neighbours", "ms")
HEADER = f"""\
Previews from a window of latents against the full decode, mean absolute difference in 1/255:
over all frames, the worst frame, the worst of frames 0 to 4, the last frame.
Beside it, in the same unit, how much neighbouring frames differ; and the time of one preview.

{"model":12} {"window":8} {"latents":>7} {"".join(f"{name:>11}" for name in COLUMNS)}"""
WINDOWS: tuple[tuple[WindowMode, int], ...] = (
    ("trailing", 2),
    ("trailing", 3),
    ("trailing", 5),
    ("centred", 3),
    ("centred", 5),
)
FRAMES = {"cogvideox": 25, "wan": 25, "ltx": 57, "svd": 14}


def windows(label: str, model: FamilyModel, side: int, frames: int) -> None:
    layout = model.check_size(height=side, width=side, num_frames=frames)
    small = side // model.codec.spatial_ratio
    shape = (1, model.latent_channels, layout.num_latents, small, small)
    latents = torch.randn(shape, generator=torch.Generator().manual_seed(0), device="cpu").to(model.device)
    video = model.decode(latents, layout)
    neighbours = (video[1:] - video[:-1]).abs().mean().item() * 255
    for mode, length in WINDOWS:
        errors, seconds = [], 0.0
        for frame in range(frames):
            window = layout.window(frame, length, mode)
            start = time.perf_counter()
            with torch.no_grad():
                preview = model.decode_window(latents[:, :, window.latents], window).clamp(0, 1)
            seconds += time.perf_counter() - start
            errors.append((preview - video[frame]).abs().mean().item() * 255)
        mean, milliseconds = sum(errors) / frames, 1000 * seconds / frames
        numbers = (mean, max(errors), max(errors[:5]), errors[-1], neighbours, milliseconds)
        print(f"{label:12} {mode:8} {length:>7} {''.join(f'{n:>11.2f}' for n in numbers)}", flush=True)


def activations(model: FamilyModel, side: int, frames: int) -> int:
    """Bytes kept for the backward pass through one window."""
    layout = model.check_size(height=side, width=side, num_frames=frames)
    window = layout.window(frames - 1, model.preview_length, model.preview_mode)
    small = side // model.codec.spatial_ratio
    leaf = torch.zeros(1, model.latent_channels, window.length, small, small, requires_grad=True)
    saved = Saved(parameters(model))
    with saved.counted():
        frame = model.decode_window(leaf, window)
    del frame
    return saved.bytes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a local model folder")
    parser.add_argument("--side", type=int, help="height and width in pixels")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for library in (diffusers, transformers):
        library.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as base:
        if arguments.model:
            folders = [arguments.model]
        else:
            from physplan_testing import tiny_models

            # Wan 2.2 A14B has the autoencoder of 2.1.
            names = [name for name in tiny_models.NAMES if name != "wan22"]
            folders = [tiny_models.build(name, Path(base) / name) for name in names]
        print(HEADER, flush=True)
        for folder in folders:
            model = load_video_model(folder, LoadOptions(checkpointing=False))
            windows(folder.name, model, arguments.side or model.side_multiple, FRAMES[model.name])
        print("\nMB kept for the backward pass through one window's decoder\n")
        print("model           plain  with checkpointing")
        for folder in folders:
            plain, checked = (load_video_model(folder, LoadOptions(checkpointing=c)) for c in (False, True))
            side = arguments.side or plain.side_multiple
            kept = [activations(m, side, FRAMES[m.name]) / 1e6 for m in (plain, checked)]
            print(f"{folder.name:12} {kept[0]:8.2f} {kept[1]:19.2f}", flush=True)


if __name__ == "__main__":
    main()
