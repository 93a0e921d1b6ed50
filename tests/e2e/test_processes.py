# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which processes are traced: running ones, children, programs in the same process, the whole machine."""

import collections
import contextlib
import os
import shutil

import logfile
import machine
import pytest
import reading
import tracing

LAUNCH = {"cudaLaunchKernel"}


def truths(folder):
    """Every truth file that the processes of a family wrote."""
    return [reading.program(path) for path in sorted(folder.glob("truth-*.json"))]


def assert_each_process_is_exact(trace, found):
    """Every process that launched has exactly its launches, and no other process has any."""
    expected = collections.defaultdict(collections.Counter)
    for truth in found:
        expected[truth["pid"]].update(reading.truth_stacks(truth))
    seen = {e["pid"] for e in reading.chrome.events(trace, *reading.chrome.API) if e["name"] in LAUNCH}
    assert seen == set(expected)
    for pid, stacks in expected.items():
        assert reading.trace_stacks(trace, LAUNCH, pid) == stacks


def own_copy(library, folder, name="libcudart.so.13"):
    """Copies the library to its own folder, like that of a virtual environment."""
    folder.mkdir(exist_ok=True)
    return shutil.copy(library, folder / name)


@pytest.mark.parametrize("how, generations, processes", [
    pytest.param("subprocess", 2, 3, marks=pytest.mark.kernels), pytest.param("exec", 2, 1, marks=pytest.mark.kernels),
    pytest.param("fork", 3, 4, marks=pytest.mark.kernels), ("mp-spawn", 2, 3), ("mp-fork", 2, 3), ("mp-forkserver", 2, 3)])
def test_a_command_and_its_descendants_are_exact_from_the_first_launch(cudart, tmp_path, how, generations, processes):
    program = [machine.any_python(), machine.PROGRAMS / "family.py", cudart, tmp_path, how, generations]
    tracing.trace(tmp_path, program, *tracing.CALLS_ALONE)
    found = truths(tmp_path)
    assert len({truth["pid"] for truth in found}) == processes
    assert_each_process_is_exact(reading.trace_of(tmp_path / "trace.json"), found)


def test_a_grandchild_of_another_python_version_is_exact(cudart, kind_of_python, tmp_path):
    family = [kind_of_python, machine.PROGRAMS / "family.py", cudart, tmp_path, "subprocess", "0"]
    code = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    launcher = ["/bin/sh", "-c", '"$@" || exit 1; true', "sh", machine.any_python(), "-c", code]
    tracing.trace(tmp_path, [*launcher, *family], *tracing.CALLS_ALONE)
    assert_each_process_is_exact(reading.trace_of(tmp_path / "trace.json"), truths(tmp_path))


@pytest.mark.kernels
def test_a_running_process_is_exact_from_the_moment_the_probes_are_in_place(cudart, kind_of_python, tmp_path):
    with tracing.target(tmp_path, cudart, python=kind_of_python) as target:
        target.ask("steps 5")
        target.ask("forget")
        with tracing.Tracer(tmp_path, *tracing.CALLS_ALONE, "-p", target.pid) as tracer:
            target.ask("steps 20")
            target.ask(f"truth {tmp_path}/truth.json")
            tracer.interrupt().must_be(0)
    truth = reading.program(tmp_path / "truth.json")
    assert sum(entry["count"] for entry in truth["stacks"]) > 300
    trace = reading.trace_of(tmp_path / "trace.json")
    assert reading.trace_stacks(trace, LAUNCH) == reading.truth_stacks(truth)


def test_the_trace_of_a_process_ends_with_it(cudart, tmp_path):
    with tracing.target(tmp_path, cudart) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("steps 3")
            target.ask(f"truth {tmp_path}/truth.json")
            target.end().must_be(0)
            done = tracer.end().must_be(0)
    assert "no traced process is left" in done.stderr
    truth = reading.program(tmp_path / "truth.json")
    assert reading.trace_stacks(reading.trace_of(tmp_path / "trace.json"), LAUNCH) == reading.truth_stacks(truth)


