# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Uses a NAME with terminal control sequences wherever a program can choose a name: steering.py LIBCUDART NAME.

Launches 20 times from a function NAME of a file NAME for each line on standard input, on a thread NAME; answers "done".
"""

import ctypes
import sys
import threading

LIBRARY, NAME = sys.argv[1:]
PR_SET_NAME = 15
libc = ctypes.CDLL(None)
cudart = ctypes.CDLL(LIBRARY)


def launching():
    for _ in range(20):
        cudart.cudaLaunchKernel()


def steered(code):
    names = {"co_name": NAME, "co_filename": f"/{NAME}.py"}
    if hasattr(code, "co_qualname"):
        names["co_qualname"] = NAME
    return code.replace(**names)


def name_thread():
    libc.prctl(PR_SET_NAME, NAME.encode("utf-8", "surrogateescape"))


def work():
    name_thread()
    launching()


launching.__code__ = steered(launching.__code__)
name_thread()
print("ready", flush=True)
for line in iter(sys.stdin.readline, ""):
    launching()
    thread = threading.Thread(target=work, name=NAME)
    thread.start()
    thread.join()
    print("done", flush=True)
