# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs PyTorch ops on the CPU forever.  Answers `done` to each line: `observed` and `unobserved` wait for that state,
`worker` forks a child that also works until this process ends; `time N` prints the least ns per op in rounds of N."""

import ctypes
import os
import sys
import threading
import time

import torch

observed = ctypes.CDLL(f"{torch.__path__[0]}/lib/libtorch_cpu.so")._ZN2at18hasGlobalCallbacksEv
observed.restype = ctypes.c_bool
ROUNDS = 9


def work():
    x = torch.ones(2)
    while True:
        x = torch.relu(x)


def wait(wanted):
    while observed() != wanted:
        time.sleep(0.001)


def worker():
    reads, writes = os.pipe()
    if os.fork():
        os.close(reads)  # the other end stays open as long as this process lives
        return
    os.close(writes)
    threading.Thread(target=work, daemon=True).start()
    os.read(reads, 1)
    os._exit(0)


def least_ns(count):
    x, rounds = torch.ones(2), []
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(count):
            torch.relu(x)
        rounds.append((time.perf_counter_ns() - begin) / count)
    return min(rounds)


def main():
    torch.set_num_threads(1)
    print("ready", flush=True)
    for line in sys.stdin:
        name, *arguments = line.split()
        if name == "work":
            threading.Thread(target=work, daemon=True).start()
        elif name in ("observed", "unobserved"):
            wait(name == "observed")
        elif name == "worker":
            worker()
        elif name == "time":
            print(f"{least_ns(int(arguments[0])):.0f}", flush=True)
        print("done", flush=True)
    os._exit(0)  # threads are within ops


main()
