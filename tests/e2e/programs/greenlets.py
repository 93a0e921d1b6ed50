# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Greenlets that switch to each other in nested calls and launch each time: greenlets.py LIBCUDART TRUTH.

Needs greenlet.  CPython 3.6 and later.
"""

import random
import sys
import threading

import greenlet
import recorded


class Ring:
    """Greenlets of one thread, each within nested calls of its own."""

    def __init__(self, launchers, seed, count):
        self.random, self.launchers = random.Random(seed), launchers
        self.alive = [greenlet.greenlet(self.run) for _ in range(count)]

    def launch(self):
        self.random.choice(self.launchers)(0)

    def elsewhere(self):
        """Switches to another greenlet, neither to itself nor to the parent."""
        others = [one for one in self.alive if one is not greenlet.getcurrent() and not one.dead]
        if others:
            self.random.choice(others).switch(self.random.randrange(12))

    def run(self, turns):
        for _ in range(turns):
            self.descend(self.random.randrange(12))
        self.launch()

    def descend(self, depth):
        if depth % 3 == 0:
            self.launch()
            self.elsewhere()
            self.launch()
        if depth % 4 == 1:
            for _ in self.generate(depth):
                self.launch()
        elif depth % 4 == 2:
            sorted([1, 2], key=lambda value: self.descend(depth - 2) or 0)
        elif depth:
            self.descend(depth - 1)

    def generate(self, depth):
        self.elsewhere()
        yield self.launch()
        yield self.descend(depth - 1)

    def turn(self):
        for one in self.alive:
            while not one.dead:
                one.switch(4)
                self.launch()


def main():
    launchers = recorded.launchers(sys.argv[1])
    threads = [threading.Thread(target=lambda seed=seed: Ring(launchers, seed, 8).turn()) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Ring(launchers, 5, 30).turn()
    recorded.write(sys.argv[2])


if __name__ == "__main__":
    main()
