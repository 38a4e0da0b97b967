"""Trainings: what is learned, what a checkpoint keeps, and what is refused."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.compiler.graph.gradients import Adam, Sgd
from tandem.workbench.errors import TrainingError
from tandem.workbench.training.checkpoints import State
from tandem.workbench.training.losses import TARGET, Loss
from tandem.workbench.training.samples import Array, ArraySamples
from tandem.workbench.training.schedules import Curve, Schedule
from tandem.workbench.training.trainer import Checkpoints, Trainer, TrainingOptions
from tests.support.compiler.graph.graphs import graph

NETWORK = """
func @f(x: float32[8, 2], w: float32[6, 2], b: float32[6], v: float32[2, 6]) -> float32[8, 2]:
  h = dense(x, w, b)
  a = tanh(h)
  y = dense(a, v)
  return y
"""
OPTIONS = TrainingOptions(optimiser=Adam(), rate=0.05, batch=8, epochs=3, seed=5, threads=1)


def weights() -> dict[str, Array]:
    random = np.random.default_rng(0)
    shapes = {"w": (6, 2), "b": (6,), "v": (2, 6)}
    return {
        name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }


def samples(number: int = 45) -> ArraySamples:
    x = np.random.default_rng(1).standard_normal((number, 2)).astype(np.float32)
    return ArraySamples({"x": x, TARGET: (x[:, 0] > x[:, 1]).astype(np.int64)})


def trainer(options: TrainingOptions = OPTIONS) -> Trainer:
    seen, unseen = samples().split(5, 0)
    return Trainer(graph(NETWORK), weights(), seen, options, held_out=unseen)


class Stopped(Exception):
    """What ends a training in the middle."""


@pytest.fixture(scope="module")
def whole() -> State:
    """A training that nothing interrupts."""
    return trainer().run()


def test_it_learns(whole: State) -> None:
    assert whole.step == 15  # 5 batches of 8 of 40 samples, 3 times
    first, _, last = whole.epochs
    assert [row.step for row in whole.epochs] == [5, 10, 15]
    assert last.loss < first.loss
    _, unseen = samples().split(5, 0)
    x, w, b, v = unseen.arrays["x"], *(whole.arrays[name] for name in "wbv")
    right = (np.tanh(x @ w.T + b) @ v.T).argmax(1) == unseen.arrays[TARGET]
    assert last.accuracy == pytest.approx(right.mean())
    assert last.held_out is not None
    assert first.held_out is not None
    assert last.held_out < first.held_out


@pytest.mark.parametrize("last", [2, 5, 7])
def test_resumed_is_equal_to_the_bit(whole: State, last: int, tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "state.npz", seconds=0.0)

    def stop(state: State, total: int) -> None:
        assert total == 15
        if state.step == last:
            raise Stopped

    with pytest.raises(Stopped):
        trainer().run(kept, report=stop)
    found = trainer().run(kept)
    assert found.step == whole.step
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array)
    for one, other in zip(found.epochs, whole.epochs, strict=True):
        assert replace(one, seconds=0.0) == replace(other, seconds=0.0)


def test_an_interrupt_keeps_the_last_step(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path / "state.npz", seconds=1e9)

    def interrupt(state: State, _: int) -> None:
        if state.step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer().run(kept, report=interrupt)
    resumed = trainer()
    steps: list[int] = []
    resumed.run(kept, report=lambda state, _: steps.append(state.step))
    assert steps == [*range(5, 16)]


def test_an_interrupt_while_an_epoch_is_measured_loses_no_row(
    whole: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Checkpoints(tmp_path / "state.npz", seconds=1e9)
    stopped = trainer()
    measure, calls = stopped.measure, iter([None, None, KeyboardInterrupt()])

    def interrupted(*arguments: Any) -> tuple[float, float | None]:
        if (error := next(calls)) is not None:
            raise error
        return measure(*arguments)

    monkeypatch.setattr(stopped, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stopped.run(kept)
    found = trainer().run(kept)
    for one, other in zip(found.epochs, whole.epochs, strict=True):
        assert replace(one, seconds=0.0) == replace(other, seconds=0.0)


def test_ctrl_c_waits_for_the_end_of_a_step(
    whole: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step changes weights in place: half of one would be lost, and a step would be counted
    twice."""
    kept = Checkpoints(tmp_path / "state.npz", seconds=1e9)
    stopped = trainer()
    run, calls = stopped._step.run, iter(range(100))

    def pressed(inputs: Any) -> Any:
        if next(calls) == 6:
            signal.raise_signal(signal.SIGINT)
        return run(inputs)

    monkeypatch.setattr(stopped._step, "run", pressed)
    with pytest.raises(KeyboardInterrupt):
        stopped.run(kept)
    assert stopped.state.step == 7
    found = trainer().run(kept)
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array)


