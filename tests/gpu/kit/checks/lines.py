# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program without a framework that knows the line of each launch (workloads/train.py), traced from its start."""

import collections
import json
import subprocess
import sys

import place
import traces
from program import environment, traced_command

STEPS, QUICK_STEPS = 200, 60
OLDEST_RUNTIME = (12, 8)  # cudaLibraryLoadData
MOST_APART_US = 6  # starting and ending a kernel takes some us, and the clock that kernels read ticks about every us


def calls_by_stack(truth):
    """{(call, stack innermost first): count}"""
    counts = collections.Counter()
    for entry in truth["stacks"]:
        stack = ";".join(f"{frame['file']}({frame['line']}): {frame['qualname'] or frame['function']}"
                         for frame in entry["stack"])
        counts[entry["call"], stack] += entry["count"]
    return counts


def seen(trace, calls):
    return collections.Counter((call["name"], call["args"].get("Call stack", ""))
                               for call in traces.slices(trace, *traces.API) if call["name"] in calls)


def nominal_us(kernel):
    return int(kernel.rpartition("_")[2][:-len("us")])


def ground_truth(bench):
    version = tuple(int(part) for part in (bench.facts["runtime_cuda"] or "0.0").split("."))
    if version < OLDEST_RUNTIME:
        bench.found("launches by line", f"libcudart {version} cannot load its kernels", "skipped")
        return
    folder = bench.folder / "trace"
    command = [*traced_command(folder), sys.executable, "-B", place.WORKLOADS / "train.py", "--graph", "--threads", 2,
               "--steps", bench.size(STEPS, QUICK_STEPS), "--truth", folder / "truth.json",
               "--cudart", bench.facts["cudart"]]
    done = subprocess.run([str(word) for word in command], env=environment(), stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        bench.found("launches by line", f"status {done.returncode}", False)
        return
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    trace = traces.load(folder / "trace.json")
    wanted, receipt = calls_by_stack(truth), traces.receipt(trace)
    found = seen(trace, {call for call, _ in wanted})
    bench.found("launches by line", f"{sum((wanted & found).values())} of {sum(wanted.values())} calls under exactly the "
                f"stack that made them, {len(wanted)} stacks", wanted == found,
                difference=traces.difference(found, wanted))
    joined, expected = receipt["launches_joined"], receipt["launches_expected"]
    bench.found("their GPU times", f"{joined} of {expected} launches have them, {receipt['lost']} records lost",
                joined == expected > 0 and not receipt["lost"], receipt=receipt)
    durations = traces.Work([traces.operation(event, "") for event in traces.slices(trace, "kernel")]).durations()
    apart = {name: abs(median / 1e3 - nominal_us(name)) for name, median in durations.items()}
    worst = max(apart, key=apart.get, default=None)
    bench.found("kernels run as long as they should", f"{len(apart)} kernels, at most {apart[worst]:.2f} us off ({worst})"
                if worst else "no kernel seen", bool(apart) and max(apart.values()) <= MOST_APART_US,
                medians_ns=durations)
