# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Takes orders on standard input.  "spin N" makes N additions, "switch N" makes N round trips of two threads that share
one CPU: the answer is the CPU time in seconds, which does not depend on other processes.  "pauses N" runs for N
seconds: the answer is the time in seconds for which it was stopped, that is neither had a CPU nor waited for one."""
import os
import sys
import threading
import time


def spin(count):
    x = 0
    for i in range(count):
        x += i


def answers(from_pipe, to_pipe, count):
    for _ in range(count):
        os.write(to_pipe, os.read(from_pipe, 1))


def switch(count):
    """Each round trip is two context switches on the CPU to which both threads are bound, and two wake-ups."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    there, back = os.pipe(), os.pipe()
    thread = threading.Thread(target=answers, args=(there[0], back[1], count))
    thread.start()
    for _ in range(count):
        os.write(there[1], b"x")
        os.read(back[0], 1)
    thread.join()
    for pipe in (*there, *back):
        os.close(pipe)
    os.sched_setaffinity(0, cpus)


def accounted():
    """Seconds for which it had a CPU or waited for one, by the kernel: proc(5), schedstat."""
    with open("/proc/thread-self/schedstat") as file:
        return sum(int(word) for word in file.read().split()[:2]) / 1e9


def pauses(seconds):
    start, before = time.perf_counter(), accounted()
    while time.perf_counter() < start + seconds:
        pass
    return time.perf_counter() - start - (accounted() - before)


for line in sys.stdin:
    word, count = line.split()
    start = time.process_time()
    stopped = {"spin": spin, "switch": switch, "pauses": pauses}[word](int(count))
    print(time.process_time() - start if stopped is None else stopped, flush=True)
