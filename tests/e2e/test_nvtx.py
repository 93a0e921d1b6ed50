# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""NVTX ranges of programs that gputrace starts: NVIDIA's own NVTX on the simulated GPU."""

import collections
import contextlib
import os
import re
import sqlite3
import subprocess

import machine
import pytest
import reading
import tracing

HEADERS, LIBRARY = "nvidia-nvtx==13.5.25", "nvidia-nvtx-cu12==12.1.105"
LABELS = {"conv": "conv [layers]", "relu": "relu [layers]", "wide": "größe €", "cut": "x" * 197 + "..."}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def build(output, *flags):
    subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-shared", "-fPIC", "-o", output,
                    machine.PROGRAMS / "nvtx_ranges.c", *flags, "-ldl"], check=True)
    return output


@pytest.fixture(scope="module", params=["headers", "library"])
def library(request, tmp_path_factory):
    """The program, built with NVTX 3, which is headers only, and with the NVTX library of CUDA before 13."""
    output = tmp_path_factory.mktemp("nvtx") / "libnvtx_ranges.so"
    if request.param == "headers":
        header = next(machine.package(machine.any_python(), HEADERS).glob("**/nvtx3/nvToolsExt.h"))
        return build(output, "-isystem", header.parents[1])
    file = next(machine.package(machine.any_python(), LIBRARY).glob("**/libnvToolsExt.so.1"))
    return build(output, "-DNVTX_LIBRARY", "-isystem", file.parents[1] / "include", file, f"-Wl,-rpath,{file.parent}")


def program(library):
    return [machine.any_python(), machine.PROGRAMS / "nvtx_ranges.py", library]


def traced(folder, library, *options, env=None):
    done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *program(library)), *options, env=env)
    return done, reading.trace_of(folder / "trace.json"), reading.simulated.load(folder / "gpu.json")


def expected_ns(truth):
    """{range: GPU ns}, from the kernels' names, which list their ranges."""
    sums = collections.Counter()
    for kernel, ns in reading.simulated_kernel_ns(truth).items():
        for name in set(kernel.rpartition("_")[0].split(".")):
            sums[LABELS.get(name, name)] += ns
    del sums["none"]
    return sums


def reported(report):
    """[(GPU ns, operations, ranges, name)] of the report's table, and the table's unit in ns."""
    section = report.split("GPU time by NVTX range")[1].split("\n\n")[0].splitlines()
    unit = UNITS[section[1].split()[0]]
    rows = []
    for line in section[2:]:
        match = re.match(r" *([\d.,]+) +[\d.]+ +(\d+) +(\d+) +[\d.,]+ \w+ +(.+)$", line)
        if match:
            ns, operations, ranges, name = match.groups()
            rows.append((float(ns.replace(",", "")) * unit, int(operations), int(ranges), name.strip()))
    return rows, unit


def annotations(trace):
    return [e for e in trace["traceEvents"] if e.get("cat") == "user_annotation" and "NVTX" in e["args"]]


def test_kernels_count_for_the_ranges_they_were_launched_in(tmp_path, library):
    done, _, truth = traced(tmp_path, library, "--trace", "nvtx", "--min-complete", "100")
    rows, unit = reported(done.stdout)
    expected = expected_ns(truth)
    shown = {name: ns for ns, _, _, name in rows}
    assert len(rows) == 9
    for name, ns in expected.items():
        (found,) = [shown[label] for label in shown if label[:40] == name[:40]]
        assert abs(found - ns) <= unit / 10, name
    counted = {name: (operations, ranges) for _, operations, ranges, name in rows}
    assert counted["step"] == (18, 6)
    assert counted["conv [layers]"] == (6, 3)
    assert counted["early"] == (21, 1)
    assert counted["other"] == (1, 1)
    assert "% of GPU time was launched outside of all ranges" in done.stdout


def test_ranges_are_annotations_that_hold_their_launches(tmp_path, library):
    _, trace, _ = traced(tmp_path, library, "--trace", "cuda,nvtx")
    found = collections.Counter(e["name"] for e in annotations(trace))
    assert found["step"] == 6 and found["größe €"] == 3 and found["started"] == 1 and found["relu"] == 3
    assert {e["args"].get("domain") for e in annotations(trace)} == {None, "layers"}
    cut = {e["name"] for e in annotations(trace) if e["args"].get("end") == "not seen"}
    assert cut == {LABELS["cut"], "never ended"}
    marks = [e for e in trace["traceEvents"] if e.get("name") == "middle"]
    assert [mark["ph"] for mark in marks] == ["i"]
    calls = {e["args"]["correlation"]: e for e in trace["traceEvents"] if e.get("cat") == "cuda_runtime"}
    kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel" and ".relu" in e["name"]]
    spans = [(e["ts"], e["ts"] + e["dur"]) for e in annotations(trace) if e["name"] == "relu"]
    launched = [calls[e["args"]["correlation"]] for e in kernels]
    assert len(launched) == 3
    for call, (begin, end) in zip(launched, spans):
        assert begin <= call["ts"] and call["ts"] + call["dur"] <= end


