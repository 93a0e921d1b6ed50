# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Starts CUDA, closes every descriptor that it did not open, and launches again; then forks a child that ends at once.

closes_all.py LIBCUDART LAUNCHES
"""

import os
import sys

import recorded

(launch, _), launches = recorded.launchers(sys.argv[1]), int(sys.argv[2])
launch(recorded)
os.closerange(3, 4096)
kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(16)]  # reuses the numbers of closed descriptors
for _ in range(launches - 1):
    launch(recorded)
    child = 0 if _ % 50 else os.fork()
    if not child and _ % 50 == 0:
        os._exit(0)
    if child:
        os.waitpid(child, 0)
assert [os.fstat(one).st_rdev for one in kept] == [os.stat("/dev/null").st_rdev] * 16
print("done", flush=True)
