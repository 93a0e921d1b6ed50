# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs garbage collections, imports and calls on request, by lines of standard input, and counts them itself.

    python_events.py LIBCUDART TRUTH      reads "collect", "import FOLDER", "call"; answers each with "done"

TRUTH is written after each.  CPython 3.6 and later, standard library only.
"""

import ctypes
import gc
import importlib
import json
import sys
import threading
import time

launch = ctypes.CDLL(sys.argv[1]).cudaLaunchKernel  # without a driver it fails at once
truth = {"collections": [], "imports": [], "calls": {}}


def monotonic_ns():
    return int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e9)


# ---- collections ------------------------------------------------------------------------------

def collecting(phase, info):
    if phase == "start":
        truth["collections"].append([info["generation"], monotonic_ns(), None, threading.get_native_id()
                                     if hasattr(threading, "get_native_id") else None])
    else:
        truth["collections"][-1][2] = monotonic_ns()


def collect():
    gc.callbacks.append(collecting)
    for generation in (0, 1, 2, 2):
        gc.collect(generation)
    gc.enable()
    kept = [[] for _ in range(20000)]  # the collector runs by itself
    gc.disable()
    thread = threading.Thread(target=gc.collect, args=(1,))
    thread.start()
    thread.join()
    gc.callbacks.remove(collecting)
    return kept


# ---- imports ----------------------------------------------------------------------------------

def import_all(folder):
    sys.path.insert(0, folder)
    for name in ("fresh_plain", "fresh_package.inner", "fresh_outer", "fresh_plain", "fresh_\u00e4", "fresh_fails",
                 "fresh_missing"):
        before = monotonic_ns()
        try:
            importlib.import_module(name) if "-" in name else __import__(name)
        except ImportError:
            pass
        truth["imports"].append([name, before, monotonic_ns()])
    for _ in range(100):
        import fresh_plain  # noqa: F401  it is there already
    threads = [threading.Thread(target=__import__, args=("fresh_thread_%d" % i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ---- calls ------------------------------------------------------------------------------------

class Refused(Exception):
    pass


def descend(depth):
    if depth:
        return descend(depth - 1)
    launch()
    return 0


def climb(depth):
    if depth:
        climb(depth - 1)
    raise Refused


def count_to(limit):
    for number in range(limit):
        yield number


def delegate(limit):
    yield from count_to(limit)


def deaf():
    while True:
        try:
            yield
        except Refused:
            pass


class Shape:
    def __init__(self, sides):
        self.sides = sides

    @property
    def doubled(self):
        return self.sides * 2

    def __lt__(self, other):
        launch()
        return self.sides < other.sides


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def work():
    descend(300)  # deeper than what return probes follow
    for _ in range(5):
        try:
            climb(40)
        except Refused:
            pass
    list(delegate(20))
    generator = deaf()
    next(generator)
    for _ in range(7):
        generator.throw(Refused)
    generator.close()
    sorted([Shape(n) for n in (3, 1, 2)])
    [Shape(n).doubled for n in range(4)]
    sorted(range(5), key=lambda n: -n)
    fib(12)


counting = threading.Lock()


def profile(frame, event, argument):
    code = frame.f_code
    with counting:
        calls = truth["calls"]
        calls["profile"] = calls.get("profile", 0) + 1  # the profile function gets no event for its own call
        if event == "call" and code.co_filename == __file__:
            key = "%d %s" % (code.co_firstlineno, code.co_name)
            calls[key] = calls.get(key, 0) + 1


def call():
    threading.setprofile(profile)
    threads = []
    for _ in range(3):
        threads.append(threading.Thread(target=work))
        threads[-1].start()
    for thread in threads:
        thread.join()
    threading.setprofile(None)
    sys.setprofile(profile)
    work()
    sys.setprofile(None)


def main():
    gc.disable()
    gc.collect()
    print("ready", flush=True)
    for line in sys.stdin:
        what, _, argument = line.strip().partition(" ")
        if what == "collect":
            collect()
        elif what == "import":
            import_all(argument)
        elif what == "call":
            call()
        with open(sys.argv[2], "w") as file:
            json.dump(truth, file)
        print("done", flush=True)


main()
