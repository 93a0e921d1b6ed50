# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A server that sleeps until the next request and handles it, on the simulated GPU.  Its first launch belongs to no
request.  `serves.py TRUTH` writes how many requests it handled, and the CPU time of the line that keeps the GPU idle.
Standard library only."""

import json
import pathlib
import resource
import sys
import time

from sim_cuda import KERNEL, cudart

REQUESTS, SECONDS = 40, 0.006
CPU = time.CLOCK_THREAD_CPUTIME_ID


def launch():
    cudart.cudaLaunchKernel(KERNEL, 1, 1, 1, 32, 1, 1, None, 0, None)


def detokenize(until):
    while time.clock_gettime(CPU) < until: pass  # detokenize


def handle():
    launch()
    begin = time.clock_gettime(CPU)
    detokenize(begin + SECONDS)
    took = time.clock_gettime(CPU) - begin
    launch()
    return took


def switches():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def wait():
    """Sleeps until this thread left the CPU: a sleep may end while a hypervisor has the CPU."""
    before = switches()
    while switches() == before:
        time.sleep(0.002)


def serve():
    launch()
    took = 0
    for _ in range(REQUESTS):
        wait()
        took += handle()
    wait()
    return took


SUM = serve()
LINES = pathlib.Path(__file__).read_text().splitlines()
LINE = next(number for number, line in enumerate(LINES, 1) if line.endswith("# detokenize"))
pathlib.Path(sys.argv[1]).write_text(json.dumps({"requests": REQUESTS, "line": LINE, "ms": SUM * 1e3}))
