"""TVM's MetaSchedule on one ONNX model, for `rivals`: run by the Python of TVM's own environment.

    python -m venv TVM
    TVM/bin/pip install apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post0
    TVM/bin/pip install cloudpickle onnx psutil xgboost-cpu
    TVM/bin/python scripts/bench/metaschedule.py MODEL.onnx --trials 200 --mcpu znver4

It imports nothing of this project, and prints one line of JSON: the seconds of a run of the whole
model, and of its kernels alone by the best trial of each; the trials, and how many of them failed.
(apache-tvm-ffi 0.1.15.post2 ends the process when records are saved.) If no trial could be measured
it says so, and exits with 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any

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


def _kernel_seconds(records: Iterable[Any]) -> float:
    """The seconds of all kernels, each by its best trial."""
    best: list[tuple[Any, float]] = []
    for record in records:
        if not _is_measured(record.run_secs):
            continue
        seconds = fmean(float(each) for each in record.run_secs)
        for at, (workload, least) in enumerate(best):
            if workload.same_as(record.workload):
                best[at] = (workload, min(least, seconds))
                break
        else:
            best.append((record.workload, seconds))
    return sum(seconds for _, seconds in best)


def main() -> int:
    """Tune, build and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--trials", type=int, required=True, help="of each operator that is tuned")
    parser.add_argument("--mcpu", required=True, help="LLVM's name of the processor")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()

    import numpy as np
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.s_tir import meta_schedule as ms

    target = tvm.target.Target({"kind": "llvm", "mcpu": asked.mcpu, "num-cores": 1})
    module = from_onnx(onnx.load(asked.model), keep_params_in_input=False)
    with target:
        module = relax.get_pipeline("zero")(module)
    tasks = ms.relax_integration.extract_tasks(module, target)
    with TemporaryDirectory() as folder:
        tuned, weights = ms.relax_integration.extracted_tasks_to_tune_contexts(
            tasks, folder, seed=asked.seed
        )
        database = ms.tune.tune_tasks(
            tasks=tuned,
            task_weights=weights,
            work_dir=folder,
            max_trials_global=asked.trials * len(tuned),
            max_trials_per_task=asked.trials,
            num_trials_per_iter=min(16, asked.trials),
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
        built = tvm.compile(applied, target)
    device = tvm.cpu()
    machine = relax.VirtualMachine(built, device)
    random = np.random.default_rng(0)
    inputs = [
        tvm.runtime.tensor(
            random.standard_normal([int(size) for size in data.ty.shape.values]).astype("float32")
        )
        for data in module["main"].params
    ]
    timed = machine.time_evaluator(
        "main", device, number=1, repeat=_REPEATS, min_repeat_ms=_LEAST_MILLISECONDS
    )
    found = timed(*inputs)
    print(
        json.dumps(
            {
                "seconds": median(found.results),
                "kernels": _kernel_seconds(records),
                "tasks": len(tuned),
                "trials": len(records),
                "failed": failed,
                "version": tvm.__version__,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
