"""`tandem generate`: text from a language model."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tandem.base.files import check_destination
from tandem.base.input_files import read_input
from tandem.compiler.models.decoders import DECODERS
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.decoder import (
    BYTES,
    DecoderArtifact,
    Sampler,
    check_request,
    is_decoder,
    read_decoder,
    tokens_of,
    write_decoder,
)
from tandem.runtime.errors import RunError
from tandem.scripts.completion import complete_config, complete_decoder
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.errors import CommandError
from tandem.scripts.model_options import (
    DeviceName,
    DeviceOption,
    LatencyHidingOption,
    Quantise,
    QuantiseOption,
    ThreadsOption,
    refuse_accelerator_options,
)
from tandem.scripts.option_groups import with_groups
from tandem.scripts.options import (
    CONFIGS,
    DEFAULT_CONFIG,
    DEFAULT_ENGINE,
    DEFAULT_MEMORY,
    DebugOption,
    EngineOption,
    JsonOption,
    MemoryOption,
)
from tandem.scripts.outputs import ForceOption, check_outputs, config_input
from tandem.scripts.progress import show_activity
from tandem.scripts.records import RecordsOption, records_input, with_records
from tandem.scripts.weight_options import INT8_FLAGS, WeightFlags
from tandem.workbench.decoders.compiling import (
    DEFAULT_CHUNK,
    DEFAULT_CONTEXT,
    DecoderOptions,
    compile_decoder,
)
from tandem.workbench.decoders.generated import Generated, make_text
from tandem.workbench.decoders.sources import open_decoder
from tandem.workbench.devices import Accelerator, Cpu, TargetDevice
from tandem.workbench.platform import Platform

_LONGEST_TEXT = 1 << 28
"""Bytes of the longest text to calibrate with."""


def parse_tokens(text: str) -> tuple[int, ...]:
    """The value of `--prompt-tokens`: numbers, separated by commas."""
    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no list of tokens, such as 1,2,3") from None


@dataclass(frozen=True, slots=True)
class _Compiling:
    """The options of compiling a decoder, which an artifact has no use for."""

    given: dict[str, bool]
    options: Callable[[], DecoderOptions]
    device: Callable[[], TargetDevice]


@with_groups
def command(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|ARTIFACT",
            autocompletion=complete_decoder,
            help=f"A built-in decoder ({', '.join(DECODERS)}); an ONNX file with inputs input_ids, "
            "position_ids, attention_mask and past_key_values.*, and outputs logits and present.*; "
            "or what -o wrote.",
        ),
    ],
    prompt: Annotated[
        str | None,
        typer.Option("--prompt", metavar="TEXT", help="The text's beginning, if tokens are bytes."),
    ] = None,
    prompt_tokens: Annotated[
        str | None,
        typer.Option(
            "--prompt-tokens",
            metavar="N,N,...",
            parser=parse_tokens,
            help="The text's beginning, as numbers of tokens.",
        ),
    ] = None,
    tokens: Annotated[
        int, typer.Option("--tokens", metavar="N", min=1, help="How many tokens to make.")
    ] = 32,
    temperature: Annotated[
        float,
        typer.Option(
            "--temperature",
            metavar="T",
            min=0.0,
            help="0: always the best token; else one is drawn, by scores divided by T.",
        ),
    ] = 0.0,
    top_k: Annotated[
        int | None,
        typer.Option(
            "--top-k", metavar="K", min=1, help="Draw from the best K tokens (default: from all)."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Seed of the tokens that are drawn.")
    ] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="ARTIFACT", readable=False, help="Write the compiled decoder."
        ),
    ] = None,
    longest: Annotated[
        int | None,
        typer.Option(
            "--context",
            metavar="N",
            min=2,
            help="The most tokens of a text, prompt included (default: "
            f"{DEFAULT_CONTEXT}, or what the model allows).",
        ),
    ] = None,
    chunk: Annotated[
        int | None,
        typer.Option(
            "--prefill",
            metavar="N",
            min=1,
            help=f"The tokens of the prompt that are read in one call (default: {DEFAULT_CHUNK}).",
        ),
    ] = None,
    quantize: QuantiseOption = None,
    calibrate: Annotated[
        Path | None,
        typer.Option(
            "--calibrate",
            metavar="FILE",
            readable=False,
            help="A text to measure scales with, if tokens are bytes (default: random tokens).",
        ),
    ] = None,
    formats: WeightFlags = INT8_FLAGS,
    device: DeviceOption = DeviceName.ACCELERATOR,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="NAME|FILE",
            autocompletion=complete_config,
            help=f"Hardware configuration: {CONFIGS} (default: {DEFAULT_CONFIG}, or an "
            "artifact's own).",
        ),
    ] = None,
    engine: EngineOption = DEFAULT_ENGINE,
    memory: MemoryOption = DEFAULT_MEMORY,
    hiding: LatencyHidingOption = True,
    records: RecordsOption = None,
    threads: ThreadsOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make text with a language model, token by token.

    A model is compiled as two functions: one reads the prompt, several tokens in a call, the other
    makes one token. Keys and values of all tokens so far stay where both read them. Cycles are the
    accelerator's. Tokens are bytes where the model has 256; random weights of built-in decoders
    are those of seed 0.
    """
    with errors_in_one_line(debug):
        if (prompt is None) == (prompt_tokens is None):
            raise CommandError("a text begins with --prompt TEXT or with --prompt-tokens N,N,...")
        on_cpu = device is DeviceName.CPU
        if on_cpu:
            refuse_accelerator_options(context)
        check_destination(output)
        sources = [calibrate, config_input(config), records_input(records)]
        check_outputs({"--output": output}, [_file(model), *sources], force=force)
        platform = Platform(engine, parse_memory(memory), threads)
        sampler = Sampler(temperature, top_k, seed)

        def options() -> DecoderOptions:
            mode = (quantize or Quantise.MULTIPLIER).mode
            if mode is None and calibrate is not None:
                raise CommandError("--calibrate is for --quantize pow2 and multiplier, not none")
            text = None if calibrate is None else read_input(calibrate, _LONGEST_TEXT)
            weights = formats.options(calibrated=text is not None, quantised=mode is not None)
            return DecoderOptions(longest, chunk or DEFAULT_CHUNK, mode, text, 0, weights)

        def target() -> TargetDevice:
            beside = Cpu(threads)
            if on_cpu:
                return with_records(beside, records)
            own = load_config(config or DEFAULT_CONFIG)
            return with_records(Accelerator(own, platform.memory, hiding), records)

        given = {
            **formats.given,
            "--context": longest is not None,
            "--prefill": chunk is not None,
            "--quantize": quantize is not None,
            "--calibrate": calibrate is not None,
            "--config": config is not None,
            "--no-latency-hiding": not hiding,
            "--records": records is not None,
            "--device cpu": on_cpu,
        }
        artifact = _artifact(model, _Compiling(given, options, target), quiet=as_json)
        if output is not None:
            write_decoder(artifact, output)
        numbers: tuple[int, ...] = tuple(prompt_tokens or ())  # type: ignore[arg-type]  # parsed
        if prompt is not None:
            try:
                numbers = tokens_of(artifact.name, artifact.vocabulary, prompt)
            except RunError as error:
                raise CommandError(f"{error}: --prompt-tokens N,N,...") from None
        check_request(artifact, numbers, tokens)
        if as_json:
            print_json(make_text(artifact, platform, numbers, tokens, sampler).as_json())
            return
        show = _Shown(artifact.vocabulary)
        for token in numbers:
            show.token(token)
        made = make_text(artifact, platform, numbers, tokens, sampler, show.token)
        show.end()
        typer.echo(_summary(made))


