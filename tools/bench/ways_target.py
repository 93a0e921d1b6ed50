# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of a launch from CPython's loop below FRAMES frames: the least of 20 rounds, in ns.

ways_target.py LIBCUDART FRAMES first|other
The launches fail at once.  They come from the first thread or another one.
"""

import ctypes
import sys
import threading
import time

ROUNDS, LAUNCHES = 20, 5000
PAUSE_S = 0.03  # time for gputrace to empty the ring


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


launch = ctypes.CDLL(sys.argv[1]).cudaLaunchKernel
launch.argtypes = (ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
one = Dim3(1, 1, 1)
least = []


def measure(frames):
    if frames:
        return measure(frames - 1)
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(LAUNCHES):
            launch(0x1000, one, one, None, 0, None)
        rounds.append((time.perf_counter() - begin) / LAUNCHES * 1e9)
        time.sleep(PAUSE_S)
    least.append(min(rounds))
    return None


launch(0x1000, one, one, None, 0, None)
if sys.argv[3] == "first":
    measure(int(sys.argv[2]) - 2)  # the module and this call are frames, too
else:
    thread = threading.Thread(target=measure, args=(int(sys.argv[2]) - 4,))  # threading has three frames
    thread.start()
    thread.join()
print("ns", round(least[0]), flush=True)
