# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that strain the interpreter: endless recursion, thousands of threads, several interpreters, greenlets,
interactive code, JIT'ed trampolines.  The interpreter's own stacks are compared with the trace, on CPythons of
each kind or on all."""

import collections
import os
import subprocess

import machine
import pytest
import stacks
import tracing

MOST_FRAMES = 128  # frames kept of a stack: GPT_PYSTACK_MAX_FRAMES in include/gputrace/record.h
NOT_THERE = 77


def run(folder, python, program, *arguments, **more):
    """Runs gputrace -- PROGRAM; gives (recorded launches, launches in the trace)."""
    command = [*python, machine.PROGRAMS / program, machine.cudart(), folder / "truth.json", *arguments]
    done = tracing.gputrace(folder, *tracing.outputs(folder, "trace.json"), "--", *command, **more)
    if done.code == NOT_THERE:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    done.must_be(0)
    return stacks.recorded(folder / "truth.json")[0], stacks.traced(folder / "trace.json")


def assert_exact(expected, got, at_least):
    assert stacks.count(expected) >= at_least
    stacks.assert_complete(stacks.assert_equal(expected, got))


# ---- recursion ----------------------------------------------------------------------------------

def test_of_a_recursion_without_end_both_ends_are_kept_and_the_rest_is_counted(kind_of_python, tmp_path):
    expected, got = run(tmp_path, [kind_of_python], "deep.py", "100", "1000", "20000")
    (expected,), (got,) = expected.values(), got.values()
    assert [e.number for e in expected] == [g.number for g in got]
    depths = [len(e.frames) for e in expected]
    assert max(depths) > 20000 and min(depths) < MOST_FRAMES
    for e, g in zip(expected, got):
        if len(e.frames) > MOST_FRAMES:
            inner, outer = stacks.assert_both_ends(e, g)
            # With instances, the interpreter's own frames take up to half of the room.
            assert (inner, outer) == (95, 32) or "__init__" in e.frames[0] and inner >= 47 and outer >= 15
        else:
            assert e.frames == g.frames and not g.incomplete, stacks.difference(e.frames, g.frames)


# ---- threads and interpreters -------------------------------------------------------------------

def test_two_thousand_threads_at_the_same_time_have_their_own_stacks(kind_of_python, tmp_path):
    expected, got = run(tmp_path, [kind_of_python], "crowd.py", "2000")
    assert len(expected) == 2000
    assert_exact(expected, got, 4000)


def of_two_interpreters(folder, python, how):
    """The numbers order the launches of each interpreter, not those of both together."""
    expected, got = run(folder, [python], "interpreters.py", how)
    for tid, launches in stacks.recorded(folder / "truth.json.2")[0].items():
        expected[tid] = expected.get(tid, []) + launches
    return expected, {tid: sorted(launches) for tid, launches in got.items()}


def not_reported(folder, incomplete):
    """Without stacks that are missing for a known reason: up to 3.9 the interpreter that a thread runs is not known."""
    if stacks.recorded(folder / "truth.json")[1]["python"] >= [3, 10]:
        return incomplete
    return [(e, g) for e, g in incomplete if g.incomplete != "several interpreters on one thread"]


def assert_exact_or_reported(folder, expected, got):
    stacks.assert_complete(not_reported(folder, stacks.assert_equal(expected, got)))


def test_two_interpreters_in_turns_on_one_thread_have_their_own_stacks(every_python, tmp_path):
    expected, got = of_two_interpreters(tmp_path, every_python, "turns")
    assert stacks.count(expected) >= 80
    assert_exact_or_reported(tmp_path, expected, got)


def test_two_interpreters_on_two_threads_have_their_own_stacks(every_python, tmp_path):
    expected, got = of_two_interpreters(tmp_path, every_python, "own")
    assert stacks.count(expected) >= 180
    assert_exact_or_reported(tmp_path, expected, got)


def test_an_interpreter_that_was_made_on_another_thread_never_has_a_wrong_stack(every_python, tmp_path):
    """Up to 3.12 its thread state has the id of the thread that made it, so its stack may be missing."""
    expected, got = of_two_interpreters(tmp_path, every_python, "shared")
    incomplete = not_reported(tmp_path, stacks.assert_equal(expected, got))
    elsewhere = [pair for pair in incomplete if pair[0].frames[-1].startswith("<string>")]
    assert stacks.count(expected) >= 140
    stacks.assert_complete([pair for pair in incomplete if pair not in elsewhere])


def test_greenlets_have_the_frames_they_switched_to(kind_of_python, tmp_path):
    package = machine.package(kind_of_python, "greenlet<4")
    expected, got = run(tmp_path, [kind_of_python], "greenlets.py", env={"PYTHONPATH": package})
    assert_exact(expected, got, 1000)


# ---- freed functions ---------------------------------------------------------------------------

def test_a_function_is_never_taken_for_one_that_died_before_it_in_its_place(kind_of_python, tmp_path):
    """With so many functions gputrace drops the first ones before Python frees them."""
    functions, others = 110000, 10000
    command = [kind_of_python, machine.PROGRAMS / "mortal.py", machine.cudart(), functions, others]
    done = tracing.gputrace(tmp_path, "--buffer", "256M", *tracing.outputs(tmp_path, "trace.folded"), "--", *command)
    assert f"Incomplete: {functions + others:,} launches recorded, 0 lost" in done.must_be(0).stdout
    got = collections.Counter()
    for line in (tmp_path / "trace.folded").read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        got[stack.split(";")[-2]] += int(count)
    assert got == {f"f{number} (mortal.py:{number + 1})": 1 for number in range(1, functions + others + 1)}


# ---- backward passes ----------------------------------------------------------------------------

def passes(folder, python, *driver):
    """{number of a launch: its *_pass function, or None if that is not known} for programs/engine.py"""
    engine = folder / "libtorch_cpu.so"
    old_glibc = machine.ROOT / "tests/simgpu/core/old-glibc.h"  # the engine is also loaded in the roots of older suites
    subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-include",
                    old_glibc, "-o", engine, machine.PROGRAMS / "engine.c", "-ldl", "-lpthread"], check=True)
    command = [python, machine.PROGRAMS / "engine.py", engine, machine.cudart(), *driver]
    with tracing.Running(command, folder) as program:
        program.wait_line("ready")
        with tracing.Tracer(folder, "--agent", "off", "-p", program.pid) as tracer:
            program.ask("go")
            tracer.interrupt().must_be(0)
    launches = [launch for thread in stacks.traced(folder / "trace.json").values() for launch in thread]
    names = [[frame.split(": ")[-1] for frame in launch.frames] for launch in launches]
    return {launch.number: next((name for name in found if name.endswith("_pass")), None)
            for launch, found in zip(launches, names)}


def test_a_node_passes_on_the_stack_of_its_backward_until_it_returns(kind_of_python, tmp_path):
    got = passes(tmp_path, kind_of_python, machine.SIMGPU / "libcuda.so.1")
    assert sorted(got) == list(range(1, 18))
    # In the node, deeper in it, and deeper after it has returned.
    assert [got[number] for number in (1, 2, 3)] == ["first_pass", "first_pass", None]
    assert got[4] == "second_pass"
    # A node inside a node of the same pass; then of another pass: the pass is not known until both nodes have returned.
    assert [got[number] for number in (5, 6, 7, 8)] == ["third_pass"] * 4
    assert [got[number] for number in (9, 10, 11, 12, 13)] == ["third_pass", None, None, None, None]
    # On the thread that called backward(): its own frames, or none after Python has left that thread.
    assert [got[number] for number in (14, 15, 16, 17)] == ["fourth_pass"] * 3 + [None]


def test_a_program_without_the_driver_does_not_pay_for_what_backward_passes_launch(tmp_path):
    """The engine has no probes in it; with them, launches of its nodes would have the stack of the pass."""
    got = passes(tmp_path, machine.any_python())
    assert sorted(got) == list(range(1, 18))
    assert [got[number] for number in range(1, 14)] == [None] * 13


# ---- how the interpreter runs -------------------------------------------------------------------

def test_interactive_code_is_of_the_file_stdin(kind_of_python, tmp_path):
    lines = ["import sys", f"sys.path.insert(0, {str(machine.PROGRAMS)!r})", "import recorded",
             f"launch = recorded.launchers({str(machine.cudart())!r})[0]", "launch(0)", "for i in range(3):",
             "  launch(",
             "    0)", "", "def f():", "", "def f():", "  return [launch(0)", "    for _ in range(2)]", "", "f()",
             "exec('def g():\\n\\n launch(0)\\ng()')", "f(); f()",
             f"recorded.write({str(tmp_path / 'truth.json')!r})"]
    (tmp_path / "input").write_text("\n".join(lines) + "\n")
    with open(tmp_path / "input") as file:
        command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.json"), "--", kind_of_python, "-i"]
        tracing.command(tmp_path, *command, stdin=file).must_be(0)
    expected, got = stacks.recorded(tmp_path / "truth.json")[0], stacks.traced(tmp_path / "trace.json")
    assert all(e.frames[-1].startswith("<stdin") for launches in expected.values() for e in launches)
    assert_exact(expected, got, 11)


def test_trampolines_for_perf_do_not_show(every_python, tmp_path):
    """With -X perf each Python function is called through its own piece of code (3.12 and later)."""
    probe = tracing.command(tmp_path, every_python, "-c", "import sys; sys.activate_stack_trampoline")
    if probe.code:
        pytest.skip("this Python has no trampolines for perf")
    expected, got = run(tmp_path, [every_python, "-X", "perf"], "trees.py", "2000", "--seed", "3")
    os.unlink(f"/tmp/perf-{stacks.recorded(tmp_path / 'truth.json')[1]['pid']}.map")  # made by Python/perf_trampoline.c
    assert_exact(expected, got, 2000)
