#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a report of another tool's file costs: CPU, memory, and what it takes of the disk meanwhile.

    foreign.py BUILD [--launches N]

A Kineto trace (as JSON, and packed) and an SQLite file of nsys' with --launches launches, each with its kernel, made here
from what is documented of both; they are kept in BUILD/foreign for the next time.  Held against the project's numbers:
memory (1 GB, however long the file is), and of Kineto JSON 100 MB per second and core.
"""
import argparse
import gzip
import os
import pathlib
import sqlite3
import subprocess
import sys
import time

MOST_MB = 1000
LEAST_MB_PER_CPU_S = 100

NAMES = [f"void kernel_{i}<float, {i}>(float const*, float*)" for i in range(50)]
PID, TID, STEP_NS = 4123, 4130, 20_000


# ---- files -----------------------------------------------------------------------------------------------------------

def kineto_lines(launches):
    yield '{"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000, "deviceProperties": [], "traceEvents": [\n'
    yield '{"ph":"M","name":"process_name","ts":0,"pid":%d,"tid":0,"args":{"name":"python"}}' % PID
    for i in range(launches):
        us, name = i * STEP_NS / 1000, NAMES[i % len(NAMES)]
        yield (',\n{"ph":"X","cat":"cpu_op","name":"aten::add","pid":%d,"tid":%d,"ts":%.3f,"dur":9.000,"args":'
               '{"External id":%d,"Sequence number":%d,"Fwd thread id":0,"Ev Idx":%d}}' % (PID, TID, us, i, i, i))
        yield (',\n{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":%d,"tid":%d,"ts":%.3f,"dur":4.000,'
               '"args":{"External id":%d,"cbid":211,"correlation":%d}}' % (PID, TID, us + 2, i, i + 1))
        yield (',\n{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%.3f,"dur":12.000,"args":{"External id":%d,'
               '"queued":0,"device":0,"context":1,"stream":7,"correlation":%d,"registers per thread":32,"shared memory":0,'
               '"blocks per SM":1.0,"warps per SM":4.0,"grid":[132,1,1],"block":[128,1,1],'
               '"est. achieved occupancy %%":6}}' % (name, us + 7, i, i + 1))
    yield '\n], "traceName": "x"}\n'


def make_json(path, launches):
    with open(path, "w") as out:
        out.writelines(kineto_lines(launches))


def make_packed(path, launches):
    with gzip.open(path, "wt", compresslevel=1) as out:
        out.writelines(kineto_lines(launches))


def make_nsys(path, launches):
    base = sqlite3.connect(path)
    base.executescript("""
        PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
            globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
            demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, registersPerThread INTEGER NOT NULL,
            gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL,
            blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
            dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, graphNodeId INTEGER);
        """)
    base.execute("INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000')")
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", ((i + 2, name) for i, name in enumerate(NAMES)))
    base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,1,0,NULL)",
                     ((i * STEP_NS, i * STEP_NS + 4000, PID << 24 | TID, i + 1) for i in range(launches)))
    base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,?,?,?,32,132,1,1,128,1,1,0,0,0,NULL)",
                     ((i * STEP_NS + 7000, i * STEP_NS + 19000, i + 1, PID << 24, 2 + i % len(NAMES), 2 + i % len(NAMES))
                      for i in range(launches)))
    base.commit()
    base.close()


FILES = [("Kineto .json", "json", make_json), ("Kineto .json.gz", "json.gz", make_packed), ("nsys .sqlite", "sqlite", make_nsys)]


def file_of(folder, suffix, make, launches):
    path = folder / f"{launches}.{suffix}"
    if not path.exists():
        unfinished = folder / f"unfinished.{suffix}"
        unfinished.unlink(missing_ok=True)
        make(unfinished, launches)
        unfinished.rename(path)
    return path


# ---- measuring -------------------------------------------------------------------------------------------------------

def measure(gputrace, path):
    started = time.monotonic()
    process = subprocess.Popen([gputrace, "report", "-q", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    said = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"foreign: report of {path}: exit {process.returncode}")
    return said, time.monotonic() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--launches", type=int, default=3_000_000)
    options = parser.parse_args()
    folder = options.build / "foreign"
    folder.mkdir(exist_ok=True)
    missed = False
    print(f"{'file':16} {'MB':>6} {'wall s':>7} {'CPU s':>7} {'resident MB':>11} {'MB/s of CPU':>11} {'launches/s of CPU':>17}")
    for name, suffix, make in FILES:
        path = file_of(folder, suffix, make, options.launches)
        said, wall, cpu, resident = measure(options.build / "gputrace", path)
        if f"{options.launches:,} of {options.launches:,} launches joined" not in said:
            raise SystemExit(f"foreign: not every launch of {path} is in the report")
        size = path.stat().st_size / 1e6
        bad = resident > MOST_MB or (suffix == "json" and size / cpu < LEAST_MB_PER_CPU_S)
        missed |= bad
        print(f"{name:16} {size:6.0f} {wall:7.2f} {cpu:7.2f} {resident:11.0f} {size / cpu:11.0f} "
              f"{options.launches / cpu:17,.0f}{'  MISSED' if bad else ''}", flush=True)
    sys.exit(missed)


main()
