#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of reports and exports of long logs: time, CPU, memory (root, to record).

    scale.py BUILD HAMMER.so LIBCUDART [--launches N] [--kernels N] [--small N] [--only WHAT,...]

gputrace records the logs from two threads, as in rate_target.py (scale_target.py): one log of launches that fail at
once, with a real libcudart, and one of launches with their kernels and returns on the simulated GPU; also one of each
kind with --small launches, to compare the cost of an event.  They are kept in BUILD/scale for the next time, until the
format of logs changes.

Measured for each output and compared with the project's numbers: resident memory (1 GB), the report's launches per
second of wall time (4 million), Chrome JSON.gz's events per second of CPU (2.5 million; an event is an object in
traceEvents, and they are counted), and the cost of an event in the long log, as a multiple of its cost in the short
one.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
THREADS, STREAMS = 2, 2
ROUNDS = 5  # the least of these rounds counts, as others share the machine

# The project's numbers.
MOST_MB = 1000
LEAST_LAUNCHES_PER_S = 4e6
LEAST_EVENTS_PER_CPU_S = 2.5e6
MOST_GROWTH = 1.15  # counts as equal: measurements differ by some per cent

Cost = collections.namedtuple("Cost", "wall cpu mb")
COMPLETE = re.compile(r"Complete: ([0-9,]+) (?:of [0-9,]+ )?launches (?:recorded|joined), ([0-9,]+) lost")
EVENT = b'\n{"ph":"'


# ---- recording -----------------------------------------------------------------------------------------------------

