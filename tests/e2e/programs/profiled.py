# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs whose CPU time by function is known from cProfile: profiled.py KIND [PROFILE]

Without PROFILE it reads a line from standard input, works, and answers "done".  With PROFILE it works under cProfile,
which counts the CPU time of each thread, and writes that file.  cProfile adds some 2 us to each call, also of a function
written in C: so a call, and an element of a generator, take a hundred times as long.
"""

import cProfile
import json
import pstats
import re
import sys
import threading
import time

# Of a second or two.  In each round all functions work, so that a machine that slows down slows all of them.
ROUNDS = {"recursion": 60, "generators": 40, "c_functions": 250, "comprehensions": 500, "threads": 24}


# ---- recursion ---------------------------------------------------------------------------------

def descends(levels):
    x = 0
    for i in range(3000):
        x += i
    return descends(levels - 1) if levels else x


def branches(levels):
    x = 0
    for i in range(2000):
        x += i
    return branches(levels - 1) + branches(levels - 2) if levels > 1 else x


def is_even(n):
    x = 0
    for i in range(4000):
        x += i
    return is_odd(n - 1) if n else x


def is_odd(n):
    x = 0
    for i in range(8000):
        x += i
    return is_even(n - 1) if n else x


def recursion():
    descends(60)
    branches(9)
    is_even(20)


# ---- generators --------------------------------------------------------------------------------

def numbers(count):
    for number in range(count):
        x = 0
        for i in range(6000):
            x += i
        yield number


def doubled(source):
    for number in source:
        x = 0
        for i in range(12000):
            x += i
        yield 2 * number


def delegates(source):
    yield from doubled(source)


def consumes(source):
    for _ in source:
        x = 0
        for i in range(3000):
            x += i


def generators():
    consumes(delegates(numbers(40)))
    sum(numbers(40))


# ---- functions written in C --------------------------------------------------------------------

OBJECTS = [{"name": f"block {i}", "sizes": list(range(40)), "ok": True, "share": i / 7} for i in range(400)]
TEXT = " ".join(f"{i}@host{i % 7}.example" for i in range(4000))
DIGITS = [i * 7919 % 100003 for i in range(40000)]


def encodes():
    return json.dumps(OBJECTS)


def decodes(text):
    return json.loads(text)


def searches():
    return re.findall(r"[a-z0-9]+@host[35]\.[a-z]+", TEXT)


def sorts():
    numbers = list(DIGITS)
    numbers.sort()
    return numbers


def c_functions():
    decodes(encodes())
    searches()
    sorts()


# ---- comprehensions and lambdas ----------------------------------------------------------------

def squares():
    return [i * i for i in range(8000)]


def by_number():
    return {i: 3 * i for i in range(5000)}


weighs = lambda n: len([i for i in range(10000) if i % 7 == n])  # noqa: E731


def orders():
    return sorted(range(3), key=lambda n: -sum([i % 5 for i in range(4000 + n)]))


def comprehensions():
    squares()
    by_number()
    list(map(weighs, range(2)))
    orders()


# ---- threads -----------------------------------------------------------------------------------

def helps():
    x = 0
    for i in range(30000):
        x += i


def works_beside():
    for _ in range(20):
        helps()


def works_more():
    x = 0
    for i in range(600000):
        x += i


def works_in_main():
    for _ in range(12):
        helps()


def threads(run):
    workers = [threading.Thread(target=run, args=(function,)) for function in (works_beside, works_more)]
    for worker in workers:
        worker.start()
    run(works_in_main)
    for worker in workers:
        worker.join()


# ---- all of them -------------------------------------------------------------------------------

def plainly(function):
    function()


profiles = []


def profiled(function):
    profiles.append(cProfile.Profile(time.thread_time))
    profiles[-1].runcall(function)


def work(kind, run):
    for _ in range(ROUNDS[kind]):
        if kind == "threads":
            threads(run)
        else:
            run(globals()[kind])


def main(kind, profile=None):
    if profile:
        work(kind, profiled)
        pstats.Stats(*profiles).dump_stats(profile)
        return
    print("ready", flush=True)
    sys.stdin.readline()
    work(kind, plainly)
    print("done", flush=True)


main(*sys.argv[1:])
