# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Spends its time in known functions and writes how much: CPU time by its threads' clocks, waits by its own timing.

    activity.py TRUTH      reads "busy", "waits", "spins", "competes", "crowd" from standard input; answers each with "done"

busy: functions that use the CPU in the main thread, in another thread, and in a forked child.  CPython 3.6 and later.
waits: one function for each kind of wait of a thread.
spins: a child on each CPU that would run all the time; how often and for how long the kernel says that it did not.
competes: two threads that compete for the GIL.  crowd: thousands that wait for one event.
"""

import ctypes
import functools
import json
import os
import resource
import sys
import threading
import time

CPU_S = 0.6
WAIT_S = 0.05
WAITS = 6
SPIN_S = 3
COMPETE_S = 0.25
CROWD = 3000
truth = {"cpu": {}, "waits": {}}


# Not a Python function: samples would be on its line.
thread_time = functools.partial(time.clock_gettime, time.CLOCK_THREAD_CPUTIME_ID)


def thread_id():
    return ctypes.CDLL(None).syscall(186)  # gettid: threading has it from CPython 3.8 on


def note_cpu(name, spent_s):
    truth["cpu"][name] = truth["cpu"].get(name, 0) + int(spent_s * 1e9)


def note_waits(name, durations):
    durations = [ns for ns, slept in durations if slept]
    truth["waits"][name] = {"count": len(durations), "ns": sum(durations), "tid": thread_id()}


# ---- CPU ---------------------------------------------------------------------------------------

def burns_in_main(until_s):
    x = 0
    while thread_time() < until_s:
        x += 1


def burns_in_thread(until_s):
    x = 0
    while thread_time() < until_s:
        x += 1


def burns_in_child(until_s):
    x = 0
    while thread_time() < until_s:
        x += 1


def burn(function):
    start_s = thread_time()
    function(start_s + CPU_S)
    return thread_time() - start_s


def burn_in_child():
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, json.dumps(burn(burns_in_child)).encode())
        os._exit(0)
    note_cpu("burns_in_child", json.loads(os.read(read, 100)))
    os.waitpid(child, 0)
    os.close(read)
    os.close(write)


def busy():
    note_cpu("burns_in_main", burn(burns_in_main))
    thread = threading.Thread(target=lambda: note_cpu("burns_in_thread", burn(burns_in_thread)))
    thread.start()
    thread.join()
    burn_in_child()


# ---- waits -------------------------------------------------------------------------------------

def without_cpu_ns():
    """How long this thread could run and had no CPU."""
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1])


def switches():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def timed(wait, *arguments):
    """(time of the wait, without that for which this thread had no CPU; whether it left the CPU: what it waits for may
    have come before)"""
    start = int(time.monotonic() * 1e9)
    late, before = without_cpu_ns(), switches()
    wait(*arguments)
    slept = switches() > before
    late = without_cpu_ns() - late
    return int(time.monotonic() * 1e9) - start - late, slept


def sleeps(seconds):
    time.sleep(seconds)


def reads_pipe(pipe):
    os.read(pipe, 1)


def writes_pipe(pipe):
    for _ in range(WAITS):
        time.sleep(WAIT_S)
        os.write(pipe, b"x")


def takes_lock(lock):
    lock.acquire()
    lock.release()


def holds_lock(lock, taken, may_go_on):
    for _ in range(WAITS):
        with lock:
            taken.release()
            time.sleep(WAIT_S)
        may_go_on.acquire()


def waits_for_child(child):
    os.waitpid(child, 0)


def beside(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    return thread


def wait_for_pipe():
    read, write = os.pipe()
    thread = beside(writes_pipe, write)
    durations = [timed(reads_pipe, read) for _ in range(WAITS)]
    thread.join()
    return durations


def wait_for_lock():
    lock, taken, may_go_on = threading.Lock(), threading.Semaphore(0), threading.Semaphore(0)
    thread = beside(holds_lock, lock, taken, may_go_on)
    durations = []
    for _ in range(WAITS):
        taken.acquire()
        durations.append(timed(takes_lock, lock))
        may_go_on.release()
    thread.join()
    return durations


def wait_for_children():
    durations = []
    for _ in range(WAITS):
        child = os.fork()
        if not child:
            time.sleep(WAIT_S)
            os._exit(0)
        durations.append(timed(waits_for_child, child))
    return durations


def waits():
    note_waits("sleeps", [timed(sleeps, WAIT_S) for _ in range(WAITS)])
    note_waits("reads_pipe", wait_for_pipe())
    note_waits("takes_lock", wait_for_lock())
    note_waits("waits_for_child", wait_for_children())


def off_cpu_by_kernel():
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nvcsw + usage.ru_nivcsw, without_cpu_ns()


def clock_ns():
    return int(time.monotonic() * 1e9)


def spins_on(cpu, pipe):
    os.sched_setaffinity(0, {cpu})
    outer = [clock_ns()]
    before = off_cpu_by_kernel()
    inner = [clock_ns()]
    while clock_ns() < inner[0] + SPIN_S * 1e9:
        pass
    inner.append(clock_ns())
    after = off_cpu_by_kernel()
    outer.append(clock_ns())
    own = {"tid": os.getpid(), "outer": outer, "inner": inner, "switches": after[0] - before[0], "late_ns": after[1] - before[1]}
    os.write(pipe, json.dumps(own).encode() + b"\n")
    time.sleep(0.01)  # it leaves its CPU once more: all waits before that have ended


def spins():
    read, write = os.pipe()
    children = []
    for cpu in os.sched_getaffinity(0):
        children.append(os.fork())
        if not children[-1]:
            spins_on(cpu, write)
            os._exit(0)
    os.close(write)
    with open(read) as file:
        truth["spins"] = [json.loads(line) for line in file]
    for child in children:
        os.waitpid(child, 0)


def competes_for_gil():
    x = 0
    while thread_time() < COMPETE_S:
        x += 1


def competes():
    threads = [threading.Thread(target=competes_for_gil) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def waits_in_crowd(event):
    event.wait()


def crowd():
    _, most = resource.getrlimit(resource.RLIMIT_DATA)  # conftest.py limits it; stacks are hardly touched
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    event = threading.Event()
    threads = [beside(waits_in_crowd, event) for _ in range(CROWD)]
    event.set()
    for thread in threads:
        thread.join()
    truth["crowd"] = CROWD


truth["pid"] = os.getpid()
print("ready", flush=True)
for line in sys.stdin:
    {"busy": busy, "waits": waits, "spins": spins, "competes": competes, "crowd": crowd}[line.strip()]()
    with open(sys.argv[1], "w") as file:
        json.dump(truth, file)
    print("done", flush=True)
