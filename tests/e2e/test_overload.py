# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""When more comes than can be kept, detail goes first: launches and GPU records are complete, the receipt says what went,
when and why, and full detail comes back by itself."""

import bisect
import json

import logfile
import machine
import pytest
import reading
import tracing

DETAIL_CHANGE = 48
RING = 1  # why
STACKS = 4  # number of the detail
LOWERED = 11  # stack_state
BURST, CALM = 150_000, 50
INFINITE = float("inf")
NEAR_NS = 200_000_000  # without BPF an agent leaves out stacks a moment before gputrace knows it


def left_out(log, detail=STACKS):
    """[[from, to]] without that detail; to is infinite if it has not come back."""
    spans = []
    for change in logfile.records(log, DETAIL_CHANGE):
        off, open_span = change.values["off"] >> detail & 1, spans and spans[-1][1] == INFINITE
        if off and not open_span:
            spans.append([change.values["time_ns"], INFINITE])
        elif not off and open_span:
            spans[-1][1] = change.values["time_ns"]
    return spans


def all_is_back(log):
    changes = list(logfile.records(log, DETAIL_CHANGE))
    return changes and not changes[-1].values["off"]


class Overloaded:
    """A program that launches much faster than its stacks can be kept, then calmly, until all detail is back, then again."""

    def __init__(self, folder, way):
        self.folder, self.log = folder, folder / "trace.gpt"
        program = tracing.on_simgpu(folder / "gpu.json", machine.any_python(), machine.PROGRAMS / "overloads.py")
        with tracing.Running(program, folder) as running:
            running.ask("calm 1")
            with tracing.Tracer(folder, "-p", running.pid, "--way", way, "--buffer", "1M", names=()) as tracer:
                running.ask(f"burst {BURST}")
                while not any(all_is_back(log) for log in folder.glob("trace.gpt.part-*")):
                    running.ask("calm 10")
                running.ask(f"calm {CALM}")
                self.made = int(running.said[-1].split()[1]) - 2  # those before the trace
                tracer.interrupt().must_be(0)
            running.end().must_be(0)
        text = tracing.gputrace(folder, "report", self.log, "--format", "json").must_be(0).stdout
        self.tables = {table["id"]: table["rows"] for table in json.loads(text)["tables"]}
        self.page = " ".join(tracing.gputrace(folder, "report", self.log, "--all").must_be(0).stdout.split())


@pytest.fixture(scope="module", params=["bpf", "agent"])
def overloaded(request, tmp_path_factory):
    return Overloaded(tmp_path_factory.mktemp(request.param), request.param)


def test_launches_and_gpu_records_are_complete_while_stacks_went(overloaded):
    [receipt] = overloaded.tables["receipt"]
    assert receipt["launches"] == receipt["launches_joined"] == receipt["launches_meant"] == overloaded.made
    assert receipt["lost"] == 0, overloaded.tables["losses"]
    kernels = reading.simulated.work(reading.simulated.load(overloaded.folder / "gpu.json"))
    recorded = sum(row["self_ns"] for row in overloaded.tables["gpu_lines"])
    assert recorded == sum(op["end"] - op["start"] for op in kernels[2:])


def test_a_launch_without_its_stack_says_that_detail_was_lowered(overloaded):
    states = logfile.stack_states(overloaded.log)
    assert states[LOWERED] > BURST / 10 and states[LOWERED] + states[logfile.STACK_OK] == sum(states.values()), states
    rows = {row["line"]: row for row in overloaded.tables["gpu_lines"]}
    [lowered] = [row for line, row in rows.items() if line.endswith("Python stack not recorded: detail lowered)")]
    assert lowered["launches"] == states[LOWERED]
    assert {line.split(":")[0] for line in rows} == {"overloads.py", lowered["line"].split(":")[0]}


def test_the_receipt_says_what_went_for_how_long_and_why(overloaded):
    [row] = [row for row in overloaded.tables["detail"] if row["detail"] == "stacks"]
    assert row["why_id"] == "ring" and 50 <= row["percent"] <= 100
    spans = left_out(overloaded.log)
    assert row["times"] == len(spans) and row["ns"] == sum(end - begin for begin, end in spans)
    assert "No Python stacks for " in overloaded.page and ": the ring buffer was " in overloaded.page
    assert "whose Python stack was not recorded, as detail was lowered" in overloaded.page
    for call in logfile.records(overloaded.log, logfile.CALL):
        if call.values["stack_state"] == LOWERED:
            time_ns = call.values["time_ns"]
            assert any(begin - NEAR_NS <= time_ns <= end for begin, end in spans), (time_ns, spans)


def test_full_detail_comes_back_by_itself(overloaded):
    [last] = list(logfile.records(overloaded.log, DETAIL_CHANGE))[-1:]
    after = [call for call in logfile.records(overloaded.log, logfile.CALL) if call.values["time_ns"] > last.values["time_ns"]]
    assert last.values["off"] == 0 and last.values["why"] == RING
    assert len(after) >= CALM and {call.values["stack_state"] for call in after} == {logfile.STACK_OK}


def test_the_halves_of_a_trace_sum_up(overloaded):
    [whole] = [row for row in overloaded.tables["detail"] if row["detail"] == "stacks"]
    cut, halves = f"{(whole['from_ns'] + whole['ns'] / 2) / 1e9:.6f}", 0
    for option in ("--to", "--from"):
        text = tracing.gputrace(overloaded.folder, "report", overloaded.log, option, cut, "--format", "json",
                                "--table", "detail").must_be(0).stdout
        halves += sum(row["ns"] for table in json.loads(text)["tables"] for row in table["rows"] if row["detail"] == "stacks")
    assert halves == whole["ns"]


# ---- ops of PyTorch -------------------------------------------------------------------------------------------------

OP = 84
OPS = 3  # number of the detail
QUIET_NS = 500_000_000


def went_and_came_back(log):
    """Whether there is a span without ops, as the log says, that has none at its end, and ops after it."""
    starts = sorted(op.values["start_ns"] for op in logfile.records(log, OP))
    for begin, end in left_out(log, OPS):
        without = max(begin, end - QUIET_NS), end - NEAR_NS  # they come back a moment before the log says so
        if end < INFINITE and starts[0] < begin and starts[-1] > end and without[0] < without[1]:
            if bisect.bisect(starts, without[0]) == bisect.bisect(starts, without[1]):
                return True
    return False


@pytest.mark.torch
def test_ops_that_are_too_many_are_left_out_and_come_back(tmp_path):
    """A program that runs about a million ops a second, of which a ring of 1 MB has no room for 20 ms.  Where the agent's
    thread gets no processor ops stop late: the next span is longer."""
    with tracing.Running([machine.tool("get-torch"), machine.PROGRAMS / "torch_loop.py"], tmp_path) as program:
        program.wait_line("ready")
        with tracing.Tracer(tmp_path, "--ops", "--shapes", "--buffer", "1M", "-p", program.pid, names=()) as tracer:
            program.ask("observed")
            program.ask("work")
            tracer.wait_logged(went_and_came_back)
            tracer.interrupt().must_be(0)
    text = tracing.gputrace(tmp_path, "report", "trace.gpt", "--format", "json", "--table", "detail").must_be(0).stdout
    [table] = json.loads(text)["tables"]
    assert {"shapes", "ops"} <= {row["detail"] for row in table["rows"]}, table
