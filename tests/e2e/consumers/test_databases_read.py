# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Databases as input: gputrace's own of the sample log, and files as nsys and nvprof write them, built here from the
documentation of their tables, as neither tool is available."""

import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
GPUTRACE = ROOT / os.environ.get("GPUTRACE_BUILD", "build") / "gputrace"
PID, TID = 70, 71


def gputrace(*arguments, code=0):
    done = subprocess.run([GPUTRACE, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


def without_lines(table):
    """The table without columns of Python's lines, which not every file has."""
    return [{name: value for name, value in row.items() if name not in ("file", "line_number", "function")} for row in table["rows"]]


def table(path, option):
    return without_lines(json.loads(gputrace("report", "-q", option, "--format", "json", path).stdout)["tables"][0])


def in_order(rows):
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.parametrize("name", ("gpu_sum", "api_sum", "gpu_trace"))
def test_the_tables_of_our_own_database_are_those_of_the_log(sample, name):
    of_log = {table["id"]: table for table in json.loads((sample / "activities.json").read_text())["tables"]}[name]
    assert of_log["rows"]
    assert in_order(table(sample / "sample.sqlite", "--" + name.replace("_", "-"))) == in_order(without_lines(of_log))


def build(path, statements):
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.executescript(statements)
    return path


@pytest.fixture(params=["nsys", "nvprof"])
def profile(request, tmp_path):
    """Ten launches of `add`, 3 us each, every 10 us."""
    calls = [(100_000 + 10_000 * i, 100_000 + 10_000 * i + 4000, i + 1) for i in range(10)]
    if request.param == "nsys":
        rows = "".join(f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({s},{e},0,{PID << 24 | TID},{c},1,0);"
                       f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({s + 5000},{s + 8000},0,1,7,{c},{PID << 24},2,2,4,1,1,64,1,1,32);"
                       for s, e, c in calls)
        return build(tmp_path / "report.sqlite", f"""
            CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
            INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'add(float*)');
            CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid,
                demangledName, shortName, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread);
            {rows}""")
    epoch = 1_700_000_000_000_000_000
    rows = "".join(f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({c},211,{epoch + s},{epoch + e},{PID},{TID},{c},0);"
                   f"INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES ({c},32,{epoch + s + 5000},{epoch + s + 8000},0,1,7,4,1,1,64,1,1,{c},2);"
                   for s, e, c in calls)
    return build(tmp_path / "profile.prof", f"""
        CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL);
        INSERT INTO StringTable VALUES (2,'_Z3addPf');
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY, cbid, start, end, processId, threadId, correlationId,
            returnValue);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY, registersPerThread, start, end, deviceId,
            contextId, streamId, gridX, gridY, gridZ, blockX, blockY, blockZ, correlationId, name);
        {rows}""")


def test_sums_are_those_of_the_profile(profile):
    sums = table(profile, "--gpu-sum")
    assert [(row["name"], row["calls"], row["ns"]) for row in sums] == [("add(float*)", 10, 30_000)]
    calls = table(profile, "--api-sum")
    assert [(row["name"], row["calls"], row["ns"]) for row in calls] == [("cudaLaunchKernel", 10, 40_000)]


def test_the_report_says_whose_file_it_is_and_what_that_does_not_know(profile):
    said = gputrace("report", profile).stdout
    assert "10 of 10 launches joined" in said
    assert "Recorded by nvprof" in said or "Recorded by Nsight Systems (nsys)" in said
    assert "Not recorded" in said


def test_other_files_and_words_are_made_of_it(profile, tmp_path):
    gputrace("export", "-q", profile, "-o", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event.get("cat") == "kernel" for event in events) == 10
    assert gputrace("why", profile).stdout
    assert gputrace("diff", profile, profile).stdout


def test_a_database_of_something_else_is_refused_with_its_name(tmp_path):
    other = build(tmp_path / "books.sqlite", "CREATE TABLE books (title TEXT)")
    said = gputrace("report", other, code=1).stderr
    assert "books.sqlite: is an SQLite database, but none that nsys, nvprof or gputrace wrote" in said
