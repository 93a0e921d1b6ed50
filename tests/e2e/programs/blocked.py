# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Threads that launch and then block forever, both from the same line of the same frames.

blocked.py LIBCUDART TRUTH: prints "ready", waits for a line, prints "done" when every thread has launched.
CPython 3.6 and later, standard library only.
"""

import ctypes
import sys
import threading

import recorded


def functions(calls, depth=3):
    return functions(calls, depth - 1) if depth else [call(0) for call in calls]


def by_generator(calls):
    def generator():
        for call in calls: yield call(0)  # noqa: E701

    def delegating():
        yield from generator()

    list(delegating())


def by_coroutine(calls):
    async def inner():
        for call in calls: call(0)  # noqa: E701

    async def outer():
        await inner()

    outer().send(None)


class Instance:
    def __init__(self, calls):
        self.calls = calls
        self.attribute

    @property
    def attribute(self):
        sorted([1], key=lambda value: [call(0) for call in self.calls])


def by_exec(calls):
    source = "def größe_数字():\n\n  for call in calls: call(\n     0)\nclass Body:\n  größe_数字()"
    exec(compile(source, "größe.py", "exec"), {"calls": calls})


def main():
    launchers, libc = recorded.launchers(sys.argv[1]), ctypes.CDLL(None)
    print("ready", flush=True)
    sys.stdin.readline()
    works = (functions, by_generator, by_coroutine, Instance, by_exec)
    for i, work in enumerate(works):
        threading.Thread(target=work, args=([*launchers, libc.pause],), daemon=True).start()
    while recorded.launched() < len(launchers) * len(works):
        libc.usleep(1000)
    recorded.write(sys.argv[2])
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
