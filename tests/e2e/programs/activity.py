# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Spends its time in known functions, and says how much: CPU time as its threads' own clocks have it, waits as it timed them.

    activity.py TRUTH      "busy", "waits" by lines on standard input: each answered with "done"

busy: functions that own the CPU in the main thread, in another thread, and in a forked child.  CPython 3.7 and later.
waits: one function for each thing that a thread can wait for.
"""

import json
import os
import sys
import threading
import time

CPU_S = 0.6
WAIT_S = 0.05
WAITS = 6
truth = {"cpu": {}, "waits": {}}


def note_cpu(name, spent_s):
    truth["cpu"][name] = truth["cpu"].get(name, 0) + int(spent_s * 1e9)


def note_waits(name, durations):
    truth["waits"][name] = {"count": len(durations), "ns": sum(durations), "tid": threading.get_native_id()}


# ---- CPU ---------------------------------------------------------------------------------------

def burns_in_main(until_s):
    x = 0
    while time.thread_time() < until_s:
        x += 1


def burns_in_thread(until_s):
    x = 0
    while time.thread_time() < until_s:
        x += 1


def burns_in_child(until_s):
    x = 0
    while time.thread_time() < until_s:
        x += 1


def burn(function):
    start_s = time.thread_time()
    function(start_s + CPU_S)
    return time.thread_time() - start_s


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

def timed(wait):
    start = time.monotonic_ns()
    wait()
    return time.monotonic_ns() - start


def sleeps():
    return [timed(lambda: time.sleep(WAIT_S)) for _ in range(WAITS)]


def reads_pipe():
    read, write = os.pipe()

    def writes():
        for _ in range(WAITS):
            time.sleep(WAIT_S)
            os.write(write, b"x")

    thread = threading.Thread(target=writes, name="writer")
    thread.start()
    durations = [timed(lambda: os.read(read, 1)) for _ in range(WAITS)]
    thread.join()
    return durations


def waits_for_lock():
    lock = threading.Lock()
    taken = threading.Semaphore(0)
    let_go = threading.Semaphore(0)

    def holds():
        for _ in range(WAITS):
            with lock:
                taken.release()
                time.sleep(WAIT_S)
            let_go.acquire()

    def takes():
        with lock:
            pass

    thread = threading.Thread(target=holds, name="holder")
    thread.start()
    durations = []
    for _ in range(WAITS):
        taken.acquire()
        durations.append(timed(takes))
        let_go.release()
    thread.join()
    return durations


def waits_for_child():
    durations = []
    for _ in range(WAITS):
        child = os.fork()
        if not child:
            time.sleep(WAIT_S)
            os._exit(0)
        durations.append(timed(lambda: os.waitpid(child, 0)))
    return durations


def waits():
    for wait in (sleeps, reads_pipe, waits_for_lock, waits_for_child):
        note_waits(wait.__name__, wait())


truth["pid"] = os.getpid()
print("ready", flush=True)
for line in sys.stdin:
    {"busy": busy, "waits": waits}[line.strip()]()
    with open(sys.argv[1], "w") as file:
        json.dump(truth, file)
    print("done", flush=True)
