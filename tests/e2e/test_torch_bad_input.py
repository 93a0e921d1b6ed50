# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ops of PyTorch (--ops) with an unusual PyTorch or unusual use of it: the program goes on as before, and what is not
seen is reported.

Copies of PyTorch and unknown versions are small libraries that pretend to be libtorch_cpu (tests/unit/fake_torch.c), as
one process cannot have two real ones.  The tests of names, forks and a stripped library use the real PyTorch.
"""

import collections
import json
import pathlib
import subprocess

import logfile
import machine
import pytest
import reading
import tracing
from reading import chrome
from test_hostile_names import steers

KNOWN, UNKNOWN = 0x020e010000000000, 0x0263010000000000  # 2.14.1, 2.99.1
ANOTHER = "there is another PyTorch in the process, whose ops are not seen"
CUT = 16384  # maximum length of an op's name (docs/design/limits.md)
STEERING = "\x1b\x7f\u202e\u2066"  # the steering characters in the names


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """copy(version): the path of a new library that reports that version."""
    def build(version):
        folder = tmp_path_factory.mktemp("torch")
        return machine.compile_library(machine.ROOT / "tests/unit/fake_torch.c", folder / "libtorch_cpu.so",
                                       f"-DFAKE_VERSION={version}u")
    return build


@pytest.fixture
def target(tmp_path):
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "torch_copies.py")
    with tracing.Running(program, tmp_path) as running:
        running.wait_line("ready")
        yield running
        assert running.end().code == 0


def names(folder):
    """{name: count} of the ops in a trace, without steps, which are found by launches."""
    trace = reading.trace_of(folder / "trace.json")
    receipt = reading.receipt(trace)
    assert receipt.get("ops_lost", 0) == receipt["bad_records"] == 0
    found = collections.Counter(op["name"] for op in chrome.events(trace, "cpu_op", "user_annotation"))
    return {name: count for name, count in found.items() if not name.startswith("ProfilerStep#")}


def said(done):
    """The report as one line."""
    return " ".join(done.must_be(0).stdout.split())


def test_a_version_that_is_not_known_is_refused_by_name_and_launches_are_there(target, tmp_path, copy):
    path = copy(UNKNOWN)
    with tracing.Tracer(tmp_path, "--ops", "-p", target.pid) as tracer:
        target.ask(f"load {path}")  # during the trace
        tracer.wait_logged(logfile.says_refused)
        target.ask(f"ops {path} odd 5")
        target.ask("steps 2")
        target.ask("finish")
        target.ask(f"truth {tmp_path}/program.json")
        done = tracer.interrupt()
    assert f"{target.pid}: PyTorch 2.99.1 is not known to this gputrace" in said(done)
    assert names(tmp_path) == {}
    trace = reading.trace_of(tmp_path / "trace.json")
    assert reading.trace_line_ns(trace) == reading.truth_line_ns(reading.program(tmp_path / "program.json"))


def test_of_two_the_one_that_is_known_is_observed(target, tmp_path, copy):
    unknown, known = copy(UNKNOWN), copy(KNOWN)
    target.ask(f"load {unknown}")
    with tracing.Tracer(tmp_path, "--ops", "-p", target.pid) as tracer:
        tracer.wait_logged(logfile.says_refused)
        target.ask(f"load {known}")
        target.ask(f"observed {known}")
        tracer.wait_logged(logfile.says_observing)
        target.ask(f"ops {unknown} unknown 3")
        target.ask(f"ops {known} known 5")
        done = tracer.interrupt()
    assert ANOTHER in said(done)
    assert names(tmp_path) == {"known": 5}


@pytest.mark.parametrize("how", ("load", "load_apart"))
def test_another_that_comes_while_one_is_observed_is_said(target, tmp_path, copy, how):
    first, second = copy(KNOWN), copy(KNOWN)
    target.ask(f"load {first}")
    with tracing.Tracer(tmp_path, "--ops", "-p", target.pid) as tracer:
        tracer.wait_logged(logfile.says_observing)
        target.ask(f"{how} {second}")
        target.ask(f"ops {first} seen 5")
        target.ask(f"ops {second} unseen 5")
        done = tracer.interrupt()
    assert ANOTHER in said(done)
    assert names(tmp_path) == {"seen": 5}


def test_one_that_is_unloaded_while_it_is_observed_goes_when_gputrace_does(target, tmp_path, copy):
    path = copy(KNOWN)
    for number in range(2):
        target.ask(f"load {path}")
        with tracing.Tracer(tmp_path, "--ops", "-p", target.pid) as tracer:
            target.ask(f"observed {path}")
            tracer.wait_logged(logfile.says_observing)
            target.ask(f"ops {path} round-{number} 5")
            target.ask(f"unload {path}")
            target.ask("steps 1")
            tracer.interrupt().must_be(0)
        assert names(tmp_path) == {f"round-{number}": 5}
        tracing.until(lambda: str(path) not in pathlib.Path(f"/proc/{target.pid}/maps").read_text())
        target.ask("steps 1")


# ---- the real PyTorch ---------------------------------------------------------------------------

def is_shown(name, found):
    """Whether `found` is how files show the name: on one line, without steering characters, its first 16 KB."""
    safe = "".join(" " if c.isspace() else "\ufffd" if c in STEERING else c for c in name)
    return found == safe or (len(name) > CUT and found.endswith("...") and len(found) > CUT - 64 and safe.startswith(found[:-3]))


class Odd:
    """One run of programs/torch_odd.py, traced twice: from before it loads PyTorch, and from within an op."""

    def __init__(self, folder, command):
        self.first, self.second = folder / "first", folder / "second"
        self.first.mkdir()
        self.second.mkdir()
        with tracing.Running(command, folder) as running:
            running.wait_line("ready")
            with tracing.Tracer(self.first, "--ops", "-p", running.pid) as tracer:
                running.ask("load")
                running.ask("observed")
                tracer.wait_logged(logfile.says_observing)
                running.ask("names")
                self.names = json.loads(next(line for line in running.said if line.startswith("[")))
                running.ask("worker")
                running.ask("relu 7")
                running.ask("open")
                self.done = tracer.interrupt().must_be(0)
            running.ask("unobserved")
            with tracing.Tracer(self.second, "--ops", "-p", running.pid) as tracer:
                running.ask("observed")
                tracer.wait_logged(logfile.says_observing)
                running.ask("close")
                running.ask("relu 3")
                tracer.interrupt().must_be(0)
            running.ask("unobserved")
            self.ended = running.end()
            self.pid = running.pid


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    return Odd(tmp_path_factory.mktemp("odd"), [machine.tool("get-torch"), machine.PROGRAMS / "torch_odd.py"])


@pytest.mark.torch
def test_the_program_goes_on_as_before(odd):
    odd.ended.must_be(0)


@pytest.mark.torch
def test_names_with_odd_characters_are_as_the_program_gave_them_long_ones_are_cut(odd):
    found = names(odd.first)
    for name in odd.names:
        assert [count for text, count in found.items() if is_shown(name, text)] == [1]


@pytest.mark.torch
def test_no_name_of_an_op_steers_a_terminal(odd):
    done = tracing.command(odd.first, machine.GPUTRACE, "report", "--ops", "--rows", 1000, odd.first / "trace.gpt").must_be(0)
    for text in (odd.done.stdout, done.stdout):
        assert steers(text.encode()) == set()
    assert "[31mred" in done.stdout


@pytest.mark.torch
def test_a_forked_worker_goes_on_and_does_not_say_its_ops_as_the_programs(odd):
    assert names(odd.first)["aten::relu"] == 7


@pytest.mark.torch
def test_an_op_that_is_open_at_the_end_is_reported_and_its_end_in_a_later_trace_is_nothing(odd):
    assert names(odd.first)["open across"] == 1
    assert names(odd.second)["aten::relu"] == 3
    assert "open across" not in names(odd.second)


# Mounts the library "$0" over "$1" for the program that follows only.
IN_PLACE = 'mount --bind "$0" "$1" && shift && exec "$@"'


@pytest.mark.torch
def test_without_its_symbol_table_the_same_is_seen(tmp_path):
    """.dynsym remains; it has all functions that are probed."""
    python, stripped = machine.tool("get-torch"), tmp_path / "libtorch_cpu.so"
    (library,) = python.parents[1].glob("lib/python3*/site-packages/torch/lib/libtorch_cpu.so")
    subprocess.run(["strip", "-o", stripped, library], check=True)
    program = ["unshare", "--mount", "sh", "-c", IN_PLACE, stripped, library, python, machine.PROGRAMS / "torch_odd.py"]
    with tracing.Running(program, tmp_path) as running:
        running.wait_line("ready")
        with tracing.Tracer(tmp_path, "--ops", "-p", running.pid) as tracer:
            running.ask("load")
            running.ask("observed")
            tracer.wait_logged(logfile.says_observing)
            running.ask("relu 7")
            tracer.interrupt().must_be(0)
        running.end().must_be(0)
    stripped.unlink()  # 0.4 GB
    assert names(tmp_path)["aten::relu"] == 7
    assert reading.trace_of(tmp_path / "trace.json")["gputrace"]["notes"] == []
