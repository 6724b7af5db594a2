"""What is wrapped around algorithm 1: records, clocks, checkpoints, progress, and ending early."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from physplan.guidance.extensions.stopping import still_unsatisfied
from physplan.guidance.gradients.direction import Direction
from physplan.guidance.records import (
    Ended,
    GuidanceResult,
    OnProgress,
    Progress,
    Seconds,
    Stage,
    StepRecord,
    read_steps,
    seconds,
)
from physplan.guidance.repeat import GuidedRun, first_guided
from physplan.guidance.schedule import Schedule
from physplan.video.checkpoint import Checkpoint, SamplingState, resume
from physplan.video.sampling import Start


class Watch:
    """Records of one run. With a `checkpoint`, an interrupted run continues at its step."""

    def __init__(
        self, run: GuidedRun, *, on_progress: OnProgress | None = None, checkpoint: Checkpoint | None = None
    ) -> None:
        self.run, self.checkpoint = run, checkpoint
        self.tell = on_progress or (lambda seen: None)
        self.num_steps = run.conditioning.noise.num_steps
        run.config.schedule.check(self.num_steps)
        self.planned = planned_repeats(run.config.schedule, self.num_steps, run.start)
        self.latents, self.first = run.conditioning.latents, run.first
        self.records: list[StepRecord] = []
        self.regions: dict[str, Tensor] = {}
        if (begun := resume(checkpoint, run.generator, self.latents)) is not None:
            self.latents, self.first = begun.latents, begun.step
            self.records, self.regions = read_steps(begun.record), dict(begun.tensors)
        self.clean = self.latents
        self.guided = bool(run.windows)
        self.ended: Ended = "finished"
        self.stage: Stage = "unguided"
        self.repeat = 0
        self.unsatisfied: set[int] = set()
        self.guiding = self.decoding = 0.0  # seconds of this process, if the run is resumed
        self.entered = self.started = seconds(self.latents.device)

    def repeats(self, n: int) -> Iterator[int]:
        """The numbers, within the run, of the repeats that step n has."""
        self.stage, self.unsatisfied = "unguided", set(self.run.windows)
        for repeat in range(self.planned[n] if self.guided else 0):
            self.repeat = repeat
            self.started = seconds(self.latents.device)
            yield len(self.records)
            if not self.guided or (self.run.config.until == "satisfied" and not self.unsatisfied):
                return

    def saw_repeat(self, n: int, found: Direction, update: Tensor) -> None:
        stage = self.run.stage(n)
        record = StepRecord(
            step=n, repeat=self.repeat, stage=stage, terms=found.terms, update_norm=float(update.norm())
        )
        self.guiding += seconds(self.latents.device) - self.started
        self.decoding += found.decoding_seconds
        self.records.append(record)
        self.regions |= {label: one.detach() for label, one in found.regions.items() if one is not None}
        self.clean, self.stage = found.clean, stage
        self.unsatisfied = still_unsatisfied(self.unsatisfied, found, self.run.config.measure)
        self._tell(
            Progress(
                step=n,
                num_steps=self.num_steps,
                repeat=self.repeat,
                stage=stage,
                clean=found.clean,
                terms=found.terms,
                previews=found.previews,
                regions=found.regions,
            )
        )

    def saw_step(self, n: int, z: Tensor, clean: Tensor) -> None:
        self.clean = clean
        if self.checkpoint is not None and self.ended == "finished":
            written = GuidanceResult(latents=z, steps=tuple(self.records)).to_json()["steps"]
            self.checkpoint.save(
                SamplingState(
                    step=n + 1,
                    latents=z,
                    generator=self.run.generator.get_state(),
                    record=written,
                    tensors=self.regions,
                )
            )
        self._tell(Progress(step=n, num_steps=self.num_steps, repeat=None, stage=self.stage, clean=clean))

    def _tell(self, seen: Progress) -> None:
        if self.tell(seen) is False and self.guided:
            self.guided, self.ended, self.stage = False, "unguided by request", "unguided"

    def result(self, latents: Tensor) -> GuidanceResult:
        rest = seconds(latents.device) - self.entered - self.guiding
        return GuidanceResult(
            latents=latents,
            steps=tuple(self.records),
            ended=self.ended,
            regions=self.regions,
            seconds=Seconds(
                previews=self.decoding, backpropagation=self.guiding - self.decoding, sampling=rest
            ),
            planned=sum(self.planned),
        )


def planned_repeats(schedule: Schedule, num_steps: int, start: Start | None = None) -> list[int]:
    """The guided repeats of every step, if none ends early."""
    begin = first_guided(start)
    return [schedule.at(n - begin) if n >= begin else 0 for n in range(num_steps)]
