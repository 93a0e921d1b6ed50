# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A PyTorch program that measures the cost of its ops: takes lines on standard input, and answers each with a line.

    ops_target.py HAMMER.so LIBCUDART

    add N ROUNDS PROFILER    least nanoseconds of a torch.add of 4 elements, of ROUNDS times N
    number N ROUNDS PROFILER the same for an op to which autograd gives a number
    train N ROUNDS PROFILER  the same for a step of training
    launch N ROUNDS none     the same with a launch of no kernel after each op
    observed                 answers once PyTorch's ops have an observer
    storm THREADS CALLS N    THREADS threads each make CALLS calls of a scripted function with N ops, without the GIL:
                             answers with the number of ops and the time in seconds

PROFILER: none, or torch.profiler: plain, or full (with shapes, stacks and memory).
"""
import ctypes
import sys
import threading
import time

import torch
from torch.profiler import ProfilerActivity, profile

PROFILERS = {"plain": {}, "full": {"record_shapes": True, "with_stack": True, "profile_memory": True}}
FOUR = torch.ones(4)
LEARNED = torch.ones(4, requires_grad=True)
OPS_OF_A_CALL = 1  # the op of the scripted function itself


def add(count, a=FOUR):
    function = torch.add
    begin = time.perf_counter_ns()
    for _ in range(count):
        function(a, a)
    return (time.perf_counter_ns() - begin) / count


def number(count):
    return add(count, LEARNED)


class Launch:
    def __init__(self, hammer, cudart):
        self.hammer = ctypes.CDLL(hammer).hammer
        self.hammer.restype = ctypes.c_double
        self.hammer.argtypes = [ctypes.c_void_p, ctypes.c_long]
        self.launch = ctypes.cast(ctypes.CDLL(cudart).cudaLaunchKernel, ctypes.c_void_p)

    def __call__(self, count):
        a, function, hammer, launch = LEARNED, torch.add, self.hammer, self.launch
        begin = time.perf_counter_ns()
        for _ in range(count):
            function(a, a)
            hammer(launch, 1)
        return (time.perf_counter_ns() - begin) / count


class Training:
    def __init__(self):
        self.model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01)
        self.x = torch.randn(8, 16)

    def __call__(self, count):
        begin = time.perf_counter_ns()
        for _ in range(count):
            self.optimizer.zero_grad()
            self.model(self.x).sum().backward()
            self.optimizer.step()
        return (time.perf_counter_ns() - begin) / count


def measure(work, count, rounds, profiler):
    if profiler == "none":
        return min(work(count) for _ in range(rounds))
    with profile(activities=[ProfilerActivity.CPU], **PROFILERS[profiler]):
        return min(work(count) for _ in range(rounds))


@torch.jit.script
def many(a: torch.Tensor, count: int):
    x = a
    for _ in range(count):
        x = torch.add(a, x)
    return x


def storm(threads, calls, count):
    def run():
        for _ in range(calls):
            many(FOUR, count)

    workers = [threading.Thread(target=run) for _ in range(threads)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * calls * (count + OPS_OF_A_CALL), time.perf_counter() - begin


def main():
    torch.set_num_threads(1)
    has_observers = ctypes.CDLL(f"{torch.__path__[0]}/lib/libtorch_cpu.so")._ZN2at18hasGlobalCallbacksEv
    has_observers.restype = ctypes.c_bool
    works = {"add": add, "number": number, "train": Training(), "launch": Launch(*sys.argv[1:])}
    for _ in range(4):
        many(FOUR, 10)  # TorchScript optimizes during the first calls
    print("ready", flush=True)
    for line in sys.stdin:
        what, *numbers = line.split()
        if what == "observed":
            while not has_observers():
                time.sleep(0.01)
            print("observed", flush=True)
        elif what == "storm":
            print(*storm(*map(int, numbers)), flush=True)
        else:
            print(measure(works[what], int(numbers[0]), int(numbers[1]), numbers[2]), flush=True)


main()
