"""Options of models: what they become, and which do not go together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from tandem.compiler.quantise.options import Mode
from tandem.compiler.quantise.weight_kinds import WeightKind
from tandem.compiler.quantise.weight_options import INT8_WEIGHTS
from tandem.runtime.inputs import PixelNormalisation
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import (
    DeviceName,
    ModelFlags,
    PortType,
    Quantise,
    on_command_line,
    refuse_accelerator_options,
)
from tandem.scripts.weight_options import WeightFlags


def test_modes() -> None:
    assert [each.mode for each in Quantise] == [None, Mode.POW2, Mode.MULTIPLIER]


def test_options_without_any() -> None:
    found = ModelFlags().options(7)
    assert (found.quantise, found.calibrate, found.pixels, found.seed) == (
        *(Mode.MULTIPLIER, None, PixelNormalisation.IMAGENET, 7),
    )
    assert (found.shapes, found.keep_float, found.integer_ports) == ((), (), False)
    assert not any(ModelFlags().given.values())


def test_options_of_a_model() -> None:
    flags = ModelFlags(
        quantize=Quantise.POW2, calibrate=Path("samples"), keep_float=["LRN", "stem"]
    )
    found = flags.options(3, io=PortType.INT8)
    assert (found.quantise, found.calibrate) == (Mode.POW2, Path("samples"))
    assert (found.keep_float, found.integer_ports) == (("LRN", "stem"), True)
    assert flags.given == {
        "--shape": False,
        "--quantize": True,
        "--calibrate": True,
        "--keep-float": True,
    }
    assert ModelFlags(quantize=Quantise.NONE).options(0).quantise is None


@pytest.mark.parametrize(
    ("flags", "io", "option"),
    [
        (ModelFlags(quantize=Quantise.NONE, calibrate=Path("a")), PortType.FLOAT32, "--calibrate"),
        (ModelFlags(quantize=Quantise.NONE, keep_float=["a"]), PortType.FLOAT32, "--keep-float"),
        (ModelFlags(quantize=Quantise.NONE), PortType.INT8, "--io int8"),
    ],
)
def test_what_needs_quantisation(flags: ModelFlags, io: PortType, option: str) -> None:
    text = f"^{option} is for --quantize pow2 and multiplier, not for none$"
    with pytest.raises(CommandError, match=text):
        flags.options(0, io=io)


def test_formats_of_weights_need_quantisation() -> None:
    weights = WeightFlags(weights=WeightKind.INT4)
    with pytest.raises(CommandError, match=r"^--weights is for --quantize pow2 and multiplier"):
        ModelFlags(quantize=Quantise.NONE).options(0, weights)
    assert ModelFlags(quantize=Quantise.POW2).options(0, weights).weights != INT8_WEIGHTS


def said(*arguments: str, device: DeviceName = DeviceName.CPU, given: tuple[str, ...] = ()) -> str:
    """What a command says of options of the accelerator."""
    app = typer.Typer()

    @app.command()
    def command(
        context: typer.Context,
        engine: str = "cycle",
        hiding: Annotated[bool, typer.Option(" /--no-latency-hiding")] = True,
    ) -> None:
        names = {"engine": "--engine", "hiding": "--no-latency-hiding", "none": "--none"}
        typer.echo(f"{on_command_line(context, names)} {engine} {hiding}")
        try:
            refuse_accelerator_options(context, given, device)
        except CommandError as error:
            typer.echo(str(error))

    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_options_on_the_command_line() -> None:
    """With their default value, too."""
    assert said() == "[] cycle True\n"
    text = "--engine is for --device accelerator: with --device cpu all is on the CPU"
    assert said("--engine", "cycle") == f"['--engine'] cycle True\n{text}\n"
    assert "--no-latency-hiding is for --device" in said("--no-latency-hiding")
    found = said("--engine", "rtl", device=DeviceName.CUDA, given=("--why",))
    assert found.splitlines()[1] == (
        "--why is for --device accelerator: with --device cuda all is on the GPU"
    )
    assert said(device=DeviceName.OPENCL) == "[] cycle True\n"
