# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""For programs whose ops are to be seen (--ops) from a certain one on, or up to a certain one."""

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


def _other_threads():
    """{tid: (state, switches, ...)} of all threads but the main one, None where one has just ended."""
    found = {}
    for tid in os.listdir("/proc/self/task"):
        try:
            status = pathlib.Path(f"/proc/self/task/{tid}/status").read_text()
        except OSError:
            return None
        lines = dict(line.split(":", 1) for line in status.splitlines())
        if int(tid) != os.getpid():
            found[tid] = lines["State"].split()[0], lines["voluntary_ctxt_switches"], lines["nonvoluntary_ctxt_switches"]
    return found


def wait_for_other_threads():
    """Until all threads but the main one, which calls this, sleep: an op that began on one thread and ends on another does so
    behind what waits for its result.  torch.profiler does not wait for it: where such an op ends behind its stop(), the time
    goes into memory that is another's by then, such as another op's, or the program crashes."""
    while True:
        before = _other_threads()
        if before is not None and all(state == "S" for state, *_ in before.values()) and _other_threads() == before:
            return
