# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Many simultaneous threads that launch, each from a function of its own: crowd.py LIBCUDART TRUTH COUNT.

CPython 3.6 and later, standard library only.
"""

import sys
import threading

import recorded

MOST_FUNCTIONS = 100


def work(function, launch, everyone):
    function(launch)
    everyone.wait()
    function(launch)


def main():
    launchers, count = recorded.launchers(sys.argv[1]), int(sys.argv[3])
    names = {}
    for i in range(MOST_FUNCTIONS):
        exec("def f%d(launch):\n%s  launch(0)\n" % (i, "\n" * i), names)
    everyone = threading.Barrier(count)
    threading.stack_size(256 << 10)
    threads = [threading.Thread(target=work, args=(names["f%d" % (i % MOST_FUNCTIONS)], launchers[i % 2], everyone))
               for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorded.write(sys.argv[2])


if __name__ == "__main__":
    main()
