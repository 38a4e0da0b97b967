"""`tandem train`: trains a model on this processor."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated
from warnings import catch_warnings

import typer

from tandem.api.loading import load
from tandem.api.training import Training, train
from tandem.base.files import check_destination
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.scripts.command_line import command_line
from tandem.scripts.completion import complete_model
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import ThreadsOption
from tandem.scripts.options import DebugOption, JsonOption, SeedOption
from tandem.scripts.outputs import ForceOption, check_outputs
from tandem.scripts.progress import show_activity
from tandem.scripts.shapes import ShapeOption, by_name
from tandem.scripts.weight_options import WeightGroupOption
from tandem.workbench.byte_sizes import FORMS, bytes_of, shown_bytes
from tandem.workbench.models import model_inputs
from tandem.workbench.pages.write import check_page, write_page
from tandem.workbench.training.losses import Loss
from tandem.workbench.training.plan import Initial
from tandem.workbench.training.schedules import Curve


class OptimizerName(Enum):
    """The values of `--optimizer`."""

    ADAM = "adam"
    SGD = "sgd"


def _checked_size(value: str | None) -> str | None:
    if value is not None and bytes_of(value) is None:
        raise typer.BadParameter(f"{value!r} is not {FORMS}")
    return value


def command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            autocompletion=complete_model,
            help="The name of a built-in model, or an ONNX file.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="MODEL.onnx", readable=False, help="The file to write."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE.npz",
            readable=False,
            help="Samples: an array for each input by its name, and `target`, with a row for each "
            "sample. `digits` has its own.",
        ),
    ] = None,
    shape: ShapeOption = None,
    loss: Annotated[
        Loss | None,
        typer.Option(
            "--loss",
            help="cross-entropy: of logits, to numbers of classes; mse, mae: of differences from a "
            "target; binary-cross-entropy: of logits (default: cross-entropy).",
        ),
    ] = None,
    optimizer: Annotated[
        OptimizerName | None,
        typer.Option(
            "--optimizer", help="adam, with decoupled weight decay, or sgd (default: adam)."
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="X", help="The greatest learning rate (default: 0.003)."),
    ] = None,
    decay: Annotated[
        float | None,
        typer.Option("--decay", metavar="X", help="Decay of weights (default: 0.01)."),
    ] = None,
    momentum: Annotated[
        float | None,
        typer.Option("--momentum", metavar="X", help="Of sgd (default: 0.9)."),
    ] = None,
    schedule: Annotated[
        Curve | None,
        typer.Option("--schedule", help="How the rate goes down (default: cosine)."),
    ] = None,
    warmup: Annotated[
        float | None,
        typer.Option(
            "--warmup",
            metavar="X",
            help="The part of the training in which the rate rises (default: 0.05, and of `digits` "
            "0.2).",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            "--batch",
            metavar="N",
            min=1,
            max=1 << 31,
            help="Samples of a step (default: 64, or those of a model that states a number).",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs",
            metavar="N",
            min=1,
            help="How often all samples are seen (default: 10, and of `digits` 100).",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option("--steps", metavar="N", min=1, help="A number of steps instead."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes",
            metavar="X",
            min=0,
            help="A time instead, which the schedule follows: no two trainings are equal.",
        ),
    ] = None,
    clip: Annotated[
        float | None,
        typer.Option("--clip", metavar="X", help="The greatest norm of all gradients."),
    ] = None,
    held_out: Annotated[
        int | None,
        typer.Option(
            "--held-out",
            metavar="N",
            min=0,
            help="Samples that are measured only, drawn with the seed (default: a tenth).",
        ),
    ] = None,
    initial: Annotated[
        Initial | None,
        typer.Option(
            "--initial",
            help="Weights to begin with: the model's, or random ones (default: given, and of "
            "`digits` random).",
        ),
    ] = None,
    freeze: Annotated[
        list[str] | None,
        typer.Option(
            "--freeze",
            metavar="NAME",
            help="Weights that stay as they are; * stands for any characters; may be repeated.",
        ),
    ] = None,
    weights: Annotated[
        WeightKind | None,
        typer.Option(
            "--weights",
            help="Round weights and values while they are trained, as --weights of the other "
            "commands will: int8, int4, mxfp4, nf4, ternary or binary. Training begins with the "
            "model's weights then (default: real numbers).",
        ),
    ] = None,
    weight_group: WeightGroupOption = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            readable=False,
            help="Keep the state in this file, and go on from it if it is there.",
        ),
    ] = None,
    checkpoint_seconds: Annotated[
        float,
        typer.Option(
            "--checkpoint-seconds",
            metavar="X",
            min=0,
            help="Time between checkpoints: at most this much work is lost.",
        ),
    ] = 30.0,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE.html", readable=False, help="Write a page with the curves."
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            callback=_checked_size,
            help="The most memory of a step, as 64MB: gradients compute again what does not fit, "
            "which takes time and changes no number.",
        ),
    ] = None,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Train a model on this processor, in float32, and write it as an ONNX file.

    A step, with the gradients and the optimiser, is one artifact of native code. A training that
    is resumed from its checkpoint is equal, bit for bit, to one that was not interrupted; Ctrl-C
    writes a checkpoint first.
    """
    with errors_in_one_line(debug):
        check_destination(output)
        check_destination(checkpoint)
        if report is not None:
            check_page(report)
        written = {"--output": output, "--checkpoint": checkpoint, "--report": report}
        check_outputs(written, (*model_inputs(model), data), force=force)
        with show_activity("train", quiet=as_json) as say, catch_warnings(action="ignore"):
            training = train(
                load(model, seed=seed, shapes=by_name(shape or ())),
                data,
                loss=None if loss is None else loss.value,
                optimizer=None if optimizer is None else optimizer.value,
                rate=rate,
                decay=decay,
                momentum=momentum,
                schedule=None if schedule is None else schedule.value,
                warmup=warmup,
                batch=batch,
                epochs=epochs,
                steps=steps,
                minutes=minutes,
                clip=clip,
                held_out=held_out,
                initial=None if initial is None else initial.value,
                freeze=freeze or [],
                weights=None if weights is None else weights.value,
                weight_group=weight_group,
                checkpoint=checkpoint,
                checkpoint_seconds=checkpoint_seconds,
                memory_limit=memory_limit,
                threads=threads,
                seed=seed,
                progress=None
                if say is None
                else lambda done, total, text: say(f"{text} of {total:,}" if total else text),
            )
            training.save(output)
            if report is not None:
                write_page(training.page(command_line()), report)
        if training.unsaved:
            raise CommandError(f"{output} is written, but no last checkpoint: {training.unsaved}")
        if as_json:
            print_json(_as_json(training, output))
        else:
            typer.echo(_summary(training, output))


def _as_json(training: Training, output: Path) -> dict[str, object]:
    epochs = [*training.epochs]
    return {
        "model": str(output),
        "accuracy": training.accuracy,
        "loss": [row["loss"] for row in epochs],
        "held_out": [row["held_out"] for row in epochs],
        "seconds": training.seconds,
        "memory": training.memory,
    }


def _summary(training: Training, output: Path) -> str:
    last = training.epochs[-1]
    found = f"loss {last['loss']:.4g}"
    if training.accuracy is not None:
        right = round(training.accuracy * training.held_out)
        found += f", {right} of {training.held_out} held-out samples right"
    elif last["held_out"] is not None:
        found += f", {last['held_out']:.4g} of {training.held_out} held-out samples"
    steps = "1 step" if last["step"] == 1 else f"{last['step']:,} steps"
    memory = shown_bytes(training.memory)
    return f"{output}: {steps} of {memory} in {training.seconds:.0f} s, {found}"
