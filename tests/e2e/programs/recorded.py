# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches that record their own stack by sys._getframe, launch by launch.

The stack is taken while ctypes converts the launch's last argument: the calling frame is then at the instruction that
enters the native function, also in a call of many lines, and also if C called it.
Each launch has its number as its stream, so that a reader can tell which launch it is.
CPython 3.6 and later, standard library only.
"""

import ctypes
import json
import os
import platform
import sys
import threading

LAUNCHES_OF_A_RECORDER = 100000  # more than any thread makes; the int that ctypes passes has room for 20,000 recorders
SYS_GETTID = {"x86_64": 186, "aarch64": 178}

label = None  # of the next launches, for programs that test several things
first_recorder = 0  # set for a process's second interpreter, so that numbers stay unique

_recorders = []
_known = {}
_local = threading.local()
_has_qualname = hasattr((lambda: None).__code__, "co_qualname")


def thread_number():
    if hasattr(threading, "get_native_id"):  # 3.8
        return threading.get_native_id()
    return ctypes.CDLL(None).syscall(SYS_GETTID[platform.machine()])


class Recorder:
    """The launches of one thread; a thread made by C has one recorder for each call into Python."""

    def __init__(self):
        self.tid = thread_number()
        self.ident = threading.get_ident()
        self.count = 0
        self.stacks = {}
        _recorders.append(self)
        self.base = (first_recorder + _recorders.index(self)) * LAUNCHES_OF_A_RECORDER + 1


def _frames(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append((code.co_qualname if _has_qualname else code.co_name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(stack)


class Stream:
    """The type of the launch's last argument."""

    @staticmethod
    def from_param(value):
        try:
            recorder = _local.recorder
        except AttributeError:
            # The collector may run here and launch; then this thread uses the recorder that it made.
            recorder = _local.__dict__.setdefault("recorder", Recorder())
        if recorder.ident != threading.get_ident():  # up to 3.12 another thread may run an interpreter
            recorder = _local.recorder = Recorder()
        stack = _frames(sys._getframe(1))
        entry = label, _known.setdefault(stack, stack)
        # From here on no __del__ may run and launch, so the collector must not run: no call, no new container.
        number = recorder.count
        recorder.stacks[number] = entry
        recorder.count = number + 1
        return recorder.base + number


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


FIXED = 1 | 4  # a ctypes parameter that always has its default: PARAMFLAG_FIN | PARAMFLAG_FLCID, Modules/_ctypes


def launchers(path):
    """cudaLaunchKernel as launch(anything): one with the GIL released, one with the GIL held."""
    types = (ctypes.c_int, ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, Stream)
    one = Dim3(1, 1, 1)
    flags = ((FIXED, "function", 0x1000), (FIXED, "grid", one), (FIXED, "block", one), (FIXED, "arguments", None),
             (FIXED, "shared", 0), (1, "stream"))
    return (ctypes.CFUNCTYPE(*types)(("cudaLaunchKernel", ctypes.CDLL(path)), flags),
            ctypes.PYFUNCTYPE(*types)(("cudaLaunchKernel", ctypes.PyDLL(path)), flags))


def forget():
    """Drops the launches recorded so far."""
    for recorder in _recorders:
        recorder.stacks = {}


def launched():
    return sum(len(recorder.stacks) for recorder in _recorders)


def write(path, **more):
    """Writes {"threads": [{"tid", "launches": [[number, stack, label]]}], "stacks": [[frame]],
    "frames": [[name, file, line]]} and `more`."""
    frames, stacks, threads = {}, {}, []
    for recorder in _recorders:
        launches = []
        for number, (of_label, stack) in recorder.stacks.items():
            numbers = tuple(frames.setdefault(frame, len(frames)) for frame in stack)
            launches.append((recorder.base + number, stacks.setdefault(numbers, len(stacks)), of_label))
        threads.append({"tid": recorder.tid, "launches": launches})
    truth = {"pid": os.getpid(), "python": list(sys.version_info[:2]), "threads": threads, "stacks": list(stacks),
             "frames": list(frames)}
    truth.update(more)
    with open(path, "w") as out:
        json.dump(truth, out)
