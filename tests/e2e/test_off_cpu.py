# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where threads wait (--off-cpu): reasons, lines and wakers, compared with the program's own timing."""

import json

import chrome_invariants as chrome
import logfile
import machine
import pytest
import reading
import timelines
import tracing
from viewed import Viewed

pytestmark = pytest.mark.alone  # threads also wait for programs that take the processors

# Overhead in the program's timing of a wait: from its clock into the kernel, and back, with taking the GIL.
AROUND = 0.2


def off_cpu_table(folder, log="trace.gpt"):
    said = tracing.gputrace(folder, "report", "--format", "json", "--table", "off_cpu", log).must_be(0).stdout
    (table,) = json.loads(said)["tables"]
    return table["rows"]


@pytest.fixture(scope="module")
def waiting(kind_of_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("waiting")
    with tracing.Running([kind_of_python, machine.PROGRAMS / "activity.py", folder / "truth.json"], folder) as program:
        program.wait_line("ready")
        with tracing.Tracer(folder, "-p", program.pid, "--agent", "off", "--off-cpu", names=()) as tracer:
            program.ask("waits")
            tracer.interrupt().must_be(0)
        program.end()
    return folder, reading.program(folder / "truth.json")


def rows_of(folder, reason, function):
    return [row for row in off_cpu_table(folder) if row["reason"] == reason and row["line"].endswith(" " + function)]


@pytest.mark.parametrize("function, reason", [
    ("sleeps", "sleep"), ("reads_pipe", "pipe"), ("takes_lock", "lock (futex)"), ("waits_for_child", "child process")])
def test_each_wait_has_its_reason_line_and_time(waiting, function, reason):
    folder, truth = waiting
    rows = rows_of(folder, reason, function)
    wanted = truth["waits"][function]
    # one stack may be unreadable
    assert wanted["count"] - 1 <= sum(row["waits"] for row in rows) <= wanted["count"] + 2, rows
    assert (1 - AROUND) * wanted["ns"] <= sum(row["ns"] for row in rows) <= (1 + AROUND) * wanted["ns"], (rows, wanted)


def test_who_woke_it_is_the_line_that_did(kind_of_python, waiting):
    folder, _ = waiting
    sleeps = rows_of(folder, "sleep", "sleeps")
    # the BPF program misses a wake-up that interrupts it while it handles another
    assert sum(row["waits"] for row in sleeps if row["waker"] == "-") <= 1, sleeps
    assert {row["waker"] for row in sleeps} - {"-"} == {"(an interrupt)"}, sleeps
    assert {row["waker"].split()[-1] for row in rows_of(folder, "pipe", "reads_pipe")} == {"writes_pipe"}
    wakers = {row["waker"].split()[-1] for row in rows_of(folder, "lock (futex)", "takes_lock")}
    # on 3.6, whose GIL is not found, waits for the GIL are among them
    assert "holds_lock" in wakers and (wakers == {"holds_lock"} or "3.6" in str(kind_of_python))


def test_the_timeline_has_each_wait_beside_its_thread(waiting):
    folder, truth = waiting
    tracing.gputrace(folder, "export", "trace.gpt", "-o", "waits.json").must_be(0)
    trace = chrome.assert_valid(folder / "waits.json")
    slices = chrome.events(trace, "off_cpu")
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert {rows[e["pid"], e["tid"]] for e in slices} == {f"thread {e['args']['thread']} waits" for e in slices}
    assert sum(row["waits"] for row in off_cpu_table(folder) if row["reason"] != "no CPU (runnable)") == len(slices)
    for function, reason in (("sleeps", "sleep"), ("reads_pipe", "pipe"), ("waits_for_child", "child process")):
        wanted = truth["waits"][function]
        own = [e for e in slices if e["name"] == reason and e["args"]["thread"] == wanted["tid"] and
               "Call stack" in e["args"] and reading.innermost(e)[0] == function]
        ns = sum(chrome.ns(e["dur"]) - e["args"].get("runnable ns", 0) for e in own)
        # one stack may be unreadable
        assert wanted["count"] - 1 <= len(own) <= wanted["count"] + 2, (function, own)
        assert (1 - AROUND) * wanted["ns"] <= ns <= (1 + AROUND) * wanted["ns"], (function, ns, wanted)
    woken = [e for e in slices if e["name"] == "pipe" and e["args"].get("waker line")]
    assert woken and {e["args"]["waker line"].split()[-1] for e in woken} == {"writes_pipe"}
    assert {e["args"]["waker process"] for e in woken} == {truth["pid"]}


def test_perfettos_own_form_has_the_same_waits(waiting):
    folder, _ = waiting
    tracing.gputrace(folder, "export", "trace.gpt", "-o", "same.json", "-o", "same.pftrace").must_be(0)
    found, trace = timelines.pftrace(folder / "same.pftrace"), chrome.load(folder / "same.json")
    assert timelines.slices(found) == timelines.slices_of_chrome(trace)
    waits = [s for s in found["slices"] if s["cat"] == ["off_cpu"]]
    parents = {found["tracks"][str(found["tracks"][str(s["track"])]["parent"])]["thread"][1] == s["args"]["thread"] for s in waits}
    assert parents == {True}


def test_the_view_shows_them_too(waiting):
    folder, truth = waiting
    viewed = Viewed(folder / "trace.gpt")
    labels = [track[1] for track in viewed.tracks()["tracks"]]
    assert viewed.end() == 0
    assert f"thread {truth['pid']} waits" in labels, labels


def test_threads_that_compete_for_the_interpreter_wait_for_its_lock(kind_of_python, tmp_path):
    with tracing.Running([kind_of_python, machine.PROGRAMS / "activity.py", tmp_path / "truth.json"], tmp_path) as program:
        program.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", program.pid, "--agent", "off", "--off-cpu", names=()) as tracer:
            program.ask("competes")
            tracer.interrupt().must_be(0)
        program.end()
    # 3.6 has no _PyRuntime to tell where its GIL is
    known, other = ("lock (futex)", "GIL") if "3.6" in str(kind_of_python) else ("GIL", "lock (futex)")
    reasons = {row["reason"] for row in off_cpu_table(tmp_path) if "competes_for_gil" in row["line"]}
    assert known in reasons and other not in reasons, off_cpu_table(tmp_path)


def test_each_time_that_a_thread_had_no_cpu_is_a_wait(tmp_path):
    """By the kernel's own counts.  Some kernels do not report each switch to a thread (docs/design/limits.md)."""
    with tracing.Running([machine.any_python(), machine.PROGRAMS / "activity.py", tmp_path / "truth.json"], tmp_path) as program:
        program.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", program.pid, "--agent", "off", "--off-cpu=1us", names=()) as tracer:
            program.ask("spins")
            tracer.interrupt().must_be(0)
        program.end()
    waits = [record.values for record in logfile.records(tmp_path / "trace.gpt", logfile.WAIT)]
    spins = reading.program(tmp_path / "truth.json")["spins"]
    assert spins
    for spin in spins:
        inner, outer = ([wait for wait in waits if wait["tid"] == spin["tid"] and low <= wait["time_ns"] <= high]
                        for low, high in (spin["inner"], spin["outer"]))
        assert len(inner) <= spin["switches"] <= len(outer), spin
        late_ns = sum(wait["end_ns"] - wait["time_ns"] for wait in outer)
        assert abs(late_ns - spin["late_ns"]) <= 0.05 * spin["late_ns"] + 1e6, (late_ns, spin)


def test_waits_shorter_than_the_least_are_left_out(tmp_path):
    with tracing.Running([machine.any_python(), machine.PROGRAMS / "activity.py", tmp_path / "truth.json"], tmp_path) as program:
        program.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", program.pid, "--agent", "off", "--off-cpu=10s", names=()) as tracer:
            program.ask("waits")
            tracer.interrupt().must_be(0)
        program.end()
    assert "Waits off the CPU" not in tracing.gputrace(tmp_path, "report", "trace.gpt").must_be(0).stdout


def test_waits_of_the_agent_s_own_threads_are_no_waits_of_the_program(tmp_path):
    """The waits of the program's own threads are in the same table."""
    tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "truth.json", machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "50"),
                  "--off-cpu=1us", "--ops", names=("trace.gpt",))
    rows = off_cpu_table(tmp_path)
    assert any("train.py" in row["line"] for row in rows), rows
    # the agent's waits before its first batch are there
    assert sum(row["waits"] for row in rows if "(thread gputrace-" in row["line"]) <= 10, rows


def test_each_of_3000_threads_has_its_wait_and_none_is_lost(tmp_path):
    with tracing.Running([machine.any_python(), machine.PROGRAMS / "activity.py", tmp_path / "truth.json"], tmp_path) as program:
        program.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", program.pid, "--agent", "off", "--off-cpu=1us", "--cpu", names=()) as tracer:
            program.ask("crowd")
            done = tracer.interrupt().must_be(0)
        program.end()
    assert "waits of threads lost" not in done.stdout and "samples of threads lost" not in done.stdout
    rows = [row for row in off_cpu_table(tmp_path) if row["reason"] == "lock (futex)" and row["called_from"]]
    threads = sum(row["waits"] for row in rows if "waits_in_crowd" in row["called_from"])
    assert threads >= 3000, rows[:5]