def test_a_program_gets_the_answers_it_gets_without_a_tool(tmp_path, library):
    alone = tracing.command(tmp_path, *tracing.on_simgpu(tmp_path / "gpu.json", *program(library))).must_be(0)
    done, _, _ = traced(tmp_path, library, "--trace", "nvtx")
    answers = [line for line in done.stdout.splitlines() if line.startswith("answers")]
    assert answers == alone.stdout.splitlines() == ["answers -2"]


OPEN_BEFORE = """import ctypes
import sys
import threading

import gpu

gpu.setup()
nvtx = ctypes.CDLL(sys.argv[1])
for name in (b"outer", b"over"):
    nvtx.nvtxRangePushA(name)
nvtx.nvtxRangePop()
asked = threading.Thread(target=sys.stdin.readline, daemon=True)
asked.start()
print("ready", flush=True)
while asked.is_alive():
    gpu.launch(gpu.at("gelu_25us"), *gpu.SHAPE, None)
    asked.join(0.0003)
"""


def test_what_is_open_when_the_recording_begins_is_in_it_from_then_on(tmp_path):
    library = next(machine.package(machine.any_python(), LIBRARY).glob("**/libnvToolsExt.so.1"))
    (tmp_path / "open.py").write_text(OPEN_BEFORE, encoding="utf-8")
    command = [machine.GPUTRACE, "--start-at", "+8s", "-d", "300ms", "--trace", "cuda,nvtx", "-o", "trace.gpt", "--",
               *tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), tmp_path / "open.py", library)]
    with tracing.Running(command, tmp_path, env={"PYTHONPATH": machine.ROOT / "tests/workloads"}) as running:
        running.wait_line("ready")
        running.wait_line("goes on: gputrace ends with it", "stderr")
        running.end().must_be(0)
    tracing.gputrace(tmp_path, "export", "trace.gpt", "-o", "trace.json").must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    assert {e["name"] for e in annotations(trace)} == {"outer"}


def test_without_being_asked_for_there_are_none(tmp_path, library):
    done, trace, _ = traced(tmp_path, library)
    assert "NVTX" not in done.stdout
    assert not annotations(trace)


def test_another_tool_keeps_its_ranges_and_that_is_said(tmp_path, library):
    done, trace, _ = traced(tmp_path, library, "--trace", "nvtx", env={"NVTX_INJECTION64_PATH": "/opt/tool/libtool.so"})
    assert not annotations(trace)
    note = "no NVTX ranges: NVTX_INJECTION64_PATH names another tool already, /opt/tool/libtool.so"
    assert note in done.stderr
    assert note in " ".join(done.stdout.split())


@pytest.mark.torch
def test_ranges_of_pytorch_have_its_backward_pass_too(tmp_path):
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.tool("get-torch"), machine.PROGRAMS / "torch_nvtx.py")
    done = tracing.trace(tmp_path, command, "--trace", "cuda,nvtx")
    rows, unit = reported(done.stdout)
    work = reading.simulated.work(reading.simulated.load(tmp_path / "gpu.json"))
    expected = collections.Counter()
    for op in work:
        expected[op["label"] or "backward"] += op["end"] - op["start"]
    assert {name for *_, name in rows} == {"forward", "backward", "optimizer"}
    for ns, _, ranges, name in rows:
        assert ranges == 5
        assert abs(ns - expected[name]) <= unit / 10, name
    assert sum(op["label"] is None or op["label"] == "" for op in work) > 20


def test_a_query_on_the_database_names_kernels_by_the_innermost_range_that_was_pushed(tmp_path, library):
    """The query of nsys' user guide, "Rename CUDA Kernels with NVTX"; start/end ranges belong to no thread."""
    traced(tmp_path, library, "--trace", "nvtx")
    tracing.gputrace(tmp_path, "export", "trace.gpt", "-o", "trace.sqlite").must_be(0)
    with contextlib.closing(sqlite3.connect(tmp_path / "trace.sqlite")) as base:
        rows = base.execute("""
            SELECT names.value, (SELECT n.text FROM NVTX_EVENTS n WHERE n.eventType = 59 AND n.globalTid = call.globalTid
                                 AND n.start <= call.start AND n.end >= call.end ORDER BY n.start DESC LIMIT 1)
            FROM CUPTI_ACTIVITY_KIND_KERNEL kernel JOIN StringIds names ON names.id = kernel.shortName
            JOIN CUPTI_ACTIVITY_KIND_RUNTIME call USING (correlationId)""").fetchall()
    assert len(rows) == 25
    for kernel, found in rows:
        above = [LABELS.get(name, name).replace(" [layers]", "") for name in kernel.rpartition("_")[0].split(".")]
        pushed = [name for name in above if name not in ("none", "started")] or [None]
        assert found == ("never ended" if kernel.startswith("ended") else pushed[-1]), kernel
