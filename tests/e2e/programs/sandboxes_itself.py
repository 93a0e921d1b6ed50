# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches from two threads, sandboxes itself, and launches again.

sandboxes_itself.py LIBCUDART TRUTH LAUNCHES kill CALL...      the filter kills a program that makes one of these calls
sandboxes_itself.py LIBCUDART TRUTH LAUNCHES allow CALL...     ... that makes any other call
sandboxes_itself.py LIBCUDART TRUTH LAUNCHES early-... CALL... the same, set before the first launch starts CUDA
The filter is for all threads (SECCOMP_FILTER_FLAG_TSYNC). TRUTH has the launches by label: before, after, at the end. It
waits for a line of standard input where it says that it has come so far.
"""

import ctypes
import os
import queue
import struct
import sys
import threading

import docker_seccomp
import recorded

LOAD, EQUAL, RETURN = docker_seccomp.LOAD, docker_seccomp.EQUAL, docker_seccomp.RETURN


def sandbox(kind, names):
    known = docker_seccomp.numbers()
    listed, others = (docker_seccomp.KILL, docker_seccomp.ALLOW) if kind == "kill" else (docker_seccomp.ALLOW, docker_seccomp.KILL)
    code = struct.pack("HBBI", LOAD, 0, 0, 0)  # seccomp_data.nr
    for name in names:
        code += struct.pack("HBBI", EQUAL, 0, 1, known[name]) + struct.pack("HBBI", RETURN, 0, 0, listed)
    code += struct.pack("HBBI", RETURN, 0, 0, others)
    text = ctypes.create_string_buffer(code)
    head = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(docker_seccomp.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    # SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC
    assert libc.syscall(known["seccomp"], 1, 1, head) == 0, os.strerror(ctypes.get_errno())


def first(launch):
    launch(recorded)


def second(launch):
    launch(recorded)


def new(launch):
    launch(recorded)


def work(jobs, done, launch, count):
    for function in iter(jobs.get, None):
        for _ in range(count):
            function(launch)
        done.put(None)


def main(cudart, truth, launches, kind, *names):
    (launch, _), count = recorded.launchers(cudart), int(launches)
    early = kind.startswith("early-")
    if early:
        sandbox(kind[len("early-"):], names)
    jobs, done = queue.SimpleQueue(), queue.SimpleQueue()
    other = threading.Thread(target=work, args=(jobs, done, launch, count))
    other.start()
    for label, functions in (("before", (first, second)), ("after", (first, second, new)), ("at the end", (first,))):
        recorded.label = label
        for function in functions:
            jobs.put(function)
            done.get()
            for _ in range(count):
                function(launch)
        print("has launched", label, flush=True)
        sys.stdin.readline()
        if label == "before" and not early:
            sandbox(kind, names)
    jobs.put(None)
    other.join()
    recorded.write(truth)
    print("ends by itself", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
