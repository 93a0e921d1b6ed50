# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What makes a flight recorder write is what a program says that it did, when it says so: a line that keeps the GPU without
work, a process that hangs on its GPU, a rank that comes late to a collective, and an error that NVML reports."""

import contextlib
import re
import shutil
import time

import gptlog
import logfile
import machine
import pytest
import tracing
import truth

PROGRAM = machine.PROGRAMS / "triggers.py"
RANKS = machine.WORKLOADS / "nccl_ranks.py"
WAYS = pytest.mark.parametrize("way", ["bpf", "agent"])
KEPT = " s are kept: kill -USR1 "
GAP_S, HANG_S = 1, 6  # triggers.py


class Program(tracing.Running):
    def __init__(self, folder):
        super().__init__(tracing.on_simgpu(folder / "gpu.json", machine.any_python(), PROGRAM), folder)
        self.wait_line("ready")

    def do(self, word):
        """From when to when it did that."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        _, did, begun, ended = self.wait_line("did ").split()
        assert did == word
        return float(begun), float(ended)


def recorder(folder, *options, pid=None, command=(), span="20s", env=None):
    target = ["-p", pid] if pid else ["--", *command]
    return tracing.Running([machine.GPUTRACE, "--flight-recorder", span, *tracing.outputs(folder, "trace.gpt"), *options, *target],
                           folder, env=env)


@contextlib.contextmanager
def recorded(folder, *options, **more):
    """A program, and the flight recorder that has it."""
    with Program(folder) as program, recorder(folder, *options, pid=program.pid, **more) as running:
        running.wait_line(KEPT, "stderr")
        program.do("work")
        yield program, running
        program.end()
        running.end().must_be(0)


def written(folder, running, words=""):
    """The file that the recorder says it has written, and what it says of it; words: a file of another reason is another one, as
    the machine may keep the program waiting, too."""
    while words not in (line := running.wait_line(": written, the last", "stderr")):
        pass
    return folder / line.split("gputrace: ")[-1].split(": written")[0], line


def span_of(log):
    """Start and end of a recording in s of CLOCK_MONOTONIC."""
    (end,) = logfile.records(log, logfile.END)
    return gptlog.Log(log).start_ns / 1e9, end.values["time_ns"] / 1e9


def files(folder):
    return list(folder.glob("trace.2*.gpt"))


def line_of(mark):
    return next(number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith("# " + mark))


@WAYS
def test_a_gap_that_a_line_is_to_blame_for_makes_it_write_and_says_the_line(tmp_path, way):
    with recorded(tmp_path, "--way", way, "--trigger", "gap:line>700ms,before=1s") as (program, running):
        begun, ended = program.do("gap")
        log, line = written(tmp_path, running, "triggers.py")
    said = re.search(r"triggers\.py:(\d+) (?:pause|main) left a GPU without work for ([\d.]+) s", line)
    # the agent alone takes no samples: then it is the line of the launch that ended the gap
    assert said and int(said.group(1)) == line_of("gap" if way == "bpf" else "launch") and GAP_S - 0.05 <= float(said.group(2)) <= ended - begun + 0.1, line
    start, end = span_of(log)
    assert start < begun and ended < end


def test_a_gap_of_another_line_than_the_one_that_was_named_does_not(tmp_path):
    place = f"triggers.py:{line_of('other')}"
    with Program(tmp_path) as program, recorder(tmp_path, "--trigger", f"gap:{place}>700ms", pid=program.pid) as running:
        running.wait_line(KEPT, "stderr")
        program.do("work")
        for word in ("gap", "gap", "gap", "other"):  # each of them is looked at
            program.do(word)
        _, line = written(tmp_path, running)
        assert f"{place} other_pause left a GPU" in line
        program.end()
        assert "gaps were not looked at" not in running.end().must_be(0).stderr
    assert len(files(tmp_path)) == 1


def test_a_process_that_hangs_on_its_gpu_has_a_file_and_a_dump_beside_it(tmp_path):
    with recorded(tmp_path, "--trigger", "hang=3s,after=1s") as (program, running):
        program.do("rest")  # longer than that, but no call waits
        assert not files(tmp_path)
        begun, ended = program.do("hang")
        log, line = written(tmp_path, running)
        dump = running.wait_line(": what gputrace dump said then", "stderr")
    said = re.search(fr"pid {program.pid} hangs for ([\d.]+) s, in cuda(DeviceSynchronize|CtxSynchronize)", line)
    assert said and 3 <= float(said.group(1)) < ended - begun, line
    start, end = span_of(log)
    assert start < begun and begun + 3 < end < ended + 1
    text = (tmp_path / dump.split("gputrace: ")[-1].split(": what")[0]).read_text()
    assert f"triggers.py:{line_of('hang')}" in text and "hang" in text
    assert len(files(tmp_path)) == 1


