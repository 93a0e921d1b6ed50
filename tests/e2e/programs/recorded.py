# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches that record their own stack: what the interpreter itself says, by sys._getframe, launch by launch.

The stack is taken while ctypes converts the launch's last argument: the calling frame then stands at the very
instruction from which the native function is entered, also in a call of many lines, and also where C called it.
Each launch carries its number as its stream, so that a reader can say which one it has before it.
CPython 3.6 and later, standard library only.
"""

import ctypes
import json
import os
import platform
import sys
import threading

LAUNCHES_OF_A_RECORDER = 100000  # more than any thread makes; 20,000 recorders fit the int that ctypes passes
SYS_GETTID = {"x86_64": 186, "aarch64": 178}

label = None  # of the launches that follow, for programs that show several things
first_recorder = 0  # for the second interpreter of a process, so that numbers stay different

_recorders = []
_known = {}
_local = threading.local()
_has_qualname = hasattr((lambda: None).__code__, "co_qualname")


def thread_number():
    if hasattr(threading, "get_native_id"):  # 3.8
        return threading.get_native_id()
    return ctypes.CDLL(None).syscall(SYS_GETTID[platform.machine()])


class Recorder:
    """The launches of one thread; a thread that C made has one for each visit to Python."""

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
            # A collector that runs meanwhile may launch, and then its recorder is this thread's.
            recorder = _local.__dict__.setdefault("recorder", Recorder())
        if recorder.ident != threading.get_ident():  # up to 3.12 an interpreter may be lent to another thread
            recorder = _local.recorder = Recorder()
        stack = _frames(sys._getframe(1))
        entry = label, _known.setdefault(stack, stack)
        # From here on nothing may run in between, no collector and so no __del__ that launches: no call, no container.
        number = recorder.count
        recorder.stacks[number] = entry
        recorder.count = number + 1
        return recorder.base + number


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


FIXED = 1 | 4  # a parameter of ctypes that is always its default: PARAMFLAG_FIN | PARAMFLAG_FLCID, Modules/_ctypes


def launchers(path):
    """cudaLaunchKernel as launch(anything): with the GIL released, and with it held."""
    types = (ctypes.c_int, ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, Stream)
    one = Dim3(1, 1, 1)
    flags = ((FIXED, "function", 0x1000), (FIXED, "grid", one), (FIXED, "block", one), (FIXED, "arguments", None),
             (FIXED, "shared", 0), (1, "stream"))
    return (ctypes.CFUNCTYPE(*types)(("cudaLaunchKernel", ctypes.CDLL(path)), flags),
            ctypes.PYFUNCTYPE(*types)(("cudaLaunchKernel", ctypes.PyDLL(path)), flags))


def forget():
    """The launches so far are no longer of interest."""
    for recorder in _recorders:
        recorder.stacks = {}


def launched():
    return sum(len(recorder.stacks) for recorder in _recorders)


def write(path, **more):
    """{"threads": [{"tid", "launches": [[number, stack, label]]}], "stacks": [[frame]], "frames": [[name, file, line]]}
    and what is given as `more`."""
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