def test_a_step_in_less_memory_gives_the_same_weights() -> None:
    lets, last = [], "x"
    for at in range(8):
        lets += [f"  h{at} = dense({last}, w{at})", f"  a{at} = tanh(h{at})"]
        last = f"a{at}"
    params = ", ".join(f"w{at}: float32[16, 16]" for at in range(8))
    signature = f"func @f(x: float32[64, 16], {params}) -> float32[64, 16]:\n"
    network = graph(signature + "\n".join(lets) + f"\n  return {last}\n")
    random = np.random.default_rng(3)
    own: dict[str, Array] = {
        f"w{at}": (0.3 * random.standard_normal((16, 16))).astype(np.float32) for at in range(8)
    }
    x = random.standard_normal((128, 16)).astype(np.float32)
    data = ArraySamples({"x": x, TARGET: x})
    options = replace(OPTIONS, loss=Loss.MSE, batch=64, epochs=2, rate=0.01)
    plain = Trainer(network, own, data, options)
    assert plain.memory.again == 0
    # Weights and what the optimiser keeps are changed in place: the loss alone is new.
    assert plain.memory.run.outputs == 4
    with pytest.raises(
        TrainingError, match=r"^a step does not fit in 1 bytes: [\d,]+ is the"
    ) as error:
        Trainer(network, own, data, replace(options, memory_limit=1))
    # What lies outside of the plan is more than the limit, or it is not.
    with pytest.raises(TrainingError, match=r"^a step does not fit in [\d,]+ bytes: "):
        Trainer(network, own, data, replace(options, memory_limit=plain.memory.run.inputs + 5_000))
    least = int(re.findall(r"[\d,]+", str(error.value))[1].replace(",", ""))
    assert least < plain.memory.run.total
    limited = Trainer(network, own, data, replace(options, memory_limit=least))
    assert limited.memory.run.total <= least
    assert limited.memory.again > 0
    wanted = plain.run()
    found = limited.run()
    assert [row.loss for row in found.epochs] == [row.loss for row in wanted.epochs]
    for name, array in wanted.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array)


def test_a_time_that_ends_within_an_epoch() -> None:
    clocked = trainer(replace(OPTIONS, epochs=None, seconds=1e-9))
    state = clocked.run()
    assert state.step == 1
    (row,) = state.epochs
    assert row.step == 1
    assert (row.held_out, row.accuracy) == clocked.measure(samples().split(5, 0)[1])


def test_weights_that_are_no_numbers() -> None:
    """The loss of the last step is that of the weights before it."""
    wild = replace(
        OPTIONS,
        optimiser=Sgd(decay=10.0),
        rate=3e38,
        schedule=Schedule(Curve.CONSTANT, 0.0),
        epochs=None,
        steps=1,
    )
    training = Trainer(graph(NETWORK), weights(), samples(), wild)
    with pytest.raises(TrainingError, match=r"^\w+ has NaN or infinity after step 1: a smaller"):
        training.run()


def test_an_input_that_is_called_as_the_target_is() -> None:
    network = graph(NETWORK.replace("x", "target"))
    with pytest.raises(TrainingError, match=r"^an input of the network is called target"):
        Trainer(network, weights(), samples(), OPTIONS)


def test_a_weight_that_is_called_as_the_target_is(whole: State) -> None:
    network = graph(re.sub(r"\bv\b", "target", NETWORK))
    named = {"target" if name == "v" else name: array for name, array in weights().items()}
    seen, unseen = samples().split(5, 0)
    found = Trainer(network, named, seen, OPTIONS, held_out=unseen).run()
    np.testing.assert_array_equal(found.arrays["target"], whole.arrays["v"])


def test_checkpoints_of_others(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    kept = Checkpoints(path)
    trainer().run(kept, {"rate": "0.05"})
    with pytest.raises(TrainingError, match=r"another training: rate was 0.05, and is 0.1$"):
        trainer().run(kept, {"rate": "0.1"})
    content = path.read_bytes()
    for damaged in (b"", b"no file", content[: len(content) // 2], content[:-20]):
        path.write_bytes(damaged)
        with pytest.raises(TrainingError, match=r"state.npz: no checkpoint, or damaged"):
            trainer().run(kept, {"rate": "0.05"})


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        trainer().run(Checkpoints(Path("/dev/full"), seconds=0.0))


def test_a_checkpoint_at_the_end_that_cannot_be_written_loses_no_training() -> None:
    wanted = trainer().run()
    state = trainer().run(Checkpoints(Path("/dev/full"), seconds=1e9))
    assert state.unsaved == "[Errno 28] No space left on device: '/dev/full'"
    assert state.epochs[-1].loss == wanted.epochs[-1].loss
    for name, array in wanted.arrays.items():
        np.testing.assert_array_equal(state.arrays[name], array)


def test_a_loss_that_is_no_number() -> None:
    wild = replace(OPTIONS, loss=Loss.MSE, rate=1e30)
    x = samples().arrays["x"]
    training = Trainer(graph(NETWORK), weights(), ArraySamples({"x": x, TARGET: x}), wild)
    with pytest.raises(TrainingError, match=r"^the loss is (inf|nan) in step \d+: a smaller rate"):
        training.run()


def test_refusals() -> None:
    with pytest.raises(TrainingError, match=r"^training has one limit: epochs, steps, or a time$"):
        replace(OPTIONS, steps=5)
    with pytest.raises(TrainingError, match=r"^rate is -1.0: over 0 is allowed$"):
        replace(OPTIONS, rate=-1.0)
    with pytest.raises(TrainingError, match=r"^memory_limit is 0: over 0 is allowed$"):
        replace(OPTIONS, memory_limit=0)
    with pytest.raises(TrainingError, match=r"^6 samples are fewer than a batch of 8$"):
        Trainer(graph(NETWORK), weights(), samples(6), OPTIONS)
    wrong = {**weights(), "b": np.zeros(7, np.float32)}
    with pytest.raises(TrainingError, match=r"^b is float32\[7\], not float32\[6\]$"):
        Trainer(graph(NETWORK), wrong, samples(), OPTIONS)
    with pytest.raises(TrainingError, match=r"no array x, which the network takes"):
        Trainer(graph(NETWORK), weights(), ArraySamples({TARGET: np.zeros(8, np.int64)}), OPTIONS)