EXTENSION = """import ctypes, sys
sys.stdin.readline()
extension = ctypes.CDLL(sys.argv[1])
print("loaded", flush=True)
sys.stdin.readline()
def launches():
    for _ in range(7):
        extension.launch()
launches()
print("done", flush=True)
sys.stdin.readline()
"""


def trace_extension(folder, library, seen, *arguments):
    """Traces a Python that loads the library during the trace and launches once seen(log, *arguments) is true."""
    with tracing.Running([machine.any_python(), "-c", EXTENSION, library], folder) as running:
        with tracing.Tracer(folder, "-p", running.pid) as tracer:
            running.process.stdin.write("load\n")
            running.wait_line("loaded")
            tracer.wait_logged(seen, *arguments)
            running.ask("launch")
            tracer.interrupt().must_be(0)
        doctor = tracing.gputrace(folder, "doctor", "-p", running.pid).stdout
    return reading.trace_of(folder / "trace.json"), doctor


def extension_with_runtime(cudart, folder, *flags):
    """An extension with NVIDIA's static runtime, which lies beside libcudart.so."""
    library = folder / "extension.so"
    return machine.compile_library(machine.PROGRAMS / "static_runtime.c", library, *flags, "-Wl,--exclude-libs,ALL",
                                   f"-Wl,--undefined=cudaLaunchKernel,{cudart.parent}/libcudart_static.a")


def test_a_runtime_that_is_linked_into_an_extension_is_found_by_its_names(cudart, tmp_path):
    library = extension_with_runtime(cudart, tmp_path)
    trace, doctor = trace_extension(tmp_path, library, logfile.has_probes, library)
    assert reading.trace_lines(trace, LAUNCH) == {("cudaLaunchKernel", "launches", "<string>", 8): 7}
    assert any(line.startswith("  CUDA          ok       extension.so: ") for line in doctor.splitlines()), doctor


def test_a_runtime_that_is_linked_in_without_names_is_said_to_be(cudart, tmp_path):
    library = extension_with_runtime(cudart, tmp_path, "-s")
    with tracing.Running([machine.any_python(), "-c", EXTENSION, library], tmp_path) as running:
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            running.process.stdin.write("load\n")
            running.wait_line("loaded")
            tracer.wait_line("extension.so has a CUDA runtime without names", "stderr")
            running.ask("launch")
            report = tracer.interrupt().must_be(0).stdout
        doctor = tracing.gputrace(tmp_path, "doctor", "-p", running.pid).stdout
    assert f"pid {running.pid}: no agent, and in extension.so a CUDA runtime is linked whose names were stripped" in " ".join(report.split())
    assert not reading.trace_lines(reading.trace_of(tmp_path / "trace.json"), LAUNCH)
    assert "extension.so: a runtime is linked in" in doctor and "the agent sees its calls" in doctor, doctor


