#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace on the GPU of this machine: everything joined, and the same GPU work that torch.profiler sees (root).

    GPUTRACE=build/gputrace tests/gpu/check_gpu.py [--simulated]

Without a GPU it says so and exits with 77.  --simulated tries the check itself on the simulated GPU.

CUPTI serves one tool at a time, so the two watch different runs of one deterministic program: what gputrace sees of S
steps and not of none has to be what torch.profiler sees in S steps.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOAD = ROOT / "tests/workloads/torch_train.py"
GPUTRACE = pathlib.Path(os.environ.get("GPUTRACE", ROOT / "build/gputrace")).resolve()
STEPS = 30
NO_GPU = 77
KINDS = ("kernel", "gpu_memcpy", "gpu_memset")


def run(command, **more):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=600, **more)
    if done.returncode:
        sys.exit(f"check-gpu: {' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def gpu_work(trace):
    """How often each kind of GPU work stands in a Chrome trace."""
    with open(trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return collections.Counter(event["cat"] for event in events if event.get("cat") in KINDS)


def seen_by_gputrace(folder, command, steps):
    """GPU work of a run in which every launch has to be joined; what the report says of it goes to our output."""
    trace = folder / f"gputrace-{steps}.json"
    report = run([GPUTRACE, "--agent", "require", "--min-complete", "100", "-o", trace, "--", *command, "--steps", steps])
    lines = [line for line in report.splitlines() if line.startswith(("GPU 0", "Complete:", "gputrace:"))]
    print("\n".join(lines))
    return gpu_work(trace)


def main():
    simulated = sys.argv[1:] == ["--simulated"]
    if not simulated and not pathlib.Path("/dev/nvidia0").exists():
        print("no GPU on this machine: nothing was run")
        return NO_GPU
    if os.geteuid() != 0:
        print("check-gpu: tracing needs root")
        return 1
    python = run([ROOT / "tools/get-torch"]).strip()
    command = [*([ROOT / "tests/simgpu/simgpu-run"] if simulated else []), python, WORKLOAD]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        none, some = (seen_by_gputrace(folder, command, steps) for steps in (0, STEPS))
        run([*command, "--steps", STEPS, "--profile", folder / "profiler.json"])
        profiler = gpu_work(folder / "profiler.json")
    ours = some - none
    print(f"{STEPS} steps of {WORKLOAD.name}: gputrace saw {dict(ours)}, torch.profiler {dict(profiler)}")
    if ours != profiler or ours["kernel"] < 10 * STEPS:
        print("check-gpu: they differ")
        return 1
    print("check-gpu: the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
