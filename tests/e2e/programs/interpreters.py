# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches from two interpreters of one process.

interpreters.py LIBCUDART TRUTH HOW; HOW is turns (on one thread), own (two threads, each with its interpreter) or shared
(made on one thread, run on another, while the first runs Python, too).  The second interpreter writes TRUTH.2.  Exits
with 77 if there are no subinterpreters.  CPython 3.6 and later, standard library only.
"""

import sys
import threading

import recorded

# Runs in the other interpreter, in the namespace of its __main__.
BEGIN = """
import sys
sys.path.insert(0, {folder!r})
import recorded
recorded.first_recorder = 1000
launch = recorded.launchers({cudart!r})[0]
def in_the_other(depth):
    if depth:
        return in_the_other(depth - 1)
    launch(0)
"""
WORK = "for _ in range({times}):\n  in_the_other(3)\n  launch(0)\n"
END = "recorded.write({truth!r})"


def by_module(name, create, run):
    module = __import__(name)
    interpreter = create(module)
    return lambda source: getattr(module, run)(interpreter, source)


def by_test_support():
    """For 3.6 and 3.7: a new interpreter for each piece of code."""
    import _testcapi

    whole = []

    def run(source):
        whole.append(source)
        if source.startswith("recorded.write"):
            if _testcapi.run_in_subinterp("".join(whole)):
                sys.exit("the other interpreter failed")
    return run


WAYS = (
    lambda: by_module("_interpreters", lambda module: module.create(), "exec"),  # 3.13
    lambda: by_module("_xxsubinterpreters", lambda module: module.create(isolated=False), "run_string"),  # 3.9
    lambda: by_module("_xxsubinterpreters", lambda module: module.create(), "run_string"),  # 3.8
    by_test_support,
)


def other_interpreter():
    """A function that runs source code in the other interpreter."""
    for way in WAYS:
        try:
            return way()
        except (ImportError, TypeError):
            pass
    print("there are no subinterpreters", file=sys.stderr)
    sys.exit(77)


def main():
    launch = recorded.launchers(sys.argv[1])[0]

    def in_main(depth):
        if depth:
            return in_main(depth - 1)
        launch(0)

    def run(there, source):
        in_main(2)
        failed = there(source.format(folder=sys.path[0], cudart=sys.argv[1], truth=sys.argv[2] + ".2", times=20))
        if failed:
            sys.exit("the other interpreter: %s" % (failed,))
        in_main(5)

    def run_all(there):
        for source in (BEGIN, WORK, WORK, END):
            run(there, source)

    def at_once(function, *args):
        threads = [threading.Thread(target=function, args=args),
                   threading.Thread(target=lambda: [in_main(4) for _ in range(99)])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def own():
        run_all(other_interpreter())

    def shared():
        there = other_interpreter()
        run(there, BEGIN)
        at_once(run, there, WORK)
        run(there, END)

    {"turns": own, "own": lambda: at_once(own), "shared": shared}[sys.argv[3]]()
    recorded.write(sys.argv[2])


if __name__ == "__main__":
    main()
