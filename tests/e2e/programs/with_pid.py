# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a command in a process with the given pid, which must be free: with_pid.py PID COMMAND...; as root."""

import os
import sys

import pids


def main():
    child = pids.fork_with_pid(int(sys.argv[1]))
    if not child:
        os.execv(sys.argv[2], sys.argv[2:])
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
