# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random call trees on several threads; each leaf is a launch that records its own stack.

trees.py LIBCUDART TRUTH LAUNCHES [--threads N] [--seed N] [--warm N] [--wait]
  --warm launches come first and are not recorded; with --wait it then prints "ready" and waits for a line of input.
CPython 3.6 and later, standard library only.
"""

import argparse
import ctypes
import gc
import random
import sys
import threading

import recorded
import tree_shapes

MOST_FRAMES = 85  # with the frames that one shape adds, far below the 128 frames that a stack keeps
LAUNCHES_OF_A_TREE = 60


class Walk:
    """The state of one thread's tree."""

    current = {}  # thread: Walk

    def __init__(self, launchers, seed):
        self.random = random.Random(seed)
        self.launchers = launchers
        self.sorts = (tree_shapes.sorter(ctypes.CFUNCTYPE, ctypes.CDLL(None)),
                      tree_shapes.sorter(ctypes.PYFUNCTYPE, ctypes.PyDLL(None)))
        self.deepest = self.left = 0
        self.ended = False

    def plant(self):
        self.deepest = self.random.choice((8, 15, 15, 30, 30, 60, MOST_FRAMES))
        self.left = LAUNCHES_OF_A_TREE

    def launch(self):
        """The launch itself, a native function, with the GIL released or held."""
        self.left -= 1
        return self.random.choice(self.launchers)

    def next(self):
        depth, frame = 0, sys._getframe()
        while frame:
            depth, frame = depth + 1, frame.f_back
        if self.left <= 0 or depth >= self.deepest or self.random.random() < 0.25:
            return self.launch()
        return self.random.choice(tree_shapes.SHAPES)

    def sort_by_libc(self, w):
        self.random.choice(self.sorts)(w)

    @staticmethod
    def of_thread():
        return Walk.current.get(threading.get_ident())


def grow(walk, launches):
    """Makes trees until there are `launches` launches."""
    Walk.current[threading.get_ident()] = walk
    while launches > 0:
        walk.plant()
        walk.random.choice(tree_shapes.SHAPES)(walk)
        launches -= LAUNCHES_OF_A_TREE - walk.left
    walk.ended = True
    del Walk.current[threading.get_ident()]


def grow_on_threads(walks, launches):
    threads = [threading.Thread(target=grow, args=(walk, launches // len(walks))) for walk in walks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not all(walk.ended for walk in walks):
        sys.exit("a thread failed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cudart")
    parser.add_argument("truth")
    parser.add_argument("launches", type=int)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--warm", type=int, default=0)
    parser.add_argument("--wait", action="store_true")
    options = parser.parse_args()
    gc.set_threshold(200, 5, 5)
    launchers = recorded.launchers(options.cudart)
    walks = [Walk(launchers, options.seed * 100 + i) for i in range(options.threads)]
    if options.warm:
        grow_on_threads(walks, options.warm)
        recorded.forget()
    if options.wait:
        print("ready", flush=True)
        sys.stdin.readline()
    grow_on_threads(walks, options.launches)
    recorded.write(options.truth)
    print("done", recorded.launched(), flush=True)


if __name__ == "__main__":
    main()