# The child lives until something is written into the FIFO, and then executes `true` or ends.
FORKING = """import ctypes, os, sys
sys.stdin.readline()
extension = ctypes.CDLL(sys.argv[1])
child = os.fork()
if not child:
    open(sys.argv[2]).read()
    if sys.argv[3] == "exec":
        os.execvp("true", ["true"])
    os._exit(0)
print("forked", child, flush=True)
os.waitpid(child, 0)
print("ended", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("then", ("exec", "end"))
def test_a_fork_that_calls_no_cuda_gets_no_note_about_the_runtime_that_its_parent_has(cudart, tmp_path, then):
    library = extension_with_runtime(cudart, tmp_path, "-s")
    os.mkfifo(tmp_path / "fifo")
    with tracing.Running([machine.any_python(), "-c", FORKING, library, tmp_path / "fifo", then], tmp_path) as running:
        with tracing.Tracer(tmp_path, "-p", running.pid) as tracer:
            running.process.stdin.write("load\n")
            child = int(running.wait_line("forked").split()[1])
            tracer.wait_line(f"pid {child}: {library} has a CUDA runtime without names", "stderr")
            (tmp_path / "fifo").write_text("go")
            running.wait_line("ended")
            report = tracer.interrupt().must_be(0).stdout
    assert f"pid {child}: no agent" not in " ".join(report.split())


def test_a_title_that_a_process_sets_later_is_its_name(cudart, tmp_path):
    """Ray's workers and vLLM's EngineCore set their titles late, too."""
    with tracing.target(tmp_path, cudart) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("title VLLM::EngineCore_DP0")
            target.ask("steps 1")
            tracer.wait_logged(logfile.says, logfile.PROCESS, b"VLLM::EngineCore_DP0")
            report = tracer.interrupt().must_be(0).stdout
    assert f"VLLM::EngineCore_DP0 (pid {target.pid})" in report and "Python 3" in report


def test_without_the_agent_a_running_process_gives_launches_and_the_report_says_why(tmp_path):
    with tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        target.ask("forget")
        with tracing.Tracer(tmp_path, "-p", target.pid, "--agent", "off") as tracer:
            target.ask("steps 5")
            target.ask(f"truth {tmp_path}/truth.json")
            done = tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    assert reading.trace_stacks(trace, LAUNCH) == reading.truth_stacks(reading.program(tmp_path / "truth.json"))
    assert not reading.chrome.events(trace, *reading.chrome.GPU)
    said = f"No GPU times for pid {target.pid}: the trace was taken with --agent off. To get them: record without it."
    assert said in " ".join(done.stdout.split()) and "gputrace --" not in done.stdout


@pytest.mark.parametrize("functions", [("cudaLaunchKernel",), ("cuLaunchKernel",), pytest.param(
    ("cudaLaunchKernel", "cuLaunchKernel"), marks=pytest.mark.kernels)], ids="-".join)
def test_return_probes_of_another_tool_do_not_make_two_calls_of_one(tmp_path, functions):
    """A driver call inside a runtime call is not counted again, although the kernel has replaced return addresses."""
    with contextlib.ExitStack() as probes, tracing.target(tmp_path, truth=tmp_path / "gpu.json") as target:
        for function in functions:
            library = "libcudart.so.13" if function.startswith("cuda") else "libcuda.so.1"
            probes.enter_context(tracing.return_probe(machine.SIMGPU / library, function))
        target.ask("forget")
        with tracing.Tracer(tmp_path, "-p", target.pid, "--agent", "off") as tracer:
            target.ask("steps 5")
            target.ask(f"truth {tmp_path}/truth.json")
            tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    assert reading.trace_stacks(trace, {*LAUNCH, "cuLaunchKernel"}) == reading.truth_stacks(reading.program(tmp_path / "truth.json"))


def test_a_running_process_with_the_agent_inside_gives_gpu_times_from_the_next_cuda_start(tmp_path):
    injected = {"CUDA_INJECTION64_PATH": machine.AGENT}
    with tracing.target(tmp_path, "late", truth=tmp_path / "gpu.json", env=injected) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("load_simulated")
            target.ask("steps 5")
            target.ask("finish")
            tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    simulated = reading.simulated.load(tmp_path / "gpu.json")
    assert simulated and reading.trace_operations(trace) == reading.simulated_operations(simulated)


def test_children_that_a_running_process_has_are_traced(cudart, tmp_path):
    with tracing.target(tmp_path, cudart) as parent:
        child = [machine.any_python(), machine.PROGRAMS / "obedient.py", cudart]
        parent.ask("pipe_child " + " ".join(map(str, child)))
        with tracing.Tracer(tmp_path, "-p", parent.pid) as tracer:
            parent.ask("ask_child steps 4")
            parent.ask(f"ask_child truth {tmp_path}/truth-child.json")
            parent.ask("steps 2")
            parent.ask(f"truth {tmp_path}/truth-parent.json")
            tracer.interrupt().must_be(0)
    assert len(truths(tmp_path)) == 2
    assert_each_process_is_exact(reading.trace_of(tmp_path / "trace.json"), truths(tmp_path))


def test_children_that_a_traced_process_starts_later_are_traced(cudart, tmp_path):
    with tracing.target(tmp_path, cudart) as target:
        family = [machine.any_python(), machine.PROGRAMS / "family.py", cudart, tmp_path, "subprocess", 1]
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask("run " + " ".join(map(str, family)))
            tracer.interrupt().must_be(0)
    found = truths(tmp_path)
    assert len(found) == 2
    assert_each_process_is_exact(reading.trace_of(tmp_path / "trace.json"), found)


def test_several_processes_can_be_named(cudart, tmp_path):
    with tracing.target(tmp_path, cudart) as one, tracing.target(tmp_path, cudart) as other:
        pids = f"{one.pid},{other.pid}"
        with tracing.Tracer(tmp_path, "-p", pids) as tracer:
            for steps, target in ((3, one), (5, other)):
                target.ask(f"steps {steps}")
                target.ask(f"truth {tmp_path}/truth-{steps}.json")
            tracer.interrupt().must_be(0)
    assert_each_process_is_exact(reading.trace_of(tmp_path / "trace.json"), truths(tmp_path))


def test_a_libcudart_loaded_while_tracing_is_probed(cudart, tmp_path):
    with tracing.target(tmp_path, "late") as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            target.ask(f"load {own_copy(cudart, tmp_path / 'late')}")
            tracer.wait_logged(logfile.has_probes, tmp_path / "late/libcudart.so.13")
            target.ask("steps 3")
            target.ask(f"truth {tmp_path}/truth.json")
            tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    assert reading.trace_stacks(trace, LAUNCH) == reading.truth_stacks(reading.program(tmp_path / "truth.json"))


def test_copies_of_libcudart_in_several_environments_are_all_probed(cudart, tmp_path):
    copies = [own_copy(cudart, tmp_path / f"environment-{i}") for i in range(3)]
    script = 'for lib in "$@"; do "$PYTHON" "$FAMILY" "$lib" "$FOLDER" subprocess 0; done'
    program = ["/bin/sh", "-c", script, "sh", *copies]
    env = {"PYTHON": machine.any_python(), "FAMILY": machine.PROGRAMS / "family.py", "FOLDER": tmp_path}
    tracing.trace(tmp_path, program, env=env)
    found, trace = truths(tmp_path), reading.trace_of(tmp_path / "trace.json")
    assert len(found) == 3
    assert_each_process_is_exact(trace, found)
    probes = "\n".join(trace["gputrace"]["probes"])
    assert [copy for copy in copies if f"({copy})" not in probes] == []


@pytest.mark.kernels
def test_threads_that_launch_at_the_same_time_are_exact(cudart, kind_of_python, tmp_path):
    with tracing.target(tmp_path, cudart, python=kind_of_python) as target:
        with tracing.Tracer(tmp_path, *tracing.CALLS_ALONE, "-p", target.pid) as tracer:
            target.ask("threads 6 20")
            target.ask(f"truth {tmp_path}/truth.json")
            tracer.interrupt().must_be(0)
    trace = reading.trace_of(tmp_path / "trace.json")
    assert reading.trace_stacks(trace, LAUNCH) == reading.truth_stacks(reading.program(tmp_path / "truth.json"))


@pytest.mark.alone
def test_the_whole_machine_is_traced_without_p_and_every_process_gets_its_file(cudart, tmp_path):
    with tracing.target(tmp_path, cudart) as early, tracing.Tracer(tmp_path, names=()) as tracer:
        with tracing.target(tmp_path, cudart) as late:
            tracer.wait_logged(logfile.has_python, late.pid)
            for steps, target in ((3, early), (5, late)):
                target.ask("forget")
                target.ask(f"steps {steps}")
                target.ask(f"truth {tmp_path}/truth-{steps}.json")
            tracer.interrupt().must_be_of_machine()
    options = ["--process", early.pid, "--process", late.pid, "-o", tmp_path / "trace-%p.json"]
    tracing.gputrace(tmp_path, "export", tmp_path / "trace.gpt", *options).must_be_of_machine()
    for truth in truths(tmp_path):
        trace = reading.trace_of(tmp_path / f"trace-{truth['pid']}.json")
        assert reading.trace_stacks(trace, LAUNCH) == reading.truth_stacks(truth)
        assert {e["pid"] for e in reading.chrome.events(trace, *reading.chrome.API)} == {truth["pid"]}
