# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches on request, while one of its threads closes every descriptor in a loop and opens its own.  Each line of
standard input is a command; it prints `done` after each.

closes_meanwhile.py LIBCUDART

    work N      N launches
    close       begins to close
    stop        ends that, and prints how often it closed, and how many of its own descriptors others closed or sent a
                message to
"""

import os
import socket
import sys
import threading
import time

import recorded

launch, _ = recorded.launchers(sys.argv[1])
stopping = threading.Event()
counts = {"rounds": 0, "broken": 0}


def work(count):
    for _ in range(int(count)):
        launch(recorded)


def is_whole(end, inode):
    try:
        if os.fstat(end.fileno()).st_ino != inode:
            return False
        end.recv(1)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def close_all():
    while not stopping.is_set():
        os.closerange(3, 64)
        ends = [end for _ in range(8) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
        inodes = [os.fstat(end.fileno()).st_ino for end in ends]
        for end in ends:
            end.setblocking(False)
        time.sleep(0.0005)
        counts["broken"] += sum(not is_whole(end, inode) for end, inode in zip(ends, inodes))
        counts["rounds"] += 1
        for end in ends:
            end.detach()


closer = threading.Thread(target=close_all)


def stop():
    stopping.set()
    closer.join()
    print("closed", counts["rounds"], "broken", counts["broken"])


COMMANDS = {"work": work, "close": closer.start, "stop": stop}

work(1)
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    name, *arguments = line.split()
    COMMANDS[name](*arguments)
    print("done", flush=True)