def test_a_rank_that_comes_late_makes_it_write_and_is_named(tmp_path):
    """The simulated NCCL says when each rank's kernel began."""
    (tmp_path / "job").mkdir()
    command = tracing.on_simgpu(tmp_path / "gpu-%p.json", machine.any_python(), RANKS, 4, tmp_path / "job", "--kinds", "numbered",
                                "--rounds", 120)
    with recorder(tmp_path, "--trigger", "late>6ms,after=500ms,max=1/h", command=command,
                  env={"SIMGPU_NCCL": "1", "SIMGPU_DEVICES": "4"}) as running:
        log, line = written(tmp_path, running)
        running.end().must_be(0)
    said = re.search(r"rank (\d+), pid (\d+), came ([\d.]+) s after the median rank to allreduce (\d+)", line)
    assert said
    began = {}  # {pid: when its kernels began, in order}
    for path in tmp_path.glob("gpu-*.json"):
        for entry in truth.load(path):
            if entry["is"] == "collective":
                began.setdefault(entry["pid"], []).append(entry["begin"])
    number = int(said.group(4))
    of_all = sorted((sorted(times)[number], pid) for pid, times in began.items())
    assert len(of_all) == 4 and of_all[-1][1] == int(said.group(2))
    assert (of_all[-1][0] - of_all[1][0]) / 1e9 == pytest.approx(float(said.group(3)), abs=0.002)


@pytest.mark.parametrize("script, text", [("at=2.5 xid=79", "reports XID 79"),
                                          ("ecc=1 at=2.5 xid=0", "reports an ECC error that it cannot correct"),
                                          ("lost=2.5", "does not answer any more")])
def test_an_error_that_nvml_reports_makes_it_write(tmp_path, script, text):
    library = tmp_path / "nvml"
    library.mkdir()
    shutil.copy(machine.BUILD / "simgpu/libnvidia-ml.so.1", library)
    (library / "nvml-script").write_text(f"gpus=1 process=1 bytes=123456789 {script}\n")
    with recorded(tmp_path, "--trigger", "xid,before=1s,after=500ms", env={"LD_LIBRARY_PATH": str(library)}) as (_, running):
        log, line = written(tmp_path, running)
    (error,) = logfile.records(log, 46)
    at = error.values["time_ns"] / 1e9
    assert re.search(f"GPU [0-9a-f]{{8}} {text}", line)
    start, end = span_of(log)
    assert at == pytest.approx(float((library / "nvml-truth").read_text()) + 2.5, abs=0.5)
    assert start == pytest.approx(at - 1, abs=0.01) and end >= at + 0.5


def test_what_a_trigger_needs_and_does_not_get_is_said(tmp_path):
    with recorder(tmp_path, "--trigger", "xid", "--trigger", "late>1s",
                  command=tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), PROGRAM)) as running:
        running.wait_line(KEPT, "stderr")
        done = running.end().must_be(0)
    assert "--trigger xid: NVML did not answer, or stopped: gputrace doctor says why" in done.stderr
    assert "--trigger late: no two ranks were compared" in done.stderr


@pytest.mark.parametrize("lacks", ("events", "types", "register"))
def test_gpus_whose_errors_nvml_does_not_report_are_said(tmp_path, lacks):
    library = tmp_path / "nvml"
    library.mkdir()
    shutil.copy(machine.BUILD / "simgpu/libnvidia-ml.so.1", library)
    (library / "nvml-script").write_text(f"deny={lacks} gpus=2\n")
    with recorder(tmp_path, "--trigger", "xid", env={"LD_LIBRARY_PATH": str(library)},
                  command=tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), PROGRAM)) as running:
        running.wait_line(KEPT, "stderr")
        tracing.until(lambda: (library / "nvml-truth").exists())
        time.sleep(0.5)
        done = running.end().must_be(0)
    assert "--trigger xid: NVML reports no errors of 2 GPUs to gputrace" in done.stderr
