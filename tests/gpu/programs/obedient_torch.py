#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A PyTorch program that runs commands: it reads one a line and answers each with a line `done JSON`.

Work that a check must find in a trace runs under marked_steps().  Launches nothing without a command.
"""

import ctypes
import json
import os
import struct
import sys
import time

import torch

from kinds import KINDS, Unavailable

AHEAD = 10  # steps that the GPU has before it when a measurement begins
WARM_UP = 3  # steps until optimizers have their state, allocators their memory, and libraries chose their kernels

steps = {}
session = None


def reason(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200] if lines else ''}"


class Counted:
    """A step, and how often it ran after warm-up."""

    def __init__(self, step):
        self.step, self.count = step, 0

    def __call__(self):
        self.count += 1
        return self.step()


def launched(name):
    """The number of steps of that kind after warm-up."""
    return steps[name].count


def make(*names):
    """Prepares kinds of work; returns {kind: reason} for those that are unavailable."""
    missing = {}
    for name in names:
        try:
            step = KINDS[name]()
            for _ in range(WARM_UP):
                step()
            torch.cuda.synchronize()
            steps[name] = Counted(step)
        except Unavailable as error:
            missing[name] = str(error)
        except Exception as error:  # any error of a library that does not work here
            missing[name] = reason(error)
    return missing


def marked_steps(step, count):
    for _ in range(count):
        step()
    torch.cuda.synchronize()


def steps_in_session(step, count):
    """A second mark, for steps while another profiler records."""
    for _ in range(count):
        step()
    torch.cuda.synchronize()


def run(count, *names):
    for name in names or steps:
        marked_steps(steps[name], int(count))


def run_in_session(count, *names):
    for name in names:
        steps_in_session(steps[name], int(count))


def idle_steps(count, *names):
    """Steps without a mark."""
    for name in names or steps:
        for _ in range(int(count)):
            steps[name]()
    torch.cuda.synchronize()


def run_while(wanted, name, pause_us):
    """Runs steps; returns their number and the duration of the longest."""
    count = longest = 0
    while wanted():
        start = time.monotonic_ns()
        steps[name]()
        longest = max(longest, time.monotonic_ns() - start)
        count += 1
        time.sleep(int(pause_us) / 1e6)
    torch.cuda.synchronize()
    return {"steps": count, "longest_ns": longest}


def run_for(seconds, name, pause_us=0):
    end = time.monotonic() + float(seconds)
    return run_while(lambda: time.monotonic() < end, name, pause_us)


def run_until(stop_file, name, pause_us=0):
    return run_while(lambda: not os.path.exists(stop_file), name, pause_us)


def cost(count, name):
    """Wall-clock nanoseconds per step."""
    step, count = steps[name], int(count)
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start) / count


def between_events(step):
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(AHEAD):  # keeps the GPU busy until the first event, so that the event marks the start of work, not of a wait
        step()
    first.record()
    marked_steps_without_wait(step)
    last.record()
    torch.cuda.synchronize()
    return first.elapsed_time(last)


def marked_steps_without_wait(step):
    step()


def events(count, name):
    """GPU milliseconds between two events around one step, repeated."""
    return [between_events(steps[name]) for _ in range(int(count))]


def spaced_launch(value):
    value.mul_(1.0)
    torch.cuda.synchronize()


def spaced(seconds, pause_ms):
    """One launch at a time on an idle GPU, with pauses."""
    value = torch.ones(64, device="cuda")
    end, count = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        spaced_launch(value)
        count += 1
        time.sleep(float(pause_ms) / 1e3)
    return count


def bits(value):
    return struct.pack("<d", value).hex()


def train(stop_file):
    """Trains from a fixed seed until the file exists; returns every loss, bit for bit."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    step, losses = KINDS["training"](), []
    while not os.path.exists(stop_file):
        losses.append(bits(step()))
    return losses


def memory():
    """Free bytes on the GPU, without any memory that PyTorch keeps back."""
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0]


def profile_start(how="plain"):
    global session
    full = how == "full"
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    session = torch.profiler.profile(activities=activities, with_stack=full, record_shapes=full)
    session.__enter__()


def profile_stop(path=None):
    torch.cuda.synchronize()
    session.__exit__(None, None, None)
    if path:
        session.export_chrome_trace(path)


def probe(library, function, *arguments):
    """Calls a function of the kit's CUPTI probe, which writes JSON into a buffer."""
    answer = ctypes.create_string_buffer(1 << 16)
    words = [argument.encode() if isinstance(argument, str) else argument for argument in arguments]
    number = getattr(ctypes.CDLL(library), function)(answer, len(answer), *words)
    return {"result": number, **json.loads(answer.value.decode() or "{}")}


COMMANDS = {
    "make": make, "run": run, "run-in-session": run_in_session, "idle": idle_steps, "run-for": run_for,
    "run-until": run_until, "cost": cost, "events": events, "spaced": spaced, "train": train, "memory": memory, "profile-start": profile_start,
    "profile-stop": profile_stop, "probe": probe, "launched": launched,
}


def main():
    torch.cuda.init()
    print("done", json.dumps({"pid": os.getpid()}), flush=True)
    for line in sys.stdin:
        name, *arguments = line.split()
        print("done", json.dumps(COMMANDS[name](*arguments)), flush=True)


if __name__ == "__main__":
    main()
