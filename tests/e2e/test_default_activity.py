# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What runs and what waits is recorded by default, with -p and a COMMAND: it names the culprit, the rate of samples
follows the GPU's gaps, the cost stays low, and files mean what they meant."""

import collections
import json
import marshal
import re
import time

import logfile
import machine
import pytest
import tracing

pytestmark = pytest.mark.alone  # CPU time that other tests take would be a cause, too

SAMPLE, WAIT = 19, 20
USUAL_NS, SHORT_NS = 1000000000 // 99, 1000000000 // 997
SAMPLING_NOISE = 0.15  # of some 1,500 samples


class Traced:
    """A program that keeps the GPU idle for 3 ms at a time, with no option that asks for samples."""

    def __init__(self, folder, *options, beside=()):
        self.folder, self.log = folder, folder / "trace.gpt"
        command = tracing.on_simgpu(folder / "gpu-%p.json", machine.any_python(), machine.PROGRAMS / "short_gaps.py",
                                    folder / "truth.json", 1.5, *beside)
        # with priority over other programs: the simulated GPU consists of threads, and idles while they have no CPU
        tracing.command(folder, "nice", "-n", "-15", machine.GPUTRACE, "-q", *options, "-o", self.log, "-o", "trace.folded",
                        "-o", "trace.prof", "--", *command).must_be(0)
        self.truth = json.loads((folder / "truth.json").read_text())

    def table(self, name):
        text = tracing.gputrace(self.folder, "report", self.log, "--format", "json").must_be(0).stdout
        return {table["id"]: table["rows"] for table in json.loads(text)["tables"]}[name]

    def records(self, kind):
        return list(logfile.records(self.log, kind))


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    return Traced(tmp_path_factory.mktemp("traced"))


def test_the_line_that_keeps_the_gpu_waiting_is_named(traced):
    text = tracing.gputrace(traced.folder, "why", traced.log).must_be(0).stdout
    assert f"short_gaps.py:{traced.truth['line']} computes" in text, text
    rows = traced.table("idle")
    ran = sum(row["idle_ns"] for row in rows if row["cause_id"] == "ran" and row["line_number"] == traced.truth["line"])
    assert ran >= 0.8 * traced.truth["cpu_ms"] * 1e6, rows  # the rest is calls, and the loop around it


def test_the_rate_of_samples_follows_short_gaps(traced):
    counts = collections.Counter(record.values["period_ns"] for record in traced.records(SAMPLE))
    assert set(counts) == {USUAL_NS, SHORT_NS} and counts[SHORT_NS] > counts[USUAL_NS], counts


def test_each_sample_stands_for_its_own_period(traced):
    rows = traced.table("cpu_lines")
    sampled = sum(record.values["period_ns"] for record in traced.records(SAMPLE))
    assert sum(row["self_ns"] for row in rows) == sampled
    of_line = sum(row["self_ns"] for row in rows if row["line"].endswith(" computes"))
    assert abs(of_line / 1e6 - traced.truth["cpu_ms"]) <= SAMPLING_NOISE * traced.truth["cpu_ms"], (rows, traced.truth)


def test_what_was_not_asked_for_changes_no_file(traced):
    gpu_ns = sum(int(line.rsplit(" ", 1)[1]) for line in (traced.folder / "trace.folded").read_text().splitlines())
    assert gpu_ns == sum(row["self_ns"] for row in traced.table("gpu_lines"))
    stats = marshal.loads((traced.folder / "trace.prof").read_bytes())
    assert sum(own for _, _, own, _, _ in stats.values()) == pytest.approx(gpu_ns / 1e9)
    tracing.gputrace(traced.folder, "export", "--metric", "cpu", "-o", "cpu.prof", traced.log).must_be(0)
    stats = marshal.loads((traced.folder / "cpu.prof").read_bytes())
    assert sum(own for _, _, own, _, _ in stats.values()) == pytest.approx(
        sum(row["self_ns"] for row in traced.table("cpu_lines")) / 1e9)


