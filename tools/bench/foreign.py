#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of a report of another tool's file: time, CPU and memory.

    foreign.py BUILD [--launches N]

The files: a Kineto trace (JSON and gzip) and an SQLite file of nsys with --launches launches and their kernels; two
files of nvprof with as many starts and ends of ranges, one with few names and one with a name for each range, as
emit_nvtx() writes them.  They are made here by the documentation of their formats, and kept in BUILD/foreign for the
next time.  Compared with the project's numbers: memory (1 GB for a file of any length), and 100 MB of Kineto JSON per
second and core.
"""
import argparse
import gzip
import os
import pathlib
import re
import sqlite3
import struct
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


OPS = ["addmm", "relu", "mm", "add", "mse_loss", "t", "mul", "copy_"]
THREAD = struct.pack("<IIi", PID, TID, 0)
NESTED = (2, 2, 4, 2, 2, 4, 4, 4)  # CUpti_ActivityFlag: 2 start of a range, 4 end of a range


def marker_rows(count, name_of):
    open_ranges, begun = [], 0
    for i in range(count):
        if NESTED[i % len(NESTED)] == 2:
            begun += 1
            open_ranges.append(begun)
            number = begun
        else:
            number = open_ranges.pop()
        yield NESTED[i % len(NESTED)], 1_700_000_000_000_000_000 + i * 1500, number, THREAD, name_of(number)


def make_nvprof(path, names, rows):
    base = sqlite3.connect(path)
    base.executescript("""
        PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
        CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT NOT NULL, start INT NOT NULL,
            end INT NOT NULL, processId INT NOT NULL, threadId INT NOT NULL, correlationId INT NOT NULL, returnValue INT NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT NOT NULL, timestamp INT NOT NULL,
            id INT NOT NULL, objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL, domain INT NOT NULL);
        """)
    base.execute("INSERT INTO StringTable VALUES (1, '')")
    base.executemany("INSERT INTO StringTable VALUES (?, ?)", ((i + 2, name) for i, name in enumerate(names)))
    base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER (flags, timestamp, id, objectKind, objectId, name, domain) "
                     "VALUES (?,?,?,2,?,?,1)", rows)
    base.commit()
    base.close()


def make_markers(path, count):
    make_nvprof(path, OPS, marker_rows(count, lambda number: 2 + number % len(OPS)))


def make_numbered(path, count):
    names = (f"{OPS[i % len(OPS)]}, seq = {i}" for i in range(count))
    make_nvprof(path, names, marker_rows(count, lambda number: 2 + number))


def has_launches(said, launches):
    return f"{launches:,} of {launches:,} launches joined" in said


def has_ranges(said, rows):
    found = re.findall(r"^ +([\d,]+) +[\d.,]+ m?s  (?:%s)$" % "|".join(OPS), said, re.MULTILINE)
    return sum(int(count.replace(",", "")) for count in found) == rows // 2


FILES = [("Kineto .json", "json", make_json, has_launches), ("Kineto .json.gz", "json.gz", make_packed, has_launches),
         ("nsys .sqlite", "sqlite", make_nsys, has_launches), ("nvprof, ranges", "markers.sqlite", make_markers, has_ranges),
         ("nvprof, numbered", "numbered.sqlite", make_numbered, has_ranges)]


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
    parser.add_argument("--launches", type=int, default=3_000_000, help="a multiple of 8")
    options = parser.parse_args()
    folder = options.build / "foreign"
    folder.mkdir(exist_ok=True)
    missed = False
    print(f"{'file':16} {'MB':>6} {'wall s':>7} {'CPU s':>7} {'resident MB':>11} {'MB/s of CPU':>11} {'events/s of CPU':>15}")
    for name, suffix, make, has_all in FILES:
        path = file_of(folder, suffix, make, options.launches)
        said, wall, cpu, resident = measure(options.build / "gputrace", path)
        if not has_all(said, options.launches):
            raise SystemExit(f"foreign: not every event of {path} is in the report")
        size = path.stat().st_size / 1e6
        bad = resident > MOST_MB or (suffix == "json" and size / cpu < LEAST_MB_PER_CPU_S)
        missed |= bad
        print(f"{name:16} {size:6.0f} {wall:7.2f} {cpu:7.2f} {resident:11.0f} {size / cpu:11.0f} "
              f"{options.launches / cpu:15,.0f}{'  MISSED' if bad else ''}", flush=True)
    sys.exit(missed)


main()
