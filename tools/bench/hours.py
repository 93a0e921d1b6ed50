#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace for hours: memory and descriptors by time, logs that are rotated and cut off, on the simulated GPU (root).

    hours.py BUILD [--seconds S] [--only steady,churn,rotate,kill] [--way bpf|agent] [--rate N]

steady   a flight recorder at 10,000 launches a second: memory and descriptors of gputrace and of the program stay the same
churn    the same of a program that makes new code, threads, children, streams, kernels, modules and so on all the time, in which
         what the program itself grows by untraced is no fault
rotate   --rotate at that rate: each launch is in one of the files
kill     gputrace is killed at random moments: each log has all until shortly before

--seconds is how long steady and rotate take each, 3600 for an hour; churn takes CHURN_TIMES as long, and the program
untraced as long as steady: tables of what has gone are looked through when they have grown by a quarter.
"""
import argparse
import csv
import io
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SIMGPU_RUN = HERE.parent.parent / "tests/simgpu/simgpu-run"
MOST_MB = 2  # the project's number
KILLS = 8
START_S = 300  # a busy machine
CHURN_TIMES = 10
# A log has what was recorded a second before; beside load, and where a segment stays open, later.
KILL_LOSES_S = 3
CHURN = {"code": 50, "thread": 20, "child": 10, "command": 5, "python": 0.3, "stream": 20, "kernel": 20, "module": 10, "graph": 5,
         "memory": 20, "library": 3}


class Target:
    def __init__(self, options, folder, kinds=None):
        self.counts = folder / "counts"
        command = [SIMGPU_RUN, sys.executable, HERE / "hours_target.py", options.build / "tools/bench/hammer.so", self.counts,
                   str(options.rate), *(f"{name}={rate * options.churn}" for name, rate in (kinds or {}).items())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.pid = int(self.line("ready").split()[1])

    def line(self, word):
        for line in self.process.stdout:
            if line.startswith(word):
                return line
        raise SystemExit(f"hours: the program ended before it said {word}")

    def launches(self):
        return struct.unpack("<Q", self.counts.read_bytes())[0]

    def end(self):
        """How many launches it made."""
        self.process.stdin.close()
        made = int(self.line("through").split()[1])
        self.process.wait()
        return made


class Tracer:
    def __init__(self, options, folder, target, *words):
        self.process = subprocess.Popen(
            [options.build / "gputrace", "-v", "-p", str(target.pid), *(["--way", options.way] if options.way else []), *words],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(folder / "said", "w"))
        self.pid = self.process.pid
        begin = time.monotonic()
        while "gputrace: tracing" not in (folder / "said").read_text():
            time.sleep(0.05)
            if self.process.poll() is not None or time.monotonic() > begin + START_S:
                raise SystemExit("hours: gputrace did not begin:\n" + (folder / "said").read_text())

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.process.wait()


def family(pid):
    """The process and its descendants."""
    found = [pid]
    for one in found:
        for task in pathlib.Path(f"/proc/{one}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def memory_kb(pid):
    """Resident memory, and how much of it no file has."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return [int(re.search(fr"^{word}: +(\d+)", text, re.M).group(1)) for word in ("Rss", "Anonymous")]


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch:
    """Memory and descriptors of processes by time."""

    def __init__(self):
        self.rows = []  # (seconds, {name: (kB, anonymous kB, descriptors)})
        self.begin = time.monotonic()

    def look(self, **pids):
        row = {}
        for name, some in pids.items():
            sums = [0, 0, 0]
            for pid in some:
                try:
                    sums = [a + b for a, b in zip(sums, [*memory_kb(pid), len(os.listdir(f"/proc/{pid}/fd"))])]
                except (OSError, AttributeError):  # it has ended
                    continue
            row[name] = sums
        self.rows.append((time.monotonic() - self.begin, row))

    def print(self):
        names = list(self.rows[0][1])
        print("    seconds  " + "  ".join(f"{name + ' MB':>14}  {'anonymous':>9}  {'fds':>4}" for name in names))
        step = max(1, len(self.rows) // 12)
        for seconds, row in [*self.rows[::step], self.rows[-1]]:
            print(f"    {seconds:7.0f}  " + "  ".join(f"{row[name][0] / 1024:14.1f}  {row[name][1] / 1024:9.1f}  {row[name][2]:4d}"
                                                       for name in names))

    def growth(self, name, what=0):
        """From the second third to the last one, of what is there at least: children come and go."""
        third = len(self.rows) // 3
        middle, last = (min(row[name][what] for _, row in rows) for rows in (self.rows[third:-third], self.rows[-third:]))
        return last - middle


def watch(options, folder, kinds, seconds, *words):
    """Memory and descriptors of gputrace and of the program for that long."""
    target = Target(options, folder, kinds)
    tracer = Tracer(options, folder, target, *words) if words else None
    seen, used = Watch(), cpu_s(tracer.pid) if tracer else 0
    while time.monotonic() < seen.begin + seconds:
        time.sleep(max(0.5, seconds / 240))
        seen.look(gputrace=family(tracer.pid) if tracer else [], program=[target.pid])
    used = (cpu_s(tracer.pid) if tracer else 0) - used
    if tracer:
        tracer.end()
    made = target.end()
    seen.print()
    print(f"    {made} launches; gputrace {used / seconds * 100:.2f} % of a core")
    return seen


def judge(name, good, text):
    print(f"{name}: {text}: {'kept' if good else 'MISSED'}", flush=True)
    return not good


def flat(name, seen, own_kb=0):
    """own_kb: what the program grows by untraced."""
    failed = False
    for who, own in (("gputrace", 0), ("program", own_kb)):
        grown = (seen.growth(who) - own) / 1024
        failed |= judge(name, grown <= MOST_MB, f"{who} grew by {grown:.2f} MB in a third of the time ({MOST_MB} at most)")
        fds = seen.growth(who, 2)
        failed |= judge(name, fds <= 0, f"{who} has {fds:+.0f} descriptors (0 at most)")
    return failed


RECORDER = ("--flight-recorder", "10s,32M", "-o", "trace.gpt")


def steady(options, folder):
    return flat("steady", watch(options, folder, None, options.seconds, *RECORDER))


def churn(options, folder):
    print("  untraced:")
    own = watch(options, folder, CHURN, options.seconds)
    print("  traced:")
    # what may come again is kept up to a bound, which would take half an hour to reach
    seen = watch(options, folder, CHURN, CHURN_TIMES * options.seconds, *RECORDER, "--memory-limit", "100M")
    return flat("churn", seen, max(0, own.growth("program")) * CHURN_TIMES)


def launches_in(options, log):
    """Launches that a report of the log has; None: it does not open."""
    done = subprocess.run([options.build / "gputrace", "report", log, "--api-sum", "--format", "csv"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode not in (0, 3):  # 3: it is cut off
        print(done.stderr)
        return None
    rows = csv.DictReader(io.StringIO(done.stdout))
    return sum(int(row["calls"]) for row in rows if "LaunchKernel" in row["name"])


def rotate(options, folder):
    target = Target(options, folder)
    tracer = Tracer(options, folder, target, "--rotate", "10s", "-o", "trace.gpt")
    before = target.launches()
    time.sleep(options.seconds)
    made = target.end()
    tracer.process.wait()
    logs = sorted(folder.glob("trace*.gpt"))
    found = sum(launches_in(options, log) or 0 for log in logs)
    return judge("rotate", len(logs) > 1 and made - before <= found <= made,
                 f"{found} launches in {len(logs)} files, of {made - before} to {made}")


def kill(options, folder):
    target, failed = Target(options, folder), False
    for number in range(KILLS):
        log = folder / f"killed-{number}.gpt"
        before = target.launches()
        tracer = Tracer(options, folder, target, "-o", log.name)
        begun = target.launches()
        time.sleep(random.uniform(0.1, 6))
        killed = target.launches()
        tracer.end(signal.SIGKILL)
        logs = [log, *folder.glob(f"{log.name}.part*")]
        found = max((launches_in(options, path) or 0 for path in logs if path.exists()), default=0)
        least = killed - begun - KILL_LOSES_S * options.rate
        failed |= judge("kill", least <= found <= target.launches() - before,
                        f"{found} launches in the log, {killed - begun} were made")
    target.end()
    return failed


PARTS = {"steady": steady, "churn": churn, "rotate": rotate, "kill": kill}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--way", choices=("bpf", "agent"))
    parser.add_argument("--rate", type=float, default=10000)
    parser.add_argument("--churn", type=float, default=1, help="how many times as much is made")
    options = parser.parse_args()
    options.build = options.build.resolve()
    failed = False
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}:", flush=True)
            failed |= PARTS[name](options, pathlib.Path(folder))
    return failed


if __name__ == "__main__":
    sys.exit(main())
