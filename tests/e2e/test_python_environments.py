# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every CPython in every form: with and without symbols, static, embedded, in another root."""

import collections

import logfile
import machine
import pythons
import pytest
import reading
import tracing

ROUNDS = 4  # number of Py_Initialize and Py_Finalize


def assert_stacks_are_its_own(trace, truths):
    """Every call has the whole stack and line that the program recorded."""
    expected = collections.Counter()
    for truth in truths:
        expected.update(reading.truth_stacks(truth))
    assert sum(expected.values()) > 50
    assert reading.trace_stacks(trace, {call for call, _ in expected}) == expected


@pytest.fixture(params=machine.each_kind(machine.BUILT))
def version(request):
    machine.built_python(request.param)
    return request.param


@pytest.mark.parametrize("make", [pythons.shared_stripped, pythons.static, pythons.static_stripped],
                         ids=lambda make: make.__name__)
def test_a_python_built_in_another_way_is_exact(cudart, version, make, tmp_path):
    python = make(version, tmp_path)
    program = [python, machine.WORKLOADS / "real_cudart.py", cudart, "--steps", "3", "--truth",
               tmp_path / "program.json"]
    tracing.trace(tmp_path, program, *tracing.CALLS_ALONE)
    assert_stacks_are_its_own(reading.trace_of(tmp_path / "trace.json"), [reading.program(tmp_path / "program.json")])


def test_a_python_inside_a_library_of_another_name_is_exact_once_it_is_noticed(cudart, version, tmp_path):
    program, environment = pythons.inside_engine(version, tmp_path)
    words = [1, machine.PROGRAMS / "obedient.py", cudart]
    with tracing.Running([*program, *words], tmp_path, environment) as running:
        running.wait_line("ready")
        doctor = tracing.gputrace(tmp_path, "doctor", "-p", running.pid).stdout
        with tracing.Tracer(tmp_path, *tracing.CALLS_ALONE, "-p", running.pid) as tracer:
            running.ask("steps 5")
            running.ask(f"truth {tmp_path}/truth.json")
            tracer.interrupt().must_be(0)
    assert_stacks_are_its_own(reading.trace_of(tmp_path / "trace.json"), [reading.program(tmp_path / "truth.json")])
    assert any(line.startswith("  Python        ok") and "engine.so" in line for line in doctor.splitlines()), doctor


def test_functions_of_a_static_python_that_share_an_address_keep_their_names(cudart, version, tmp_path):
    python = pythons.static_stripped(version, tmp_path)
    program = [python, machine.PROGRAMS / "short_lived.py", cudart, tmp_path / "program.json", "300"]
    tracing.trace(tmp_path, program, *tracing.CALLS_ALONE)
    truth, trace = reading.program(tmp_path / "program.json"), reading.trace_of(tmp_path / "trace.json")
    assert truth["addresses"] < truth["names"] / 2, "no address was used again, so nothing was tested"
    expected = {("cudaLaunchKernel", f"made_{i}", f"made_{i}.py", 3 + i % 7): 1 for i in range(truth["names"])}
    assert reading.trace_lines(trace, {"cudaLaunchKernel"}) == expected


@pytest.mark.parametrize("make", [pythons.linked, pythons.opened], ids=lambda make: make.__name__)
def test_an_embedded_python_that_is_started_again_and_again_is_exact(cudart, version, make, tmp_path):
    program, environment = make(version, tmp_path)
    words = [ROUNDS, machine.PROGRAMS / "embedded.py", cudart, tmp_path / "truth-%d.json"]
    tracing.trace(tmp_path, [*program, *words], *tracing.CALLS_ALONE, env=environment)
    truths = [reading.program(path) for path in sorted(tmp_path.glob("truth-*.json"))]
    assert len(truths) == ROUNDS
    assert_stacks_are_its_own(reading.trace_of(tmp_path / "trace.json"), truths)


@pytest.mark.parametrize("version", machine.each_kind(machine.IN_ROOTS))
def test_a_python_in_its_own_mount_and_pid_namespaces_is_exact(cudart, version, tmp_path):
    program = [machine.root_python(version, isolated=True), machine.WORKLOADS / "real_cudart.py", cudart, "--steps", "3",
               "--truth", tmp_path / "program.json"]
    tracing.trace(tmp_path, program, *tracing.CALLS_ALONE)
    truth = reading.program(tmp_path / "program.json")
    assert truth["pid"] == 1
    assert_stacks_are_its_own(reading.trace_of(tmp_path / "trace.json"), [truth])


@pytest.mark.parametrize("version", machine.each_kind(machine.IN_ROOTS))
def test_a_running_python_in_other_namespaces_is_exact_and_examined(cudart, version, tmp_path):
    with tracing.target(tmp_path, cudart, python=machine.root_python(version, isolated=True)) as target:
        (pid,) = tracing.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split()
        doctor = tracing.gputrace(tmp_path, "doctor", "-p", pid).must_be(0)
        with tracing.Tracer(tmp_path, *tracing.CALLS_ALONE, "-p", pid) as tracer:
            tracer.wait_logged(logfile.has_python, int(pid))
            target.ask("steps 5")
            tracer.interrupt().must_be(0)
        target.ask(f"truth {tmp_path}/program.json")
    assert f"{version}." in doctor.stdout and "libcudart.so.13" in doctor.stdout
    assert_stacks_are_its_own(reading.trace_of(tmp_path / "trace.json"), [reading.program(tmp_path / "program.json")])
