#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of `gputrace dump`: of 200 threads, of 8 processes of 200 threads, of 10,002 threads of which 5,000 wait for
one lock, of fifty dumps at once, and a program's longest pause.

    tools/bench/dump.py BUILD
"""

import json
import pathlib
import resource
import subprocess
import sys
import time

GPUTRACE = pathlib.Path(sys.argv[1]) / "gputrace"
HANGS = pathlib.Path(__file__).parents[2] / "tests/e2e/programs/hangs.py"
AT_LOCK, THREADS, PROCESSES, AT_ONCE, PAUSES, QUIET_S = 5000, 200, 8, 50, 10, 0.6


def start(*words):
    process = subprocess.Popen([sys.executable, HANGS, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def dump(pids, *more):
    return [GPUTRACE, "dump", "-p", ",".join(str(process.pid) for process in pids), *more]


def measure(name, processes):
    """Prints the time of the longest look and of the whole command, and the command's CPU time."""
    cpu, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    said = subprocess.run(dump(processes, "--format", "json"), capture_output=True, text=True, check=False).stdout
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    looked = json.loads(said)["processes"]
    print(f"{name}: {sum(len(process['threads']) for process in looked)} threads, a look "
          f"{max(process['look_ns'] for process in looked) / 1e6:.0f} ms, in all {wall:.2f} s, "
          f"CPU {after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime:.2f} s")


def pause(worker, wait):
    """The longest time in ms for which the program was kept from running meanwhile, by its own account."""
    worker.stdin.write("\n")
    worker.stdin.flush()
    worker.stdout.readline()
    wait()
    worker.stdin.write("\n")
    worker.stdin.flush()
    return round(1e3 * float(worker.stdout.readline()), 1)


def main():
    crowds = [start("crowd", THREADS) for _ in range(PROCESSES)]
    measure("one process", crowds[:1])
    measure(f"{PROCESSES} processes", crowds)
    many = start("crowd_at_lock", AT_LOCK)
    measure("many threads", [many])
    many.kill()
    begun = time.monotonic()
    for one in [subprocess.Popen(dump(crowds[:1]), stdout=subprocess.DEVNULL) for _ in range(AT_ONCE)]:
        one.wait()
    print(f"{AT_ONCE} at once: {time.monotonic() - begun:.2f} s")
    for process in crowds:
        process.kill()
    worker = start("moves")
    quiet = sorted(pause(worker, lambda: time.sleep(QUIET_S)) for _ in range(PAUSES))
    looked_at = sorted(pause(worker, lambda: subprocess.run(dump([worker]), stdout=subprocess.DEVNULL, check=False)) for _ in range(PAUSES))
    print(f"longest pauses of a program, ms: left alone {quiet}, looked at {looked_at}")
    worker.kill()


if __name__ == "__main__":
    main()
