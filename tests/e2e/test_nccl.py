# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Collectives of programs that call NCCL themselves, on the simulated GPU and the simulated NCCL: each kernel has the
collective that the program says."""

import json
import re
from pathlib import Path

import gpu_time
import logfile
import machine
import pytest
import reading
import tracing
import truth
from reading import chrome

RANKS = 2
PROGRAM = [machine.any_python(), machine.PROGRAMS / "nccl_calls.py"]
WITH_NCCL = {"SIMGPU_NCCL": 1}
FIELDS = ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size", "Seq")


def said(lines):
    """The lists that ranks printed, each in the order of its kernels."""
    return [json.loads(line) for line in lines if line.startswith("[")]


def kernels(folder):
    """{pid: args of its kernels in the order of their launches}; all are on one stream."""
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    launches = {}
    for event in events:
        if event.get("cat") == "kernel":
            launches.setdefault(event["args"]["correlation"], event)
    threads = {event["args"]["correlation"]: (event["pid"], float(event["ts"])) for event in events
               if event.get("cat") in ("cuda_runtime", "cuda_driver") and event["args"].get("correlation") in launches}
    by_process = {}
    for correlation, (pid, start) in sorted(threads.items(), key=lambda item: item[1]):
        by_process.setdefault(pid, []).append(launches[correlation]["args"])
    return by_process


def facts(args):
    found = {name: args[name] for name in FIELDS if name in args}
    return found or None


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """Two ranks, traced from their start."""
    folder = tmp_path_factory.mktemp("started")
    done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu-%p.json", *PROGRAM, RANKS), env=WITH_NCCL)
    return folder, done


@pytest.fixture(scope="module")
def attached(tmp_path_factory):
    """One rank that has its communicators before gputrace attaches."""
    folder = tmp_path_factory.mktemp("attached")
    command = tracing.on_simgpu(folder / "gpu.json", *PROGRAM, RANKS, 1)
    with tracing.Running(command, folder, env={**WITH_NCCL, "SIMGPU_NCCL_ALONE": 1}) as running:
        running.wait_line("ready")
        running.ask("work")
        with tracing.Tracer(folder, "-p", running.pid) as tracer:
            tracer.wait_logged(logfile.says_ready)
            running.said.clear()
            running.ask("work")
            running.ask("work")
            done = tracer.interrupt().must_be(0)
        return folder, done, [said([line])[0] for line in running.said if line.startswith("[")]


@pytest.mark.kernels
def test_kernels_say_what_nccl_was_called_for(started):
    folder, done = started
    expected = said(done.stdout.splitlines())
    assert len(expected) == RANKS and len(expected[0]) == 11
    seen = kernels(folder)
    assert len(seen) == RANKS
    for args in seen.values():
        assert [facts(kernel) for kernel in args] == expected[0]


def test_a_return_probe_of_another_tool_hides_no_collective(tmp_path):
    """The call is still recognized as open, although another tool has replaced its return address."""
    with tracing.return_probe(machine.SIMGPU / "libnccl.so.2", "ncclAllReduce"):
        done = tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu-%p.json", *PROGRAM, 1), env=WITH_NCCL)
    (expected,) = said(done.stdout.splitlines())
    (args,) = kernels(tmp_path).values()
    assert [facts(kernel) for kernel in args] == expected


def test_ranks_have_one_name_and_number_for_a_collective(started):
    folder, _ = started
    named = [[(kernel["Process Group Name"], kernel.get("Comms Id")) for kernel in args
              if kernel.get("Group size") == RANKS] for args in kernels(folder).values()]
    assert named[0] == named[1] and len({name for name, _ in named[0]}) == 1
    numbers = [number for _, number in named[0] if number is not None]
    assert len(set(numbers)) == len(numbers) == 7


def test_other_communicators_have_other_names(started):
    folder, _ = started
    names = {kernel["Process Group Name"] for args in kernels(folder).values() for kernel in args
             if "Process Group Name" in kernel}
    assert len(names) == 1 + RANKS


def test_the_report_has_them_by_line(started):
    folder, done = started
    assert "GPU time by collective" in done.stdout
    said_json = tracing.gputrace(folder, "report", "--format", "json", folder / "trace.gpt").must_be(0).stdout
    (table,) = [table for table in json.loads(said_json)["tables"] if table["id"] == "collectives"]
    rows = {(row["collective"], row["bytes"]): row for row in table["rows"]}
    assert rows["allreduce", 4000]["kernels"] == RANKS
    assert rows["allreduce", 4000]["ranks"] == RANKS
    assert rows["allgather", 2 * 10 * RANKS]["kernels"] == RANKS
    assert "nccl_calls.py" in rows["allreduce", 4000]["file"] + rows["allreduce", 4000].get("line", "")


def test_what_gpus_did_is_what_the_simulated_gpu_recorded(started):
    """By process: its own work; by GPU: that of both ranks, which share it."""
    folder, _ = started
    said_json = tracing.gputrace(folder, "report", "--format", "json", folder / "trace.gpt").must_be(0).stdout
    found = {table["id"]: table["rows"] for table in json.loads(said_json)["tables"]}
    every = ([], [], [])
    for row in found["breakdown_processes"]:
        work = truth.load(folder / f"gpu-{row['pid']}.json")
        spans = ([], [], [])
        for one in truth.work(work, "kernel", "memcpy", "memset"):
            kind = 2 if one["kind"] != "kernel" else 1 if one["name"].startswith("nccl") else 0
            spans[kind].append((one["start"], one["end"]))
            every[kind].append((one["start"], one["end"]))
        assert {name: row[name] for name in gpu_time.PARTS} == gpu_time.nearly(gpu_time.split(*spans))
        assert row["exposed_communication_ns"] > 0
    (row,) = found["breakdown"]
    assert {name: row[name] for name in gpu_time.PARTS} == gpu_time.nearly(gpu_time.split(*every))
    (work,) = gpu_time.operations(gpu_time.load(folder / "trace.json")).values()
    assert {name: row[name] for name in gpu_time.PARTS} == gpu_time.divided(work)
    (line,) = found["breakdown_lines"]  # named by the collective that took longest, which may be any on a busy machine
    assert line["communication"] and Path(line["file"]).name == "nccl_calls.py"


def test_ranks_are_known_of_communicators_from_before(attached):
    folder, _, expected = attached
    assert len(expected) == 2
    (args,) = kernels(folder).values()
    without_number = [step and {name: value for name, value in step.items() if name != "Seq"}
                      for step in expected[0] + expected[1]]
    assert [facts(kernel) for kernel in args] == without_number


def test_their_name_is_the_process_s_own(attached):
    folder, _, _ = attached
    (args,) = kernels(folder).values()
    assert all(kernel["Process Group Name"].startswith("0x") for kernel in args if "Process Group Name" in kernel)


@pytest.mark.torch
def test_the_real_nccl_is_probed_whole(tmp_path):
    """In PyTorch's real libnccl all functions are probed at entry and return, and the offset of ranks is known."""
    installed = Path(machine.tool("get-torch")).parent.parent
    (library,) = installed.glob("lib/python*/site-packages/nvidia/nccl/lib/libnccl.so.2")
    program = f"import ctypes; nccl = ctypes.CDLL('{library}'); nccl.ncclGroupStart(); nccl.ncclGroupEnd()"
    done = tracing.trace(tmp_path, [machine.any_python(), "-c", program])
    assert "cannot be probed" not in done.stdout + done.stderr
    trace = json.loads((tmp_path / "trace.json").read_text())
    (line,) = [line for line in trace["gputrace"]["probes"] if "nccl" in line]
    functions = re.findall(r"^\tR\(\w+, (\w+),", (machine.ROOT / "include/gputrace/nccl.h").read_text(), re.M)
    assert line.startswith(f"libnccl.so.2: {2 * len(functions)} probe sites, {len(functions)} of them slow")


def test_the_files_keep_their_promises(started, attached):
    for folder in (started[0], attached[0]):
        chrome.assert_valid(folder / "trace.json")
        assert reading.receipt(reading.trace_of(folder / "trace.json"))["bad_records"] == 0
