#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of `gputrace merge` of long logs, or of many: time, CPU, memory.

    merge.py BUILD [--ranks N] [--launches N] [--most-seconds N] [--only WHAT,...]

The logs are made here (rank_logs.c): of two ranks, or more, each with --launches launches and their kernels, every hundredth a
collective.  They are kept in BUILD/merge for the next time, until the format of logs changes.  Compared with the
project's numbers: memory (1 GB), the seconds where they are given, and that every collective is compared.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

from scale import MOST_MB, format_of_logs

LAUNCHES_PER_COLLECTIVE = 100  # as in rank_logs.c


def logs_of(build, launches, ranks):
    folder = build / "merge" / f"{ranks}-{launches}-{format_of_logs()}"
    if not folder.exists():
        unfinished = build / "merge" / "unfinished"
        unfinished.mkdir(parents=True, exist_ok=True)
        subprocess.run([build / "tools/bench/rank_logs", unfinished, str(launches), str(ranks)], check=True)
        unfinished.rename(folder)
    return [folder / f"{rank}.gpt" for rank in range(ranks)]


def check_compared(gputrace, logs, launches):
    done = subprocess.run([gputrace, "merge", "-q", *logs, "--format", "json"], stdout=subprocess.PIPE, check=True)
    ranks = {table["id"]: table for table in json.loads(done.stdout)["tables"]}["merge_ranks"]["rows"]
    compared = [row["compared"] for row in ranks]
    if compared != [launches // LAUNCHES_PER_COLLECTIVE] * len(logs):
        raise SystemExit(f"merge: of {launches // LAUNCHES_PER_COLLECTIVE:,} collectives {compared} were compared")


def measure(gputrace, logs, what):
    """Makes the tables alone, or with a file of that kind, which is removed afterwards."""
    out = logs[0].parent / f"all.{what}"
    started = time.monotonic()
    process = subprocess.Popen([gputrace, "merge", "-q", *logs, *([] if what == "tables" else ["-o", out])],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"merge: exit {process.returncode}")
    size = 0 if what == "tables" else out.stat().st_size
    out.unlink(missing_ok=True)
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000, size / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--launches", type=int, default=10_000_000)
    parser.add_argument("--most-seconds", type=float, default=float("inf"))
    parser.add_argument("--only", type=lambda text: text.split(","), default=["tables", "json.gz", "pftrace"])
    options = parser.parse_args()
    gputrace = options.build / "gputrace"
    logs = logs_of(options.build.resolve(), options.launches, options.ranks)
    check_compared(gputrace, logs, options.launches)
    print(f"{options.ranks} logs of {options.launches:,} launches, {sum(log.stat().st_size for log in logs) / 1e6:.0f} MB")
    print(f"{'output':8} {'wall s':>7} {'CPU s':>7} {'resident MB':>11} {'launches/s of CPU':>17} {'MB written':>10}")
    missed = False
    for what in options.only:
        wall, cpu, resident, written = measure(gputrace, logs, what)
        bad = resident > MOST_MB or wall > options.most_seconds
        missed |= bad
        print(f"{what:8} {wall:7.2f} {cpu:7.2f} {resident:11.0f} {options.ranks * options.launches / cpu:17,.0f} {written:10.0f}"
              f"{'  MISSED' if bad else ''}", flush=True)
    sys.exit(missed)


main()
