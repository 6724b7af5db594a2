"""`python -m physplan_sandbox.train [part]`: train the sandbox's networks and store their weights."""

from __future__ import annotations

import argparse
import os
import shutil
from dataclasses import replace
from pathlib import Path

import torch
from diffusers.configuration_utils import ConfigMixin
from torch import nn

from physplan_sandbox.components import WEIGHTS
from physplan_sandbox.models.int8_weights import save_packed
from physplan_sandbox.models.outline import OutlineNet
from physplan_sandbox.models.text import build_text_encoder, build_tokenizer
from physplan_sandbox.train import autoencoder, decoder_finetuning, encoder, networks, sight
from physplan_sandbox.train.loop import TrainConfig
from physplan_sandbox.train.noise import build_scheduler

#: Each part's folder below the weights.
STORED = {
    "autoencoder": "video/autoencoder",
    "sight": "sight",
    "encoder": "encoder",
    "outline": "video/outline",
    "contour": "video/contour",
    "drawing": "video/drawing",
    "finish": "video/autoencoder",
    "lit-drawing": "lit-drawing",
}
START = {"lit-drawing": "video/drawing"}  # where a part that is always fine-tuned starts
PARTS = tuple(STORED)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m physplan_sandbox.train",
        description="Train the sandbox's models. An interrupted run resumes from its checkpoint.",
        epilog="example: python -m physplan_sandbox.train drawing --steps 20000 --threads 2",
    )
    parser.add_argument("part", nargs="?", choices=(*PARTS, "all"), default="all")
    parser.add_argument(
        "--work", type=Path, default=Path("out/sandbox-train"), help="checkpoints and cached clips"
    )
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="where the finished weights go")
    parser.add_argument("--steps", type=int, help="training steps (default: the part's own number)")
    parser.add_argument("--clips", type=int, help="training clips (default: the part's own number)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--finetune", action="store_true", help="start from the package's weights")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    for part in PARTS if args.part == "all" else (args.part,):
        train_part(part, args)


def train_part(part: str, args: argparse.Namespace) -> None:
    clips = {} if args.clips is None else {"clips": args.clips}
    start = args.weights / START.get(part, STORED[part]) if args.finetune or part in START else None
    model: nn.Module
    if part == "autoencoder":
        model, _ = autoencoder.run(args.work, config=_config(autoencoder.CONFIG, args), start=start, **clips)
        save(model, args.weights / "video" / "autoencoder")
    elif part == "sight":
        model, _ = sight.run(args.work, config=_config(sight.CONFIG, args), start=start, **clips)
        save(model, args.weights / "sight")
    elif part == "encoder":
        model, _ = encoder.run(args.work, config=_config(encoder.CONFIG, args), start=start, **clips)
        save(model, args.weights / "encoder")
    elif part == "finish":
        model, _ = decoder_finetuning.run(
            args.work, args.weights / "video", config=_config(decoder_finetuning.CONFIG, args), **clips
        )
        save(model, args.weights / "video" / "autoencoder")
    else:
        usual = _config(networks.NETWORKS[part][1], args)
        model, _ = networks.run(part, args.work, args.weights / "video", config=usual, start=start, **clips)
        save(model, args.weights / STORED[part])
        save_text_encoder(args.weights / "video")


def save_text_encoder(folder: Path) -> None:
    """Tokenizer, text encoder and scheduler of the video model."""
    save(build_text_encoder(), folder / "text_encoder")
    build_scheduler().save_pretrained(folder / "scheduler")
    build_tokenizer().save_pretrained(folder / "tokenizer")


def save(model: nn.Module, folder: Path) -> None:
    """Store in half precision (the outline network in int8); the folder is replaced atomically."""
    fresh = folder.with_name(f".{folder.name}-new")
    shutil.rmtree(fresh, ignore_errors=True)
    if isinstance(model, ConfigMixin):
        model.register_to_config(_name_or_path="")  # no local path in the stored config
    if isinstance(model, OutlineNet):
        save_packed(model, fresh)
    else:
        model.half().save_pretrained(fresh, safe_serialization=True)  # type: ignore[operator]
        model.float()
    if (folder / "README.md").exists():  # keep the model card; update it by hand
        shutil.copy(folder / "README.md", fresh)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def _config(config: TrainConfig, args: argparse.Namespace) -> TrainConfig:
    return replace(config, seed=args.seed, steps=args.steps or config.steps)


if __name__ == "__main__":
    main()
