# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A libcupti that the user names: used in processes that gputrace starts and in those it attaches to, or refused with the
reason.  Its path reaches the process only as an argument of the agent's start."""

import shutil

import logfile
import machine
import pytest
import reading
import tracing

OBEDIENT = [machine.any_python(), machine.PROGRAMS / "obedient.py"]


def on_driver(folder, **env):
    """Environment of a program on the simulated GPU that does not map CUPTI by itself."""
    libraries = ("libcudart.so.13", "libcuda.so.1")
    return {"LD_PRELOAD": ":".join(str(machine.SIMGPU / name) for name in libraries),
            "SIMGPU_TRUTH": str(folder / "gpu.json"), **env}


@pytest.fixture
def named(tmp_path):
    """A CUPTI in a folder that is not searched."""
    folder = tmp_path / "named"
    folder.mkdir()
    shutil.copy(machine.SIMGPU / "libcuda.so.1", folder)
    return shutil.copy(machine.SIMGPU / "libcupti.so.13", folder)


def mapped_cuptis(pid):
    with open(f"/proc/{pid}/maps") as maps:
        return {line.split(maxsplit=5)[5].strip() for line in maps if "libcupti" in line}


@pytest.fixture
def target(tmp_path):
    def start(**env):
        running = tracing.Running(OBEDIENT, tmp_path, on_driver(tmp_path, **env))
        running.wait_line("ready")
        running.ask("steps 1")
        return running
    return start


def trace_once(running, folder, *options):
    """(report, number of GPU operations in the trace)"""
    with tracing.Tracer(folder, "-p", running.pid, *options) as tracer:
        tracer.wait_logged(lambda log: logfile.says_ready(log) or logfile.says_failed(log))
        running.ask("steps 2")
        running.ask("finish")
        done = tracer.interrupt().must_be(0)
    return done.stdout, reading.receipt(reading.trace_of(folder / "trace.json"))["gpu_operations"]


def doctor_says(folder, pid, *options):
    done = tracing.gputrace(folder, "doctor", "-p", pid, *options)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("  CUPTI")]
    return line[16:25].strip(), line[25:]


LAUNCHES = [machine.any_python(), "-c", f"""
import sys; sys.path.insert(0, {str(machine.WORKLOADS)!r})
import gpu; gpu.setup(); gpu.check(gpu.device_sync())
print(*{{line.split()[5] for line in open('/proc/self/maps') if 'libcupti' in line}})
"""]


def test_a_process_that_runs_uses_the_one_that_is_named(tmp_path, target, named):
    with target() as running:
        health, text = doctor_says(tmp_path, running.pid, "--cupti", named)
        assert health == "ok" and text.startswith("libcupti.so.13 is given by --cupti: /")
        _, operations = trace_once(running, tmp_path, "--cupti", named)
        assert operations > 0
        assert mapped_cuptis(running.pid) == {named}
        # the agent is there now; woken with the same CUPTI, or with none named, it uses the mapped one
        for options in (("--cupti", named), ()):
            assert trace_once(running, tmp_path, *options)[1] > 0
        assert mapped_cuptis(running.pid) == {named}


def test_a_program_that_is_started_uses_the_one_that_is_named(tmp_path, named):
    done = tracing.trace(tmp_path, LAUNCHES, "--cupti", named, env=on_driver(tmp_path))
    assert named in done.stdout.splitlines()


def test_beside_another_that_is_mapped_it_is_refused(tmp_path, target, named):
    with target() as running:
        trace_once(running, tmp_path)
        (mapped,) = mapped_cuptis(running.pid)
        assert doctor_says(tmp_path, running.pid, "--cupti", named)[1].startswith(
            "libcupti.so.13 is named, but another is mapped; no GPU times")
        report, operations = trace_once(running, tmp_path, "--cupti", named)
        assert not operations
        assert f"the process has another one mapped, {mapped}" in " ".join(report.split())
        assert mapped_cuptis(running.pid) == {mapped}
        # the refusal does not affect the next trace
        assert trace_once(running, tmp_path)[1] > 0


def test_one_of_another_cuda_is_refused(tmp_path, target, named):
    with target(SIMGPU_CUPTI_VERSION="12.4") as running:
        report, operations = trace_once(running, tmp_path, "--cupti", named)
    assert not operations
    assert "it is of CUDA 12, the libcudart of the process of CUDA 13" in " ".join(report.split())


def test_one_that_is_not_there_is_refused(tmp_path, target):
    with target() as running:
        nowhere = tmp_path / "libcupti.so.13"
        assert doctor_says(tmp_path, running.pid, "--cupti", nowhere)[1].startswith(
            "libcupti.so.13 is named and not there; no GPU times")
        report, operations = trace_once(running, tmp_path, "--cupti", nowhere)
        assert not operations
        assert f"the one that was named, {nowhere}: it cannot be read there" in " ".join(report.split())
        assert not mapped_cuptis(running.pid)


def test_one_that_finds_no_driver_is_no_agent_at_work(tmp_path, named):
    source = tmp_path / "cupti.c"
    source.write_text("unsigned cuptiGetVersion(unsigned *version) { (void)version; return 15; } // not initialized\n")
    finds_none = machine.compile_library(source, tmp_path / "libfinds_none.so", "-Wl,--no-as-needed", named,
                                         f"-Wl,-rpath,{machine.SIMGPU}")
    done = tracing.gputrace(tmp_path, "--agent", "require", "--cupti", finds_none, "--", *LAUNCHES,
                            env=on_driver(tmp_path)).must_be(tracing.OWN_FAILURE)
    assert "--agent require: no agent at work in python3" in done.stderr
    assert "(CUDA has no usable driver there: CUPTI does not find a usable driver)" in done.stderr
