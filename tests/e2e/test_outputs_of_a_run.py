# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Outputs of one real run of train.py on the simulated GPU, as people and their tools read them."""

import json
import os
import re
import struct
import subprocess

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome, simulated

RUN_HTA = machine.ROOT / "tests/e2e/consumers/run_hta.py"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "20", "--threads", "2", "--graph",
               "--truth", folder / "program.json"]
    done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu.json", *program))
    (folder / "report.txt").write_text(done.stdout.partition("steps 40\n")[2])
    return folder


def gpu_ns(folder):
    return sum(op["end"] - op["start"] for op in simulated.work(simulated.load(folder / "gpu.json")))


def test_flamegraph_ignores_no_line_and_draws_all_gpu_time(run):
    flamegraph = machine.tool("get-flamegraph")
    done = tracing.command(run, "perl", flamegraph, "--countname", "ns", run / "trace.folded").must_be(0)
    assert "Ignored" not in done.stderr and "ERROR" not in done.stderr
    totals = [int(text.replace(",", "")) for text in re.findall(r"<title>[^<]* \(([\d,]+) ns, ", done.stdout)]
    assert max(totals) == gpu_ns(run)


def test_folded_gpu_time_sums_to_what_the_gpu_worked(run):
    assert sum(reading.folded(run / "trace.folded").values()) == gpu_ns(run)


def test_folded_launches_count_every_call_that_gives_the_gpu_work(run, tmp_path):
    tracing.gputrace(tmp_path, "export", run / "trace.gpt", "-o", "l.folded", "--metric", "launches").must_be(0)
    counts = reading.without_leaf(reading.folded(tmp_path / "l.folded"))
    assert counts == reading.truth_folded(reading.program(run / "program.json"), "python3")


def test_hta_sees_every_operation_joined_and_every_kernels_time(run):
    exact = {"HTA_DISABLE_NS_ROUNDING": "1"}
    done = tracing.command(run, machine.tool("get-hta"), RUN_HTA, run / "trace.json", env=exact)
    found = json.loads(done.must_be(0).stdout.splitlines()[-1])
    entries = simulated.load(run / "gpu.json")
    waits = chrome.stream_waits(chrome.load(run / "trace.json"))
    assert found["gpu_rows"] == found["gpu_rows_joined"] == len(simulated.work(entries)) + len(waits)
    truth = reading.simulated_kernel_ns(entries)
    shown = {name: round(us * 1000) for name, us in found["kernel_us"].items() if name in truth}
    assert len(shown) >= 8 and shown == {name: truth[name] for name in shown}


def test_htas_validator_finds_the_trace_complete(run):
    done = tracing.command(run, machine.tool("get-hta"), "-m", "hta.utils.validate_trace", run / "trace.json",
                           "--level", "complete").must_be(0)
    assert "Validation result: True" in done.stdout + done.stderr


def test_the_report_has_no_colour_in_a_file(run):
    assert "\033" not in (run / "report.txt").read_text()


def table(report, title):
    """Rows of the report's table with that title, as lists of words."""
    lines = report.partition("\n" + title)[2].splitlines()[2:]
    end = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    return [line.split() for line in lines[:end]]


def test_the_report_gives_the_gpu_time_of_the_heaviest_line(run):
    truth = reading.truth_home_ns(reading.program(run / "program.json"))
    rows = {row[4]: float(row[0]) for row in table((run / "report.txt").read_text(), "GPU time by Python line")
            if ".py:" in row[4]}
    assert len(rows) >= 10
    for where, ms in rows.items():
        ns = sum(value for key, value in truth.items() if key.split()[0] == where)
        assert ms == pytest.approx(ns / 1e6, abs=0.051), where


def test_the_report_names_the_line_that_waits_for_the_gpu(run):
    rows = table((run / "report.txt").read_text(), "CPU in CUDA calls")
    waits = [row for row in rows if "cudaStreamSynchronize" in row]
    source = (machine.WORKLOADS / "train.py").read_text().splitlines()
    (line,) = [number for number, text in enumerate(source, 1) if '"cudaStreamSynchronize"' in text]
    assert [row[-2:] for row in waits] == [[f"train.py:{line}", "Trainer.loss_item"]]


def test_the_report_has_colour_on_a_terminal_unless_no_color_is_set_or_it_is_dumb(run):
    for no_color, terminal, coloured in (("", "xterm", True), ("1", "xterm", False), ("", "dumb", False)):
        script = f"exec {machine.GPUTRACE} report {run / 'trace.gpt'}"
        done = tracing.command(run, "script", "-qec", script, "/dev/null",
                               env={"NO_COLOR": no_color, "TERM": terminal}).must_be(0)
        assert ("\033[" in done.stdout) == coloured


@pytest.mark.kernels
def test_native_frames_stand_demangled_between_python_and_the_call(tmp_path, cudart):
    extension = machine.compile_library(machine.PROGRAMS / "native.c", tmp_path / "extension.so")
    with tracing.target(tmp_path, cudart) as target:
        with tracing.Tracer(tmp_path, "--native", "-p", target.pid, names=["trace.folded"]) as tracer:
            target.ask(f"native {extension} 25")
            tracer.wait_logged(logfile.has_symbol, "_ZN5tiles6launchEi")
            tracer.interrupt().must_be(0)
    ((stack, count),) = reading.folded(tmp_path / "trace.folded").items()
    assert stack.endswith(";extension_forward;tiles::launch(int);cudaLaunchKernel") and count == 25
    assert ";Work.native (obedient.py:" in stack or ";native (obedient.py:" in stack


