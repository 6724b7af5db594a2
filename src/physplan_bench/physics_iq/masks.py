"""Motion masks: where a frame differs from the running average of the frames before it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from physplan.errors import PhysPlanError

ALPHA = 0.3  # weight of the newest frame in the background
THRESHOLD = 10  # grey levels
KERNEL = 5  # pixels, of the blur and of the opening and closing


def iter_motion_masks(frames: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """RGB frames (H, W, 3) uint8 -> masks (H, W) uint8 of 0 and 255, at the frames' own resolution.

    The background takes in a frame before the frame is compared with it; the first mask is zero.
    """
    import cv2

    kernel = np.ones((KERNEL, KERNEL), np.uint8)
    background: np.ndarray | None = None
    for frame in frames:
        grey = cv2.GaussianBlur(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), (KERNEL, KERNEL), 0)
        if background is None:
            background = grey.astype(np.float64)
            yield np.zeros_like(grey)
            continue
        cv2.accumulateWeighted(grey, background, ALPHA)
        difference = cv2.absdiff(grey, cv2.convertScaleAbs(background))
        _, mask = cv2.threshold(difference, THRESHOLD, 255, cv2.THRESH_BINARY)
        mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, kernel)
        yield cv2.morphologyEx(mask, cv2.MORPH_CLOSE, kernel)


def motion_masks(video: Iterable[np.ndarray], *, size: tuple[int, int] | None = None) -> np.ndarray:
    """Masks of a whole video as booleans (T, h, w), resized to `size` = (width, height) if given."""
    return resize_masks(iter_motion_masks(video), size)


def resize_masks(masks: Iterable[np.ndarray], size: tuple[int, int] | None) -> np.ndarray:
    import cv2

    resized = (mask if size is None else cv2.resize(mask, size) for mask in masks)
    return np.stack([mask > 127 for mask in resized])


def read_masks(path: Path, *, frames: int) -> Iterator[np.ndarray]:
    """Shipped masks (H, W) uint8, at most `frames` of them.

    The first channel, as the official code reads it since 11 June 2026 (dc7dd06); before, all three counted.
    """
    import cv2

    capture = cv2.VideoCapture(str(path))
    try:
        for _ in range(frames):
            read, frame = capture.read()
            if not read:
                return
            yield frame[..., 0]
    finally:
        capture.release()


def lossy_round_trip(masks: Iterable[np.ndarray], *, fps: float) -> Iterator[np.ndarray]:
    """Through an mp4v file and back, as the official code stores its masks. For parity only."""
    import cv2

    with tempfile.TemporaryDirectory(prefix="physplan-masks-") as folder:
        path = str(Path(folder) / "masks.mp4")
        writer = None
        for mask in masks:
            # mp4v wants even sides; the official writer is given the size rounded down
            mask = mask[: mask.shape[0] // 2 * 2, : mask.shape[1] // 2 * 2]
            if writer is None:
                fourcc = cv2.VideoWriter.fourcc(*"mp4v")
                writer = cv2.VideoWriter(path, fourcc, fps, mask.shape[::-1], isColor=False)
                if not writer.isOpened():
                    raise PhysPlanError("This OpenCV cannot write mp4v, which the lossy masks need.")
            writer.write(np.ascontiguousarray(mask))
        if writer is not None:
            writer.release()
        capture = cv2.VideoCapture(path)
        try:
            while (read := capture.read())[0]:
                yield read[1][..., 0]
        finally:
            capture.release()