def format_of_logs():
    """A hash that changes with the content of logs and with their packing."""
    files = sorted((ROOT / "include/gputrace").glob("*.h"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def start_target(options, kind):
    target = ROOT / "tools/bench/scale_target.py"
    command = [sys.executable, target, options.hammer, options.cudart, str(THREADS)]
    if kind == "kernels":
        command = [ROOT / "tests/simgpu/simgpu-run", sys.executable, target, options.hammer, "libcudart.so.13", str(THREADS),
                   str(STREAMS)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True,
                               env=dict(os.environ, BUILD=str(options.build)))
    if process.stdout.readline().strip() != "ready":
        raise SystemExit("scale: the target did not start")
    return process


def record(options, kind, count, log):
    """Records a log of that many launches; fails if one is missing."""
    target = start_target(options, kind)
    agent = [] if kind == "kernels" else ["--agent", "off"]
    tracer = subprocess.Popen([options.gputrace, "-v", "-p", str(target.pid), "-o", log, *agent], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
    while True:
        line = tracer.stderr.readline()
        if not line:
            raise SystemExit("scale: gputrace did not begin")
        if "gputrace: tracing" in line:
            break
    started = time.monotonic()
    print(count, file=target.stdin, flush=True)
    made = int(target.stdout.readline().split()[0])
    seconds = time.monotonic() - started
    tracer.send_signal(signal.SIGINT)
    said = tracer.stderr.read()
    if tracer.wait() != 0:
        raise SystemExit("scale: gputrace failed:\n" + said)
    target.stdin.close()
    target.wait()
    print(f"recorded {made:,} launches ({kind}) in {seconds:.0f} s, {made / seconds:,.0f} a second; "
          f"{os.path.getsize(log) / made:.1f} bytes a launch", flush=True)


def log_of(options, kind, count):
    folder = options.build / "scale"
    log = folder / f"{kind}-{count}-{format_of_logs()}.gpt"
    if not log.exists():
        folder.mkdir(exist_ok=True)
        for old in folder.glob(f"{kind}-{count}-*"):
            old.unlink()
        unfinished = folder / "unfinished.gpt"
        record(options, kind, count, unfinished)
        unfinished.rename(log)
    return log


# ---- measuring -----------------------------------------------------------------------------------------------------

def run(command, stdout):
    """The cost of the command: figures of its process, not of the process that waits for it."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"scale: {' '.join(map(str, command))}: exit {process.returncode}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)


def command_of(options, log, what):
    if what == "report":
        return [options.gputrace, "report", "-q", log]
    return [options.gputrace, "export", "-q", log, "-o", "-", "--format", what]


def cost_of(options, log, what, rounds):
    costs = [run(command_of(options, log, what), subprocess.DEVNULL) for _ in range(rounds)]
    return Cost(*(min(values) for values in zip(*costs)))


def count_events(options, log):
    """Number of objects in traceEvents: one per line."""
    process = subprocess.Popen(command_of(options, log, "json"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    count, tail = 0, b""
    while True:
        piece = process.stdout.read(4 << 20)
        if not piece:
            break
        text = tail + piece
        count += text.count(EVENT)
        tail = text[-(len(EVENT) - 1):]
    if process.wait() != 0:
        raise SystemExit("scale: the export failed")
    return count


def events_of(options, log, what, launches):
    """The number of events that divides the output's cost.  Chrome events are counted once per log and gputrace."""
    if not what.startswith("json"):
        return launches
    kept = log.with_suffix(".events")
    gputrace = hashlib.sha256(options.gputrace.read_bytes()).hexdigest()
    if not kept.exists() or json.loads(kept.read_text())["gputrace"] != gputrace:
        kept.write_text(json.dumps({"gputrace": gputrace, "events": count_events(options, log)}))
    return json.loads(kept.read_text())["events"]


def check_complete(options, log, count):
    """Checks that the log has all launches: none lost, none left out."""
    done = subprocess.run([options.gputrace, "report", "-q", log], stdout=subprocess.PIPE, universal_newlines=True, check=True)
    found = COMPLETE.search(done.stdout)
    launches, lost = (int(text.replace(",", "")) for text in found.groups()) if found else (0, 0)
    if launches != count or lost:
        raise SystemExit(f"scale: {log}: {launches:,} launches of {count:,}, {lost:,} lost; remove it to record it again")


# ---- the table -----------------------------------------------------------------------------------------------------

class Table:
    def __init__(self):
        self.missed = 0
        print(f"{'launches':>12} {'':8} {'output':8} {'wall s':>7} {'CPU s':>7} {'MB':>6} {'events':>13}  {'ns CPU':>6}   held against")

    def judge(self, value, bound, most, text):
        held = value <= bound if most else value >= bound
        self.missed += not held
        return ("" if held else "MISSED ") + text

    def row(self, kind, count, what, cost, events, small):
        wanted = []
        if small:
            growth = cost.cpu / events / small
            wanted.append(self.judge(cost.mb, MOST_MB, True, f"{MOST_MB} MB"))
            if what == "report":
                rate = count / cost.wall
                wanted.append(self.judge(rate, LEAST_LAUNCHES_PER_S, False,
                                         f"{rate / 1e6:.2f} of {LEAST_LAUNCHES_PER_S / 1e6:g} M launches/s"))
            elif what == "json.gz":
                rate = events / cost.cpu
                wanted.append(self.judge(rate, LEAST_EVENTS_PER_CPU_S, False,
                                         f"{rate / 1e6:.2f} of {LEAST_EVENTS_PER_CPU_S / 1e6:g} M events/s of CPU"))
            wanted.append(self.judge(growth, MOST_GROWTH, True, f"{growth:.2f} of {MOST_GROWTH:g} times the short log's"))
        print(f"{count:12,} {kind:8} {what:8} {cost.wall:7.2f} {cost.cpu:7.2f} {cost.mb:6.0f} {events:13,}  "
              f"{cost.cpu / events * 1e9:6.0f}   {', '.join(wanted)}", flush=True)


def measure(options, table, kind, count):
    logs = [(options.small, log_of(options, kind, options.small)), (count, log_of(options, kind, count))]
    for launches, log in logs:
        check_complete(options, log, launches)
    for what in options.only:
        small = None
        for launches, log in logs:
            events = events_of(options, log, what, launches)
            cost = cost_of(options, log, what, ROUNDS if what == "report" or not small else 1)
            table.row(kind, launches, what, cost, events, small)
            small = cost.cpu / events


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("hammer")
    parser.add_argument("cudart")
    parser.add_argument("--launches", type=int, default=50000000)
    parser.add_argument("--kernels", type=int, default=10000000)
    parser.add_argument("--small", type=int, default=1000000)
    parser.add_argument("--only", type=lambda text: text.split(","), default=["report", "folded", "json", "json.gz"])
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.gputrace = options.build / "gputrace"
    for kind, count in (("launches", options.launches), ("kernels", options.kernels)):
        for launches in {options.small, count}:
            log_of(options, kind, launches)
    table = Table()
    measure(options, table, "launches", options.launches)
    measure(options, table, "kernels", options.kernels)
    return table.missed != 0


if __name__ == "__main__":
    sys.exit(main())
