# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Captures a CUDA graph several times, slowly, and replays it: usage: captures_graphs.py TIMES.  Prints, as JSON, for each
capture four times (CLOCK_MONOTONIC, ns): before and after its first launch, before and after its last.  Lines for which
the test looks have a comment."""

import ctypes
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402

RELAXED = 2


def launch(stream):
    gpu.check(gpu.launch(gpu.at("replay_18us", captured=True), *gpu.SHAPE, stream))  # captured


def replay(graph, stream):
    executable = ctypes.c_void_p()
    gpu.check(gpu.instantiate(ctypes.byref(executable), graph, 0))
    gpu.check(gpu.graph_launch(executable, stream))
    gpu.check(gpu.stream_sync(stream))


def capture(stream):
    graph = ctypes.c_void_p()
    gpu.check(gpu.capture_begin(stream, RELAXED))
    times = [time.monotonic_ns()]
    launch(stream)
    times.append(time.monotonic_ns())
    time.sleep(0.05)
    times.append(time.monotonic_ns())
    launch(stream)
    times.append(time.monotonic_ns())
    gpu.check(gpu.capture_end(stream, ctypes.byref(graph)))
    replay(graph, stream)
    return times


def main():
    gpu.setup()
    stream = ctypes.c_void_p()
    gpu.check(gpu.stream_create(ctypes.byref(stream)))
    gpu.check(gpu.launch(gpu.at("loss_20us"), *gpu.SHAPE, stream))
    gpu.check(gpu.stream_sync(stream))
    print(json.dumps([capture(stream) for _ in range(int(sys.argv[1]))]), flush=True)


if __name__ == "__main__":
    main()
