# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sample log's database: it has the tables of nsys, and queries from nsys' documentation run on it."""

import collections
import contextlib
import shutil
import sqlite3

import chrome_invariants as chrome
import pytest

PROCESS, THREAD = "globalTid / 0x1000000 % 0x1000000", "globalTid % 0x1000000"


@contextlib.contextmanager
def opened(path):
    with contextlib.closing(sqlite3.connect(path)) as base:
        yield base


@pytest.fixture
def base(sample, tmp_path):
    """A copy of the database, as some queries add columns."""
    with opened(shutil.copy(sample / "sample.sqlite", tmp_path)) as base:
        yield base


@pytest.fixture
def trace(sample):
    return chrome.load(sample / "sample.json")


def cupti_correlation(event):
    return event["args"].get("cupti correlation", event["args"]["correlation"])


def test_it_is_a_whole_database(base):
    assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_calls_are_those_of_the_chrome_trace(base, trace):
    begin = {e["args"]["correlation"]: e for e in chrome.events(trace, *chrome.API)}
    wanted = collections.Counter((e["name"], e["pid"], e["tid"], chrome.ns(e["dur"]), cupti_correlation(e)) for e in begin.values())
    found = base.execute(f"SELECT value, {PROCESS}, {THREAD}, end - start, correlationId "
                         "FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON nameId = StringIds.id")
    assert collections.Counter(found) == wanted


@pytest.mark.parametrize("table, cat", (("KERNEL", "kernel"), ("MEMCPY", "gpu_memcpy"), ("MEMSET", "gpu_memset")))
def test_operations_are_those_of_the_chrome_trace(base, trace, table, cat):
    calls = {e["args"]["correlation"]: e["pid"] for e in chrome.events(trace, *chrome.API)}
    wanted = collections.Counter((calls[e["args"]["correlation"]], cupti_correlation(e), chrome.ns(e["dur"]), e["args"]["device"])
                                 for e in chrome.events(trace, cat))
    found = base.execute(f"SELECT globalPid / 0x1000000 % 0x1000000, correlationId, end - start, deviceId FROM CUPTI_ACTIVITY_KIND_{table}")
    assert collections.Counter(found) == wanted


def test_a_kernel_has_both_its_names_and_its_shape(base):
    names = "SELECT DISTINCT d.value, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds d ON d.id = demangledName JOIN StringIds s ON s.id = shortName"
    assert set(base.execute(names)) == {("void gemm<128>(float const*, float*)", "gemm"),
                                        ("triton_poi_fused_relu_0", "triton_poi_fused_relu_0")}
    assert set(base.execute("SELECT gridX, gridY, gridZ, blockX, blockY, blockZ FROM CUPTI_ACTIVITY_KIND_KERNEL")) == {(264, 1, 1, 256, 1, 1)}


def test_python_stacks_stand_in_the_place_of_native_ones(base):
    stacks = collections.defaultdict(list)
    for call, name, file, line in base.execute(
            "SELECT n.value, f.value, m.value, line FROM (SELECT DISTINCT callchainId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME) "
            "JOIN StringIds n ON n.id = nameId JOIN CUDA_CALLCHAINS c ON c.id = callchainId JOIN StringIds f ON f.id = symbol "
            "JOIN StringIds m ON m.id = module ORDER BY c.id, stackDepth"):
        stacks[call].append((name, file, line))
    assert stacks["cudaLaunchKernel"][:3] == [("Block.forward", "/home/user/model.py", 42), ("train_step", "/home/user/train.py", 23),
                                              ("main", "/home/user/train.py", 97)]


def test_memory_and_waits_have_nsys_numbers(base, trace):
    memory = [e for e in trace["traceEvents"] if e["name"] == "[memory]"]
    assert base.execute("SELECT count(*), sum(memoryOperationType), max(memKind) FROM CUDA_GPU_MEMORY_USAGE_EVENTS").fetchone() == \
        (len(memory), sum(e["args"]["Bytes"] < 0 for e in memory), 2)
    assert set(base.execute("SELECT label FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION JOIN ENUM_CUPTI_SYNC_TYPE e ON e.id = syncType")) == {("Stream sync",)}
    assert set(base.execute("SELECT o.label, s.label, d.label FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = copyKind "
                            "JOIN ENUM_CUDA_MEM_KIND s ON s.id = srcKind JOIN ENUM_CUDA_MEM_KIND d ON d.id = dstKind")) == \
        {("Host-to-Device", "Pageable", "Device")}


def test_the_query_of_nsys_that_finds_the_kernel_of_each_call_runs(base):
    """User guide, "Correlate CUDA Kernel Launches With CUDA API Kernel Launches"; correlation ids are per process."""
    base.executescript("""
        ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN name TEXT;
        ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN kernelName TEXT;
        UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET kernelName =
            (SELECT value FROM StringIds
            JOIN CUPTI_ACTIVITY_KIND_KERNEL AS cuda_gpu
                ON cuda_gpu.shortName = StringIds.id
                AND CUPTI_ACTIVITY_KIND_RUNTIME.correlationId = cuda_gpu.correlationId);
        UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET name =
            (SELECT value FROM StringIds WHERE nameId = StringIds.id);""")
    rows = base.execute("SELECT name, kernelName, globalTid / 0x1000000 % 0x1000000 AS PID, globalTid % 0x1000000 AS TID "
                        "FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE kernelName IS NOT NULL ORDER BY end - start LIMIT 1000").fetchall()
    assert {(name, kernel) for name, kernel, _, _ in rows if name != "cudaGraphLaunch"} == \
        {("cudaLaunchKernel", "gemm"), ("cuLaunchKernel", "gemm")}


def test_the_query_of_nsys_for_names_of_threads_runs(base):
    """User guide, "Thread Summary"."""
    names = base.execute(f"SELECT StringIds.value AS name, {PROCESS} AS PID, {THREAD} AS TID FROM ThreadNames "
                         "JOIN StringIds ON ThreadNames.nameId = StringIds.id").fetchall()
    assert {name for name, _, _ in names} == {"python3", "pt_autograd_0"}
    assert {(pid, pid) for name, pid, _ in names} <= {(pid, tid) for _, pid, tid in names}


def test_files_of_odd_logs_are_taken_as_well(odd):
    folder, steps = odd
    with opened(folder / "sample.sqlite") as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert base.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone() == (5 * steps,)
        assert base.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName").fetchone() == (5 * steps,)
