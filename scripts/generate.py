"""`tandem generate`: text from a language model."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tandem.base.files import check_destination
from tandem.base.input_files import read_input
from tandem.compiler.models.decoders import DECODERS
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.runtime.decoder import (
    BYTES,
    DecoderError,
    Sampler,
    check_length,
    check_request,
    check_tokens,
    is_decoder,
    read_decoder,
    tokens_of,
    write_decoder,
)
from tandem.runtime.inputs import read_arrays
from tandem.scripts.completion import complete_decoder
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
    DEFAULT_CONFIG,
    DEFAULT_ENGINE,
    DEFAULT_MEMORY,
    ArtifactConfigOption,
    DebugOption,
    EngineOption,
    JsonOption,
    MemoryOption,
)
from tandem.scripts.outputs import ForceOption, check_outputs, config_input
from tandem.scripts.progress import show_activity
from tandem.scripts.records import RecordsOption, records_input, warn, with_records
from tandem.scripts.weight_options import INT8_FLAGS, WeightFlags
from tandem.workbench.decoders.compiling import (
    DEFAULT_CHUNK,
    DEFAULT_CONTEXT,
    DecoderOptions,
    compile_decoder,
    context_of,
)
from tandem.workbench.decoders.generated import Generated, make_text
from tandem.workbench.decoders.sources import open_decoder
from tandem.workbench.devices import GPUS, Accelerator, Cpu, TargetDevice
from tandem.workbench.platform import Platform

_NOISE = (
    "calibrated with random tokens: int8 scales were not measured with texts of yours, and scores "
    "may be far from float32's. --calibrate FILE takes one"
)
_LONGEST_TEXT = 1 << 28
"""Bytes of the longest text to calibrate with."""


def parse_tokens(text: str) -> tuple[int, ...]:
    """The value of `--prompt-tokens`: numbers, separated by commas."""
    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no list of tokens, such as 1,2,3") from None


_Prompt: TypeAlias = str | tuple[int, ...]


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
            help="A text to measure scales with: a file of text, if tokens are bytes, or .npy with "
            "numbers of tokens (default: random tokens).",
        ),
    ] = None,
    formats: WeightFlags = INT8_FLAGS,
    device: DeviceOption = DeviceName.ACCELERATOR,
    config: ArtifactConfigOption = None,
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
        if device.value in GPUS:
            raise CommandError(
                f"--device {device.value}: language models run on the accelerator or on the CPU"
            )
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
            text = None if calibrate is None else _text(calibrate)
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
        # Parsed: typer's types know nothing of that.
        begin: _Prompt = prompt if prompt_tokens is None else prompt_tokens  # type: ignore[assignment]
        if is_decoder(model):
            _check_for_artifact(model, given)
            artifact = read_decoder(model)
        else:
            source = open_decoder(model)
            # Before it is compiled, which may take minutes.
            most = context_of(source, longest)
            if source.vocabulary is not None:
                known = _tokens(source.name, source.vocabulary, begin)
                check_tokens(source.name, source.vocabulary, known)
                check_length(source.name, most, len(known), tokens)
            how, on = options(), target()
            with show_activity("compile", quiet=as_json) as report:
                artifact = compile_decoder(source, how, on, report)
        numbers = _tokens(artifact.name, artifact.vocabulary, begin)
        check_request(artifact, numbers, tokens)
        if output is not None:
            write_decoder(artifact, output)
        made_from = artifact.decode.manifest.provenance
        if made_from.options.get("texts") == "noise" and made_from.digest is not None:
            warn(_NOISE)
        if as_json:
            print_json(make_text(artifact, platform, numbers, tokens, sampler).as_json())
            return
        show = _Shown(artifact.vocabulary)
        for token in numbers:
            show.token(token)
        made = make_text(artifact, platform, numbers, tokens, sampler, show.token)
        show.end()
        typer.echo(_summary(made))


def _check_for_artifact(model: str, given: Mapping[str, bool]) -> None:
    """Raise `CommandError` if options of compilation were given with an artifact."""
    for option, is_given in given.items():
        if is_given:
            raise CommandError(f"{option} is for models: {model} is an artifact, compiled already")


def _tokens(name: str, vocabulary: int, prompt: _Prompt) -> tuple[int, ...]:
    """The tokens of a prompt; raises `CommandError` for a text where tokens are no bytes."""
    if not isinstance(prompt, str):
        return prompt
    try:
        return tokens_of(name, vocabulary, prompt)
    except DecoderError as error:
        raise CommandError(f"{error}: --prompt-tokens N,N,...") from None


def _text(path: Path) -> bytes | list[int]:
    """The tokens of `--calibrate`."""
    if path.suffix.lower() != ".npy":
        return read_input(path, _LONGEST_TEXT)
    array = read_arrays([path], ["tokens"])["tokens"]
    if array.dtype.kind not in "iu":
        raise CommandError(f"{path}: {array.dtype} is no kind of whole numbers of tokens")
    return [int(token) for token in array.reshape(-1)]


def _file(model: str) -> Path | None:
    return None if model in DECODERS else Path(model)


def shown(text: str) -> str:
    """A text as a terminal shows it: characters that would command the terminal are escapes."""
    return "".join(
        one if one in "\n\t" or one.isprintable() else one.encode("unicode_escape").decode()
        for one in text
    )


class _Shown:
    """Prints tokens as they come: as text if they are bytes, else as numbers."""

    def __init__(self, vocabulary: int) -> None:
        self._bytes = vocabulary == BYTES
        self._decoder = getincrementaldecoder("utf-8")("backslashreplace")

    def token(self, token: int) -> None:
        """Print a token, with the bytes before it that are no whole character without it."""
        text = self._decoder.decode(bytes([token])) if self._bytes else f"{token} "
        typer.echo(shown(text), nl=False)

    def end(self) -> None:
        """End the line."""
        typer.echo(self._decoder.decode(b"", final=True))


def _summary(made: Generated) -> str:
    """The cycles of the prompt and of the tokens behind it."""
    first, *others = made.made
    calls = f"{_count(len(made.prompt), 'token')} in {_count(first.calls, 'call')}"
    lines = [f"{made.model}: context {made.context}"]
    if first.cycles is None:
        return f"{lines[0]}; prompt of {calls}, {_count(len(made.made), 'token')} made"
    lines.append(f"prompt        {calls}, {first.cycles:,} cycles")
    known = [each.cycles for each in others if each.cycles is not None]
    if known:
        least, most = min(known), max(known)
        span = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        lines.append(f"other tokens  {len(known)}, {span} cycles each")
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