def with_names(path, library, size):
    """A sparse copy of the library with `size` bytes of symbol names."""
    data = bytearray(library.read_bytes())
    sections, = struct.unpack_from("<Q", data, 40)  # Elf64_Ehdr.e_shoff; e_shentsize, e_shnum
    entry, count = struct.unpack_from("<HH", data, 58)
    headers = [sections + i * entry for i in range(count)]
    symbols = next(at for at in headers if struct.unpack_from("<I", data, at + 4) == (2,))  # SHT_SYMTAB, its sh_link
    names = headers[struct.unpack_from("<I", data, symbols + 40)[0]]
    offset, length = struct.unpack_from("<QQ", data, names + 24)
    struct.pack_into("<QQ", data, names + 24, len(data), size)
    path.write_bytes(data + data[offset:offset + length])
    os.truncate(path, len(data) + size)
    return path


def test_symbols_of_native_frames_take_bounded_memory_and_what_has_no_room_is_said(tmp_path, cudart):
    extension = machine.compile_library(machine.PROGRAMS / "native.c", tmp_path / "extension.so")
    many = [with_names(tmp_path / f"names{number}.so", extension, 200 << 20) for number in range(5)]
    with tracing.target(tmp_path, cudart) as target:
        with tracing.Tracer(tmp_path, "--native", "-p", target.pid, names=["trace.folded", "trace.json"]) as tracer:
            for path in many:
                target.ask(f"native {path} 2")
            tracer.wait_logged(logfile.has_note, "native frames in names")
            most_kb = tracing.memory_most_kb(tracer.pid)
            tracer.interrupt().must_be(0)
    assert most_kb < 800 << 10  # the files have 1,000 MB of names
    stacks = " ".join(reading.folded(tmp_path / "trace.folded"))
    assert "tiles::launch(int);" in stacks and "[unknown]" in stacks


def test_native_frames_are_never_those_of_the_agent(tmp_path):
    """libcudart keeps no frame pointers, so the call that led to the agent's frames may be missing from the stack."""
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "2"]
    tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *program), "--native", "--no-cpu", "--no-off-cpu", names=["trace.folded", "trace.json"])
    assert "cudaLaunchKernel" in (tmp_path / "trace.folded").read_text()
    for name in ("trace.folded", "trace.json"):
        assert not re.search("gputrace_agent|gputrace-agent", (tmp_path / name).read_text()), name


@pytest.mark.skipif(not os.path.exists("/usr/bin/script"), reason="no script(1)")
def test_progress_is_shown_on_a_terminal_only(tmp_path, cudart):
    # exec: else the Ctrl-C would end the shell, too.
    command = f"exec {machine.GPUTRACE} -p {os.getpid()}"
    with tracing.Running(["script", "-qec", command, "/dev/null"], tmp_path) as on_terminal:
        on_terminal.wait_line("events/s")
        on_terminal.process.stdin.write("\x03")
        on_terminal.end().must_be(0)
    said = tracing.gputrace(tmp_path, "-d", "1500ms", "-p", os.getpid()).must_be(0).stderr
    assert "events/s" not in said
    assert said.splitlines().count(f"gputrace: tracing pid {os.getpid()} (Ctrl-C ends)") == 1
    assert "tracing" not in tracing.gputrace(tmp_path, "-q", "-d", "100ms", "-p", os.getpid()).must_be(0).stderr


def test_the_page_has_a_row_of_what_a_gpu_holds(run):
    """Each of the two threads of train.py allocates one buffer and keeps it."""
    tracing.gputrace(run, "export", "trace.gpt", "-o", "page.html").must_be(0)
    data = json.loads(re.search(r'<script id="timeline-data"[^>]*>(.*?)</script>', (run / "page.html").read_text(), re.S).group(1))
    (row,) = [track for track, label, *_ in data["info"]["tracks"] if label == "memory from CUDA"]
    (boxes,) = [boxes for track, _, boxes in data["levels"][-1]["rows"] if track == row]
    (size,) = [eval(text) for text in re.findall(r"^BATCH_BYTES = (.*?) *(?:#.*)?$", (machine.WORKLOADS / "train.py").read_text(), re.M)]
    assert boxes[5::6] == [size, 2 * size]


@pytest.mark.skipif(not os.path.exists("/usr/bin/script"), reason="no script(1)")
def test_a_report_is_as_wide_as_its_terminal_and_whole_where_there_is_none(run):
    def widest(command):
        said = tracing.command(run, "script", "-qec", command, "/dev/null", env={"NO_COLOR": "1"}).must_be(0).stdout
        return max(len(line) for line in said.splitlines())
    assert widest(f"stty cols 80; exec {machine.GPUTRACE} report trace.gpt") <= 80
    assert widest(f"stty cols 150; exec {machine.GPUTRACE} report trace.gpt") <= 150
    assert "..." not in re.sub(r"(?m)^ +\.\.\. and .*$", "", tracing.gputrace(run, "report", "trace.gpt").must_be(0).stdout)
