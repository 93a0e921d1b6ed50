# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Forks children one after the other that all have the same pid.  Each makes its own function, at the same address, and
launches from it with its number.  pids.py LIBCUDART CHILDREN; as root."""

import ctypes
import os
import signal
import sys

import recorded

SYS_CLONE3 = 435
FIELDS = ("flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack", "stack_size", "tls", "set_tid",
          "set_tid_size", "cgroup")


class CloneArgs(ctypes.Structure):  # linux/sched.h
    _fields_ = [(name, ctypes.c_uint64) for name in FIELDS]


libc = ctypes.PyDLL(None, use_errno=True)  # keeps the GIL during the call


def fork_with_pid(pid):
    wanted = ctypes.c_int(pid)
    args = CloneArgs(exit_signal=signal.SIGCHLD, set_tid=ctypes.addressof(wanted), set_tid_size=1)
    child = libc.syscall(SYS_CLONE3, ctypes.byref(args), ctypes.sizeof(args))
    if child < 0:
        raise OSError(ctypes.get_errno(), "clone3")
    return child


def child(number, launch):
    space = {"launch": launch}
    exec("def f%04d(number):\n    launch(number)\n" % number, space)
    space["f%04d" % number](number)


def main():
    recorded.Stream.from_param = staticmethod(lambda value: value)
    launch, children = recorded.launchers(sys.argv[1])[0], int(sys.argv[2])
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    for number in range(children):
        if not fork_with_pid(pid):
            child(number, launch)
            os._exit(0)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
