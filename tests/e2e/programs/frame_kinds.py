# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches under one kind of frame after the other, each with its own label; every launch records its own stack.

frame_kinds.py LIBCUDART TRUTH.  CPython 3.6 and later, standard library only.
"""

import asyncio
import ctypes
import gc
import os
import sys
import threading

import recorded

# Strings of 1, 2 and 4 bytes per character; NFKC leaves the names unchanged.
WORDS = {"latin_1": "größe_ÿ", "ucs_2": "größe_数字_ж", "ucs_4": "größe_𐐨_数字_𐐀"}
ODD_FILES = ("", " ", "a;b.py", "line\nbreak.py", "\x1b[31m.py", "\udcff.py", "(7): f.py", "<frozen importlib>",
             "/a" * 1500, "/b" * 2500)
LONG = 300
TOO_LONG = 700  # exceeds GPT_CODE_NAME_MAX bytes at any width

KINDS = []
launch = None


def kind(function):
    KINDS.append(function)
    return function


def run(source, file, **names):
    names.setdefault("launch", launch)
    exec(compile(source, file, "exec"), names)
    return names


@kind
def c_in_between():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: launch(0) and 0)
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), ctypes.c_size_t(2), ctypes.c_size_t(4), compare)
    ctypes.PyDLL(None).qsort((ctypes.c_int * 2)(2, 1), ctypes.c_size_t(2), ctypes.c_size_t(4), compare)
    sorted([1, 2], key=lambda value: max([value], key=lambda value: launch(0) and 0))
    list(map(launch, range(2)))


@kind
def generators():
    def inner(n):
        launch(0)
        if n:
            yield from inner(n - 1)
        yield launch(0)

    def outer():
        yield from inner(20)
        launch(0)

    list(outer())
    half = [outer() for _ in range(3)]
    for _ in range(3):
        for one in half:
            next(one)


@kind
def asyncio_tasks():
    async def task(depth, turns):
        if depth:
            return await task(depth - 1, turns)
        for _ in range(turns):
            launch(0)
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*[task(depth, 4) for depth in (0, 3, 30)])

    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()


class Nested:
    def __init__(self, depth):
        if depth:
            Nested(depth - 1)
        else:
            launch(0)


@kind
def made_by_init():
    """From 3.12 on the interpreter has frames of its own between these."""
    for _ in range(20):
        Nested(10)
    for _ in range(20):
        Nested(100)


@kind
def characters():
    for word in WORDS.values():
        source = ("class {0}:\n  def {0}_of(self):\n    return [\n\n      launch(0) for _ in (1, 2)]\n"
                  "{0}().{0}_of()\n{0} = lambda: launch(0)\n{0}()").format(word)
        run(source, "/tmp/%s.py" % word)


@kind
def files():
    for file in ODD_FILES:
        run("def f():\n\n  launch(0)\nf()", file)


@kind
def long_names():
    for character in ("a", "ÿ", "ж", "𐐨"):
        for length in (LONG // (1 if character < "\u0100" else 2), TOO_LONG):
            run("def {0}():\n  launch(0)\n{0}()".format("n" + character * length), "long.py")


@kind
def threads_that_c_made():
    """Threads started in C: Python makes a thread state when they call in and deletes it when they return."""
    started = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: launch(0) and launch(0) and None)
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "pthread_create"):  # before glibc 2.34
        libc = ctypes.CDLL("libpthread.so.0")
    for _ in range(20):
        thread = ctypes.c_void_p()
        if libc.pthread_create(ctypes.byref(thread), None, started, None):
            sys.exit("no thread")
        libc.pthread_join(thread, None)


@kind
def short_lived_code():
    """Code objects freed and made again at the same addresses, on threads; returns the number of reused addresses.  The
    allocator decides how soon it reuses one, so this continues until there are enough."""
    addresses = []

    def used_again():
        return len(addresses) - len(set(addresses))

    def make(thread):
        for i in range(3000):
            if i >= 60 and i % 60 == 0 and used_again() > 60:
                break
            name = "made_%d_%d" % (thread, i)
            made = run("%sdef %s():\n  launch(0)\n" % ("\n" * (i % 5), name), name)[name]
            made()
            addresses.append(id(made.__code__))
            del made

    threads = [threading.Thread(target=make, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return used_again()


@kind
def not_begun():
    """The collector runs while a function is being entered: its frame exists, but no traceback has it yet."""
    class Knot:
        def __init__(self):
            self.me = self

        def __del__(self):
            launch(0)

    def cells(a, b):
        return lambda: (a, b)

    def generator(a):
        yield lambda: a

    threshold = gc.get_threshold()
    for first in range(1, 30):
        gc.collect()
        gc.set_threshold(first)
        Knot()
        cells(first, first)
        list(generator(first))
        gc.set_threshold(*threshold)
    gc.collect()


def main():
    global launch
    truth = {"pid": os.getpid()}
    for launch in recorded.launchers(sys.argv[1]):
        for function in KINDS:
            recorded.label = function.__name__
            truth[function.__name__] = function()
    recorded.write(sys.argv[2], **truth)


if __name__ == "__main__":
    main()
