#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a trace costs that waits for processes which fit a choice (root), on a machine with many others.

    newcomers.py GPUTRACE [--processes N] [--seconds S]

N processes sleep, and 50 programs a second are executed, while `gputrace --container` waits for a container that is not
there.  Printed is its processor time, as a part of a processor, and that of `gputrace -p` of one of the sleepers in the
same run.  It fails where the first is over 1 %.
"""
import argparse
import os
import signal
import subprocess
import sys
import time

EXECS_A_SECOND = 50
SETTLE_S = 6
MOST = 1.0


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sleepers(count):
    pids = []
    for _ in range(count):
        pid = os.fork()
        if not pid:
            signal.pause()
        pids.append(pid)
    return pids


def share(gputrace, seconds, *target):
    """Percent of a processor, and the seconds of it that setting up took."""
    trace = subprocess.Popen([gputrace, "-q", "--no-keep", *target, "-d", f"{seconds + 4 * SETTLE_S}s"], stdout=subprocess.DEVNULL)
    time.sleep(SETTLE_S)
    before, begin = cpu_s(trace.pid), time.monotonic()
    for number in range(seconds * EXECS_A_SECOND):
        time.sleep(max(0, begin + number / EXECS_A_SECOND - time.monotonic()))
        subprocess.run(["/bin/true"], check=True)
    used = cpu_s(trace.pid) - before
    percent = 100 * used / (time.monotonic() - begin)
    trace.send_signal(signal.SIGINT)
    trace.wait()
    return percent, before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gputrace")
    parser.add_argument("--processes", type=int, default=5000)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    pids = sleepers(options.processes)
    try:
        chosen, set_up = share(options.gputrace, options.seconds, "--container", "there-is-none")
        one, _ = share(options.gputrace, options.seconds, "-p", str(pids[0]))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    print(f"waiting for a container beside {options.processes} processes: {chosen:.2f} % of a processor (set-up {set_up:.2f} s of it); "
          f"-p of one process: {one:.2f} %")
    return chosen > MOST


if __name__ == "__main__":
    sys.exit(main())
