#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace at the highest rate at which two threads can launch, with a real libcudart and no GPU (root).

    rate.py GPUTRACE HAMMER.so LIBCUDART [--seconds S]

Measured and compared with the project's numbers: launches lost (0) and without a Python stack (0), the recording's CPU
per million launches (1 s), attach to first event (0.5 s), the cost left in the target after detach (none).
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests"))
import gptlog  # noqa: E402

THREADS, DEPTH = 2, 16
COST_CALLS, COST_ROUNDS = 2000000, 15

# The project's numbers.
MOST_CPU_S_PER_MILLION = 1.0
MOST_BYTES_PER_LAUNCH = 24
MOST_ATTACH_S = 0.5
# Rounds of an untraced loop differ by some per cent; a remaining probe would make a call forty times as expensive.
MOST_AFTER_DETACH = 1.10

# include/gputrace/record.h
GPT_CALL_ARGS, GPT_END = 2, 38


class Target:
    """rate_target.py, ready for its orders."""

    def __init__(self, options, threads=THREADS):
        command = [sys.executable, HERE / "rate_target.py", options.hammer, options.cudart, str(threads), str(DEPTH)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        if self.answer() != "ready":
            raise SystemExit("rate: the target did not start")

    def answer(self):
        return self.process.stdout.readline().strip()

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def cost(self):
        """Median nanoseconds per launch."""
        rounds = []
        for _ in range(COST_ROUNDS):
            self.ask(f"cost {COST_CALLS}")
            rounds.append(float(self.answer()))
        return statistics.median(rounds)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def trace(options, target, log, *more):
    """Starts gputrace on the target; returns when its probes are in place."""
    tracer = subprocess.Popen([options.gputrace, "-v", "-p", str(target.process.pid), "--agent", "off", "-o", log, *more],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              universal_newlines=True)
    said = []
    for line in tracer.stderr:
        said.append(line)
        if "gputrace: tracing" in line:
            return tracer
    raise SystemExit("rate: gputrace did not begin:\n" + "".join(said))


def finish(tracer):
    said = tracer.stderr.read()
    if tracer.wait() != 0:
        raise SystemExit("rate: gputrace failed:\n" + said)


def first_launch_ns(log):
    return next(record.values["time_ns"] for record in gptlog.Log(log).records() if record.type == GPT_CALL_ARGS)


def recording_cpu_s(log):
    """CPU time of recording by gputrace's own account: GPT_END, the only record in the last segment."""
    whole = gptlog.Log(log)
    end = whole.segments[-1].records(whole.schema)[-1]
    if end.type != GPT_END:
        raise SystemExit("rate: the log has no end")
    return end.values["cpu_ns"] / 1e9


def launches_in(options, log):
    """(all launches in the log, those with the whole Python stack)"""
    folded = subprocess.run([options.gputrace, "export", "-q", log, "-o", "-", "--format", "folded", "--metric", "launches"],
                            check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    total = stacked = 0
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        total += int(count)
        if stack.count(";descend (rate_target.py") + stack.count(";descend (") >= DEPTH:
            stacked += int(count)
    return total, stacked


def bench_rate(options, folder):
    target, log = Target(options), folder / "rate.gpt"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    tracer = trace(options, target, log)
    target.ask(f"run {options.seconds}")
    made = int(target.answer())
    tracer.send_signal(2)
    finish(tracer)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    target.end()
    all_cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cpu_s = recording_cpu_s(log)
    seen, stacked = launches_in(options, log)
    size = os.path.getsize(log)
    log.unlink()
    millions = made / 1e6
    print(f"{THREADS} threads, {DEPTH} Python frames, {options.seconds} s: {made:,} launches made, {seen:,} seen, "
          f"{stacked:,} with their stack; {made / options.seconds:,.0f} launches/s; log {size / made:.1f} bytes a launch")
    print(f"collector: {cpu_s / millions:.2f} s CPU per million launches while recording; "
          f"{all_cpu_s / millions:.2f} s with the report")
    return [("launches lost", made - seen, 0), ("launches without their stack", made - stacked, 0),
            ("collector CPU s per million launches", cpu_s / millions, MOST_CPU_S_PER_MILLION),
            ("bytes of log a launch", size / made, MOST_BYTES_PER_LAUNCH)]


def bench_attach(options, folder):
    """Time from the start of gputrace to the first launch it records, in a process that launches all the time.  The
    target has one thread, so that gputrace has a core even on the smallest machine."""
    times = []
    for _ in range(7):
        target, log = Target(options, threads=1), folder / "attach.gpt"
        target.ask("run 1.5")
        time.sleep(0.2)
        started = time.monotonic_ns()
        tracer = trace(options, target, log, "-d", "200ms")
        finish(tracer)
        first = first_launch_ns(log)
        times.append((first - started) / 1e9)
        target.answer()
        target.end()
    print(f"attach to first event: median {statistics.median(times):.3f} s, worst {max(times):.3f} s of {len(times)}")
    return [("attach to first event, s", statistics.median(times), MOST_ATTACH_S)]


def bench_detach(options, folder):
    target = Target(options)
    target.cost()
    before = target.cost()
    tracer = trace(options, target, folder / "detach.gpt")
    target.ask("cost 200000")
    traced = float(target.answer())
    tracer.send_signal(2)
    finish(tracer)
    after = target.cost()
    target.end()
    print(f"a launch: {before:.1f} ns before, {traced:.0f} ns traced, {after:.1f} ns after detach")
    return [("launch after detach, times before", after / before, MOST_AFTER_DETACH)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gputrace")
    parser.add_argument("hammer")
    parser.add_argument("cudart")
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        folder = pathlib.Path(folder)
        for name, value, most in (*bench_detach(options, folder), *bench_attach(options, folder),
                                  *bench_rate(options, folder)):
            missed = value > most
            failed |= missed
            print(f"{'MISSED' if missed else 'held':6}  {name}: {value:.3g} (at most {most:g})", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
