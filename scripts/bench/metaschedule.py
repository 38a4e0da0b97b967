"""TVM's MetaSchedule on one ONNX model, for `rivals`: run by the Python of TVM's own environment.

    python -m venv TVM
    TVM/bin/pip install apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post0
    TVM/bin/pip install cloudpickle onnx psutil xgboost-cpu
    TVM/bin/python scripts/bench/metaschedule.py MODEL.onnx LIBRARY.so --trials 200 --mcpu znver4
    TVM/bin/python scripts/bench/metaschedule.py MODEL.onnx LIBRARY.so

It imports nothing of this project. The first command tunes, writes the library, and prints a line
of JSON: the trials, and how many of them failed; if no trial could be measured it says so, and
exits with 1. The second one runs what a library has, and prints the seconds of a run of the whole
model. (apache-tvm-ffi 0.1.15.post2 ends the process when records are saved.)
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

_BATCH = 64
"""The trials between two searches, as TVM has them by default."""
_REPEATS = 15
_LEAST_MILLISECONDS = 20
"""How long each repeat measures, at least."""
_LONGEST = 300
"""Seconds that a trial may take to be built, and to be run."""
_ENDLESS = 1e9
"""Seconds that stand for a failure."""


def _is_measured(seconds: Iterable[Any] | None) -> bool:
    """Whether a trial was built and run: others have no time, or an endless one."""
    return any(float(each) < _ENDLESS for each in seconds or ())


def _tune(model: Path, library: Path, trials: int, mcpu: str, seed: int) -> int:
    """Tune each operator with so many trials, and write the library of the best."""
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.s_tir import meta_schedule as ms

    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu, "num-cores": 1})
    module = from_onnx(onnx.load(model), keep_params_in_input=False)
    with target:
        module = relax.get_pipeline("zero")(module)
    tasks = ms.relax_integration.extract_tasks(module, target)
    with TemporaryDirectory() as folder:
        tuned, weights = ms.relax_integration.extracted_tasks_to_tune_contexts(
            tasks, folder, seed=seed
        )
        database = ms.tune.tune_tasks(
            tasks=tuned,
            task_weights=weights,
            work_dir=folder,
            max_trials_global=trials * len(tuned),
            max_trials_per_task=trials,
            num_trials_per_iter=min(_BATCH, trials),
            # Its limits are 30 seconds, which a busy machine takes to start the processes.
            builder=ms.builder.LocalBuilder(max_workers=1, timeout_sec=_LONGEST),
            runner=ms.runner.LocalRunner(timeout_sec=_LONGEST),
        )
        records = list(database.get_all_tuning_records())
        failed = sum(not _is_measured(each.run_secs) for each in records)
        if failed == len(records):
            print(f"error: none of {len(records)} trials could be measured", file=sys.stderr)
            return 1
        with target, database:
            applied = relax.transform.MetaScheduleApplyDatabase()(module)
        tvm.compile(applied, target).export_library(str(library))
    found = {"trials": len(records), "failed": failed, "version": tvm.__version__}
    print(json.dumps(found))
    return 0


def _run(model: Path, library: Path) -> int:
    """Run a library on noise."""
    import numpy as np
    import onnx
    import tvm
    from tvm import relax

    device = tvm.cpu()
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(library)), device)
    random, graph = np.random.default_rng(0), onnx.load(model).graph
    constants = {each.name for each in graph.initializer}
    inputs = [
        tvm.runtime.tensor(
            random.standard_normal(
                [each.dim_value for each in data.type.tensor_type.shape.dim]
            ).astype("float32")
        )
        for data in graph.input
        if data.name not in constants
    ]
    timed = machine.time_evaluator(
        "main", device, number=1, repeat=_REPEATS, min_repeat_ms=_LEAST_MILLISECONDS
    )
    print(json.dumps({"seconds": median(timed(*inputs).results)}))
    return 0


def main() -> int:
    """Tune, or run what was tuned."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("library", type=Path, help="written with --trials, run without")
    parser.add_argument("--trials", type=int, help="of each operator that is tuned")
    parser.add_argument("--mcpu", default="", help="LLVM's name of the processor")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.trials is None:
        return _run(asked.model, asked.library)
    return _tune(asked.model, asked.library, asked.trials, asked.mcpu, asked.seed)


if __name__ == "__main__":
    sys.exit(main())