@pytest.mark.parametrize("options, samples, waits", [
    (("--no-cpu",), False, True), (("--no-off-cpu",), True, False), (("--no-cpu", "--no-off-cpu"), False, False),
    (("--kernels-only",), False, False), (("--cpu",), True, False)])
def test_it_can_be_turned_off_and_what_is_chosen_is_all(tmp_path, options, samples, waits):
    traced = Traced(tmp_path, *options)
    found = traced.records(SAMPLE)
    assert bool(found) == samples and bool(traced.records(WAIT)) == waits
    assert "--cpu" not in options or {record.values["period_ns"] for record in found} == {USUAL_NS}


def test_a_trace_of_the_whole_machine_has_neither(tmp_path):
    tracing.gputrace(tmp_path, "-q", "-d", "500ms", "-o", "trace.gpt").must_be(0)
    assert not list(logfile.records(tmp_path / "trace.gpt", SAMPLE, WAIT))


# ---- cost ------------------------------------------------------------------------------------------------------------

SWITCHES = machine.ROOT / "tools/bench/blame_target.py"  # "switch N": two threads switch as often as they can


def notes_of(folder):
    report = tracing.gputrace(folder, "report", folder / "trace.gpt", "--all").must_be(0).stdout
    return " ".join(report.split())


def test_where_switches_are_too_many_the_limit_rises_and_then_both_pause_and_the_receipt_says_so(tmp_path):
    with tracing.Running([machine.any_python(), SWITCHES], tmp_path) as program:
        with tracing.Tracer(tmp_path, "-p", program.pid, names=()) as tracer:
            program.process.stdin.write("switch 1000000000\n")
            tracer.wait_logged(logfile.has_note, "what runs and what waits is not recorded from")
            tracer.interrupt().must_be(0)
    said = notes_of(tmp_path)
    for least_us in (400, 1600):
        assert f"waits shorter than {least_us} us are left out from " in said, said
    assert "what runs and what waits was not recorded for " in said and "to keep its cost below 1 %" in said, said


BURST = """
import os
import sys
import threading
import time


def switch(count):
    there, back = os.pipe(), os.pipe()

    def answers():
        for _ in range(count):
            os.write(back[1], os.read(there[0], 1))

    threading.Thread(target=answers).start()
    for _ in range(count):
        os.write(there[1], b"x")
        os.read(back[0], 1)


def sleeps():
    while True:
        time.sleep(0.0002)
        time.sleep(0.01)


threading.Thread(target=sleeps, daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
switch(int(sys.argv[1]))
sys.stdin.readline()
"""
BRIEF_NS = 400_000  # the shortest wait that is recorded once the limit has risen


def test_what_was_left_out_for_its_cost_is_recorded_again_once_the_cost_has_fallen(tmp_path):
    """A burst of switches, beside a thread whose waits are mostly 0.2 ms long, or 10 ms."""
    (tmp_path / "burst.py").write_text(BURST)
    command = [machine.any_python(), tmp_path / "burst.py", 40000]
    with tracing.Running(command, tmp_path) as program:
        program.wait_line("ready")
        with tracing.Tracer(tmp_path, "-p", program.pid, names=()) as tracer:
            program.process.stdin.write("go\n")
            program.process.stdin.flush()
            tracer.wait_logged(logfile.has_note, "more of what runs and what waits is recorded again, as its cost has fallen")
            returned_ns = time.monotonic_ns()

            def has_brief(log):
                return any(record.values["time_ns"] > returned_ns and record.values["end_ns"] - record.values["time_ns"] < BRIEF_NS
                           for record in logfile.records(log, WAIT))

            tracer.wait_logged(has_brief)
            tracer.interrupt().must_be(0)
    said = notes_of(tmp_path)
    left_out = re.search(r"short waits were left out for ([\d.]+) of ([\d.]+) s, to keep their cost below 1 %", said)
    assert left_out and float(left_out[1]) < float(left_out[2]), said


