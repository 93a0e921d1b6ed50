#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A PyTorch program that does what it is told: a line is a command, the answer a line `done JSON`.

What a check has to find again in a trace runs under marked_steps().  Launches nothing by itself.
"""

import ctypes
import json
import os
import struct
import sys
import time

import torch

from kinds import KINDS, Unavailable

WARM_UP = 3  # then optimizers have their state, allocators their memory, and libraries have chosen their kernels

steps = {}
session = None


def reason(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200] if lines else ''}"


class Counted:
    """A step, and how often it was made since it is warm."""

    def __init__(self, step):
        self.step, self.count = step, 0

    def __call__(self):
        self.count += 1
        return self.step()


def launched(name):
    """How many steps of that kind there were."""
    return steps[name].count


def make(*names):
    """Prepares kinds of work; {kind: why not} of those that are not to be had here."""
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
        except Exception as error:  # whatever a library says when it does not work here
            missing[name] = reason(error)
    return missing


def marked_steps(step, count):
    for _ in range(count):
        step()
    torch.cuda.synchronize()


def steps_in_session(step, count):
    """A second mark: while another profiler records."""
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
    """The same without a mark."""
    for name in names or steps:
        for _ in range(int(count)):
            steps[name]()
    torch.cuda.synchronize()


def run_while(wanted, name, pause_us):
    """Steps, and how many there were and how long the longest one took."""
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
    """Nanoseconds that a step takes, by the clock on the wall."""
    step, count = steps[name], int(count)
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start) / count


def between_events(step):
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    step()  # the GPU is busy when the first event comes, so that it marks the start of work and not of waiting
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
    """Trains from the same begin until the file is there; every loss, bit for bit."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    step, losses = KINDS["training"](), []
    while not os.path.exists(stop_file):
        losses.append(bits(step()))
    return losses


def memory():
    """Free bytes on the GPU, with nothing of PyTorch's own kept back."""
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
    """Calls a function of the kit's CUPTI probe; it answers with JSON in a buffer."""
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
