# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Full tables, and reused numbers of files, inodes and processes: nothing is silently missing or mixed up."""

import signal

import logfile
import machine
import pytest
import reading
import tracing

COMPLETE = "Complete: 10 launches recorded, 0 lost; 100.0 % of launches under a Python line"


def trace(folder, program, *arguments):
    command = [machine.any_python(), machine.PROGRAMS / program, machine.cudart(), *arguments]
    return tracing.gputrace(folder, "--agent", "off", "-o", folder / "trace.gpt", "--", *command).must_be(0)


def test_a_libcudart_is_probed_however_many_files_with_code_were_mapped_before(tmp_path):
    assert COMPLETE in trace(tmp_path, "many_files.py", tmp_path, "1500").stdout


def test_a_libcudart_is_probed_where_another_file_had_its_inode_before(tmp_path):
    assert COMPLETE in trace(tmp_path, "inodes.py", tmp_path).stdout


def test_a_file_that_the_kernel_does_not_probe_is_named_and_counted(tmp_path):
    library = machine.compile_program(machine.PROGRAMS / "refused_cudart.c", tmp_path / "libcudart.so.98", "-shared",
                                      "-fPIC")
    command = [machine.any_python(), "-c", f"import ctypes; ctypes.CDLL({str(library)!r})"]
    tracing.gputrace(tmp_path, "-q", "--agent", "off", "-o", tmp_path / "trace.gpt", "--", *command).must_be(0)
    assert logfile.has_note(tmp_path / "trace.gpt", f"{library} cannot be probed")
    report = tracing.gputrace(tmp_path, "report", tmp_path / "trace.gpt").must_be(0).stdout
    assert "\n  1 file with CUDA calls that could not be probed\n" in report


# Statements of a function whose line table is larger than what is read of one (GPT_CODE_LINES_MAX), and a smaller one.
LONG, SHORT = 140_000, 1_000


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.11"])  # the three forms of tables
def test_a_function_with_a_larger_line_table_than_is_read_has_no_line_and_no_wrong_one(tmp_path, version):
    lines = ["import sys", f"sys.path.insert(0, {str(machine.PROGRAMS)!r})", "import recorded",
             "recorded.Stream.from_param = staticmethod(lambda value: value)", "launch = recorded.launchers(sys.argv[1])[0]"]
    for name, statements in (("long", LONG), ("short", SHORT)):
        lines += [f"def {name}(a):", "    launch(0)", *["    a = a + 1"] * statements, "    launch(1)", f"{name}(1)"]
    program = tmp_path / "lines.py"
    program.write_text("\n".join(lines) + "\n")
    command = [machine.python(version), program, machine.cudart()]
    tracing.trace(tmp_path, command, "--agent", "off")
    stacks = [stack.split(";")[-2:] for stack in reading.folded(tmp_path / "trace.folded")]
    places = sorted(frame.replace(":0)", ")") for frames in stacks for frame in frames if frame.startswith(("long", "short")))
    short = 1 + next(number for number, line in enumerate(lines, 1) if line == "def short(a):")
    assert places == ["long (lines.py)", f"short (lines.py:{short})", f"short (lines.py:{short + SHORT + 1})"], \
        (stacks, logfile.stack_states(tmp_path / "trace.gpt"))
    report = tracing.gputrace(tmp_path, "report", tmp_path / "trace.gpt").must_be(0).stdout
    assert "Complete: 4 launches recorded, 0 lost; 50.0 % of launches under a Python line" in report


UNREAD = "1 function without lines or name: memory that could not be read, however often it was tried"


def places_of_long(folder, kind_of_python, launches, absent):
    """{place of `long`: launches}, and the report"""
    command = [kind_of_python, machine.PROGRAMS / "absent_lines.py", machine.cudart(), launches, absent]
    tracing.trace(folder, command, "--agent", "off")
    frames = [(stack.split(";")[-2], count) for stack, count in reading.folded(folder / "trace.folded").items()]
    report = tracing.gputrace(folder, "report", folder / "trace.gpt").must_be(0).stdout
    return {frame.replace(":0)", ")"): count for frame, count in frames if frame.startswith("long")}, " ".join(report.split())