def test_a_rate_that_had_risen_falls_first(tmp_path):
    Traced(tmp_path, beside=(SWITCHES,))
    said = notes_of(tmp_path)
    assert "99 samples a second from " in said and "more would take over 1 % of a thread's time" in said, said
    counts = collections.Counter(record.values["period_ns"] for record in logfile.records(tmp_path / "trace.gpt", SAMPLE))
    assert set(counts) == {USUAL_NS, SHORT_NS}, counts


def quick_share(samples, tid):
    """The share of a thread's samples that follow its last one at the high rate.  On a busy machine it runs in slices of
    some milliseconds: two samples of one slice are that close, and one before a slice and one in it are not."""
    times = sorted(record.values["time_ns"] for record in samples if record.values["tid"] == tid)
    return sum(after - before < 1.5 * SHORT_NS for before, after in zip(times, times[1:])) / len(times)


def test_a_rate_that_fell_rises_again_once_the_cost_has_fallen(tmp_path):
    """Beside a program with short gaps another one switches, longer each time, until that costs too much.  Both have
    priority over other programs: gaps are short and switches frequent only where their threads get a CPU."""
    first = ("nice", "-n", "-15")
    gaps = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "short_gaps.py",
                             tmp_path / "truth.json", "inf")
    with tracing.Running([*first, *gaps], tmp_path) as program, \
            tracing.Running([*first, machine.any_python(), SWITCHES], tmp_path) as switches, \
            tracing.Tracer(tmp_path, "-p", f"{program.pid},{switches.pid}", names=()) as tracer:
        def samples_since(log, begin_ns):
            return [record for record in logfile.records(log, SAMPLE) if record.values["time_ns"] > begin_ns]

        def is_fast(log, begin_ns, count=1):
            periods = collections.Counter(record.values["period_ns"] for record in samples_since(log, begin_ns))
            return periods[SHORT_NS] >= count

        def fell(log):
            return logfile.has_note(log, "99 samples a second from ")

        def fell_or_is_fast(log, begin_ns):
            return fell(log) or is_fast(log, begin_ns)

        tracing.wait_agent(program.pid)  # let in while the program waits: only an agent reports gaps
        program.process.stdin.write("go\n")
        tracer.wait_logged(is_fast, 0)
        trips = 1000
        while not any(fell(log) for log in tmp_path.glob("trace.gpt.part-*")):
            switches.process.stdin.write(f"switch {trips}\n")
            switches.wait_line(".")  # the answer: seconds
            trips *= 2
            tracer.wait_logged(fell_or_is_fast, time.monotonic_ns())
        fell_ns = time.monotonic_ns()
        tracer.wait_logged(is_fast, fell_ns, 50)
        tracer.interrupt().must_be(0)
    samples = samples_since(tmp_path / "trace.gpt", fell_ns)
    rose_ns = min(record.values["time_ns"] for record in samples if record.values["period_ns"] == SHORT_NS)
    again = [record for record in samples if record.values["time_ns"] >= rose_ns and record.values["period_ns"] == SHORT_NS]
    assert quick_share([record for record in samples if record.values["time_ns"] < rose_ns], program.pid) < 0.1
    assert quick_share(again, program.pid) > 0.25
    said = notes_of(tmp_path)
    assert re.search(r"from [\d.]+ s on more of what runs and what waits is recorded again, as its cost has fallen", said), said
    slow = re.search(r"for ([\d.]+) of ([\d.]+) s no more than 99 samples a second were taken, to keep their cost below", said)
    assert slow and (rose_ns - fell_ns) / 1e9 - 1 < float(slow[1]) < float(slow[2]), said


def test_what_was_asked_for_is_recorded_at_any_cost(tmp_path):
    with tracing.Running([machine.any_python(), SWITCHES], tmp_path) as program:
        with tracing.Tracer(tmp_path, "-p", program.pid, "--cpu", "--off-cpu=1us", names=()) as tracer:
            program.process.stdin.write("switch 1000000000\n")
            tracer.wait_logged(lambda log: sum(1 for _ in logfile.records(log, WAIT)) > 20000)
            tracer.interrupt().must_be(0)
    said = notes_of(tmp_path)
    assert "are left out" not in said and "not recorded" not in said, said
