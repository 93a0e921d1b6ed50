# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""For programs whose ops gputrace must record (--ops) from, or up to, a certain op."""

import ctypes
import os
import pathlib
import time

import torch


def wait_for_observer():
    observed = ctypes.CDLL(f"{torch.__path__[0]}/lib/libtorch_cpu.so")._ZN2at18hasGlobalCallbacksEv
    observed.restype = ctypes.c_bool
    while not observed():
        time.sleep(0.01)


def _is_awake(tid):
    try:
        status = pathlib.Path(f"/proc/self/task/{tid}/status").read_text()
    except OSError:  # the thread has ended
        return False
    return "\nState:\tS" not in status


def wait_for_other_threads():
    """Waits until every thread but the main one, which calls this, was seen asleep: an op that ends on another thread
    ends after its result is ready.  torch.profiler does not wait for it: if such an op ends after its stop(), the end
    time is written to memory that already belongs to another object, such as another op, or the program crashes."""
    awake = set(os.listdir("/proc/self/task")) - {str(os.getpid())}
    while awake:
        awake = {tid for tid in awake if _is_awake(tid)}