@pytest.mark.kernels
def test_a_line_table_that_is_absent_for_a_moment_is_read_again(kind_of_python, tmp_path):
    """The kernel moves pages; a page of the table that nobody may read stands for it."""
    places, report = places_of_long(tmp_path, kind_of_python, 12, 2)
    assert places == {"long (long.py)": 2, "long (long.py:20004)": 10}
    assert "without lines" not in report


def test_a_line_table_that_stays_absent_is_counted(kind_of_python, tmp_path):
    places, report = places_of_long(tmp_path, kind_of_python, 40, 40)
    assert places == {"long (long.py)": 40}
    assert UNREAD in report


def test_processes_beyond_the_table_are_counted(tmp_path):
    """18 of 16,402 processes exceed GPT_MAX_PROCESSES; the last one launches."""
    program = machine.compile_program(machine.PROGRAMS / "many_processes.c", tmp_path / "many_processes", "-ldl")
    command = [program, machine.cudart(), "16400"]
    report = tracing.gputrace(tmp_path, "--agent", "off", "--", *command).must_be(0).stdout
    assert "Incomplete: 0 launches recorded, 18 lost" in report
    assert "\n  18 processes, or calls of them, beyond what gputrace can follow\n" in report


@pytest.mark.kernels
def test_a_process_has_no_lines_of_one_that_had_its_pid_and_its_memory_before(kind_of_python, tmp_path):
    """Memory that the kernel is just moving to another place cannot be read: that stack is marked as unreadable.  How
    often this happens depends on the machine's load, but fewer than half of the stacks are lost.  So does whether the
    kernel lets gputrace stop the parent before it forks: if not, the log says that calls may be missing."""
    command = [kind_of_python, machine.PROGRAMS / "pids.py", machine.cudart(), "20"]
    tracing.trace(tmp_path, command, "--agent", "off")
    stacks = reading.folded(tmp_path / "trace.folded")
    launched = {stack.split(";")[-2].split(" ")[0]: count for stack, count in stacks.items()}
    unknown = sum(count for stack, count in stacks.items() if " (stack not known);" in stack)
    functions = {f"f{number:04}" for number in range(20)}
    states = logfile.stack_states(tmp_path / "trace.gpt")
    assert set(states) <= {logfile.STACK_OK, logfile.STACK_UNREADABLE} and unknown == states[logfile.STACK_UNREADABLE] < 10
    assert unknown + len(functions & set(launched)) == 20 or logfile.has_note(tmp_path / "trace.gpt", "calls may be missing")
    assert all(launched[function] == 1 for function in functions & set(launched))


def test_a_process_that_gets_the_pid_of_a_traced_child_is_not_traced(tmp_path):
    """gputrace learns of the child when it has ended and another process has its pid."""
    library = machine.cudart()
    with tracing.target(tmp_path, library) as target:
        with tracing.Tracer(tmp_path, "-p", target.pid) as tracer:
            tracer.process.send_signal(signal.SIGSTOP)
            tracing.until(lambda: all(tracing.state(path) == "T" for path in tracing.Path(f"/proc/{tracer.pid}/task").iterdir()))
            target.process.stdin.write("fork_and_end\n")
            pid = target.wait_line("child").split()[1]
            stranger = [machine.any_python(), machine.PROGRAMS / "with_pid.py", pid, machine.any_python(),
                        machine.PROGRAMS / "obedient.py", library]
            with tracing.Running(stranger, tmp_path) as other:
                assert other.wait_line("ready").split()[1] == pid
                tracer.process.send_signal(signal.SIGCONT)
                target.ask("steps 1")
                tracer.wait_logged(logfile.has_calls)
                other.ask("steps 1")
                tracer.interrupt().must_be(0)
    seen = {record.values["pid"] for record in logfile.records(tmp_path / "trace.gpt", logfile.PROCESS, logfile.CALL_ARGS)}
    assert seen == {target.pid}