def _artifact(model: str, compiling: _Compiling, *, quiet: bool) -> DecoderArtifact:
    """The decoder of a file, or a model compiled."""
    if is_decoder(model):
        for option, is_given in compiling.given.items():
            if is_given:
                raise CommandError(
                    f"{option} is for models: {model} is an artifact, compiled already"
                )
        return read_decoder(model)
    options, device = compiling.options(), compiling.device()
    with show_activity("compile", quiet=quiet) as report:
        return compile_decoder(open_decoder(model), options, device, report)


def _file(model: str) -> Path | None:
    return None if model in DECODERS else Path(model)


class _Shown:
    """Prints tokens as they come: as text if they are bytes, else as numbers."""

    def __init__(self, vocabulary: int) -> None:
        self._bytes = vocabulary == BYTES
        self._decoder = getincrementaldecoder("utf-8")("backslashreplace")

    def token(self, token: int) -> None:
        """Print a token, with the bytes before it that are no whole character without it."""
        text = self._decoder.decode(bytes([token])) if self._bytes else f"{token} "
        typer.echo(text, nl=False)

    def end(self) -> None:
        """End the line."""
        typer.echo(self._decoder.decode(b"", final=True))


def _summary(made: Generated) -> str:
    """The cycles of the prompt and of the tokens behind it."""
    first, *others = made.made
    calls = f"{len(made.prompt)} tokens in {first.calls} calls"
    lines = [f"{made.model}: context {made.context}"]
    if first.cycles is None:
        return f"{lines[0]}; prompt of {calls}, {len(made.made)} tokens made"
    lines.append(f"prompt        {calls}, {first.cycles:,} cycles")
    known = [each.cycles for each in others if each.cycles is not None]
    if known:
        least, most = min(known), max(known)
        span = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        lines.append(f"other tokens  {len(known)}, {span} cycles each")
    return "\n".join(lines)
