# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches until FILE exists, in processes that are forked and call no exec.

forks_until.py WAY FILE, where WAY is
  workers  the parent uses no CUDA and forks one worker after the other; each ends by os._exit, as multiprocessing's do
  family   a parent and its child start CUDA after the fork, and both launch all the time
"""

import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402
import model  # noqa: E402

STEPS_OF_A_WORKER = 60


def launches(go_on):
    gpu.setup(record=True)
    steps = 0
    while go_on(steps):
        model.Block(None).forward()
        model.attention(None, 2)
        gpu.check(gpu.device_sync())
        steps += 1
        time.sleep(0.02)  # so that what is recorded of it stays small, however long a busy machine takes


def workers(over):
    while not over():
        child = os.fork()
        if not child:
            launches(lambda steps: steps < STEPS_OF_A_WORKER)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit("a worker failed")


def family(over):
    child = os.fork()
    launches(lambda steps: not over())
    if not child:
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit("the child failed")


def main():
    way, file = sys.argv[1:]
    print("ready", flush=True)
    {"workers": workers, "family": family}[way](lambda: os.path.exists(file))
    print("ended", flush=True)


if __name__ == "__main__":
    main()
