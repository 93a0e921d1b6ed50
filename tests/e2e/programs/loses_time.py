# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Loses GPU time in one way, `loses_time.py CAUSE TRUTH`, and writes the loss by its own clock: TRUTH is {"line",
"least_ms", "most_ms"} - the line of the loss and its bounds; on the simulated GPU, standard library only.

Each step launches, then runs the cause.  Bounds come from measured times, so they hold on any machine."""

import ctypes
import gc
import importlib
import json
import os
import pathlib
import sys
import time

from sim_cuda import cudart, driver

STEPS, TINIES = 20, 4000
KERNEL_MS, LONG_MS = 2.0, 6.0
D2H, H2D = 2, 1

cudart.cudaMemcpyAsync.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
cudart.cudaFree.argtypes = [ctypes.c_void_p]

KERNEL = driver.sim_kernel(b"step_2000us")
LONG = driver.sim_kernel(b"step_6000us")
TINY = driver.sim_kernel(b"tiny_1us")
device = ctypes.c_void_p()
cudart.cudaMalloc(ctypes.byref(device), 64 << 20)
host = ctypes.create_string_buffer(60 << 20)


def ms():
    return time.monotonic() * 1e3


def launch(kernel=KERNEL):
    cudart.cudaLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, None, 0, None)  # late


def line_of(mark):
    """The number of the line that ends in the mark."""
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("# " + mark))


def steps_with(work):
    """STEPS times, launches a kernel and works; returns the total time of work after the kernels' ends."""
    beyond = 0
    for step in range(STEPS):
        launch()
        begin = ms()
        work(step)
        beyond += max(0, ms() - begin - KERNEL_MS - 0.01)  # the simulator's latency
    return beyond


def python():
    """What a sleep takes longer than asked for, the program may have lacked a CPU: samples tell this apart."""
    asked = 0.008
    least = steps_with(lambda step: time.sleep(asked))  # sleeps
    return {"line": line_of("late"), "sampled": line_of("sleeps"), "least_ms": least,
            "sampled_least_ms": STEPS * (asked * 1e3 - KERNEL_MS - 0.01)}


def behind_a_wait(wait):
    """The wait lasts as long as the kernel; without it the kernel would hide the sleep that follows."""
    least = 0
    for _ in range(STEPS):
        launch(LONG)
        wait()
        returned = ms()
        time.sleep(0.002)
        least += min(ms() - returned, LONG_MS)
    return least * 0.8  # part of the kernel has run before the wait begins


def sync():
    word = ctypes.c_float()

    def wait():
        cudart.cudaMemcpyAsync(ctypes.byref(word), device, 4, D2H, None)  # item
    return {"line": line_of("item"), "least_ms": behind_a_wait(wait)}


def small():
    """Launches kernels of 1 us; an unusually long launch is not counted as launch cost."""
    least, before = 0, ms()
    for _ in range(TINIES):
        launch(TINY)
        now = ms()
        least += max(0, now - before - 0.001) if now - before < 0.1 else 0
        before = now
    return {"line": line_of("late"), "least_ms": 0.8 * least}


def alloc():
    """cudaFree waits for the GPU."""
    def wait():
        pointer = ctypes.c_void_p()
        cudart.cudaMalloc(ctypes.byref(pointer), 1 << 20)
        cudart.cudaFree(pointer)  # free
    return {"line": line_of("free"), "least_ms": behind_a_wait(wait)}


def imports():
    sys.path.insert(0, sys.argv[3])
    for step in range(STEPS):
        pathlib.Path(sys.argv[3], f"slow_module_{step}.py").write_text("import time\ntime.sleep(0.006)\n")
    importlib.invalidate_caches()
    return {"line": line_of("late"), "least_ms": steps_with(lambda step: __import__(f"slow_module_{step}"))}


def garbage():
    kept = [[] for _ in range(300000)]
    gc.disable()
    least = steps_with(lambda step: gc.collect())  # collects
    return {"line": line_of("late"), "sampled": line_of("collects"), "least_ms": least, "kept": len(kept)}


def compiles():
    """The simulator needs a little over 0.4 ms for each."""
    for step in range(STEPS):
        launch(driver.sim_kernel(b"jit_kernel_%d_20us" % step))
    return {"line": line_of("late"), "least_ms": STEPS * 0.4}


def copies():
    least = 0
    for _ in range(STEPS):
        cudart.cudaMemcpyAsync(device, host, len(host), H2D, None)  # copy
        launch()
        least += len(host) / 6e6  # of pageable memory, 6 GB/s
    return {"line": line_of("copy"), "least_ms": least * 0.99}


def clean():
    for _ in range(100):
        launch()
    return {"line": 0, "least_ms": 0}


def run_ahead_of_others():
    """Raises the priority, if allowed, so that this process is not preempted during the measurement."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pass


def main():
    run_ahead_of_others()
    launch(TINY)
    begin = ms()
    truth = globals()[sys.argv[1]]()
    launch()
    lost = ms() - begin
    cudart.cudaDeviceSynchronize()
    truth["most_ms"] = lost
    pathlib.Path(sys.argv[2]).write_text(json.dumps(truth))


main()
