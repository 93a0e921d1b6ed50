# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--cost-limit lowers detail until what recording costs a thread, by the receipt's own measurement, is below the limit;
launches are recorded on, and full detail comes back once it costs little."""

import json
import re

import logfile
import machine
import pytest
import tracing

DETAIL_CHANGE = 48
LAST = 1  # flag
COST = 2  # why
WAITS, STACKS = 1, 4  # numbers of details
SWITCHES = machine.ROOT / "tools/bench/blame_target.py"  # "switch N": two threads switch as often as they can
SECOND_NS = 1_000_000_000


def changes(log):
    return [record.values for record in logfile.records(log, DETAIL_CHANGE) if not record.flags & LAST]


def falls(log, detail):
    """[(the fall's record, the next rise's)] of a detail that was left out for its cost"""
    of_cost = [change for change in changes(log) if change["why"] == COST]
    return [(fall, rise) for fall, rise in zip(of_cost, of_cost[1:]) if fall["off"] >> detail & 1 and rise["off"] < fall["off"]]


def tables(folder):
    text = tracing.gputrace(folder, "report", folder / "trace.gpt", "--format", "json").must_be(0).stdout
    return {table["id"]: table["rows"] for table in json.loads(text)["tables"]}


def test_waits_that_cost_too_much_are_left_out_until_they_no_longer_do(tmp_path):
    limit_ns = SECOND_NS // 100
    with tracing.Running([machine.any_python(), SWITCHES], tmp_path) as program:
        with tracing.Tracer(tmp_path, "-p", program.pid, "--off-cpu=1us", "--cost-limit", "1%", names=()) as tracer:
            program.process.stdin.write("switch 300000\n")
            tracer.wait_logged(lambda log: falls(log, WAITS))
            program.wait_line(".")  # it has switched that often: from now on it waits
            tracer.wait_logged(lambda log: not changes(log)[-1]["off"])
            tracer.interrupt().must_be(0)
    fall, rise = falls(tmp_path / "trace.gpt", WAITS)[0]
    assert fall["limit"] == rise["limit"] == limit_ns
    assert fall["measured"] > limit_ns and rise["measured"] <= limit_ns / 2, (fall, rise)
    [row] = [row for row in tables(tmp_path)["detail"] if row["detail"] == "waits"]
    assert row["why_id"] == "cost" and row["percent"] > 1 and row["limit_percent"] == 1
    assert row["tid"] == fall["tid"]
    page = " ".join(tracing.gputrace(tmp_path, "report", tmp_path / "trace.gpt", "--all").must_be(0).stdout.split())
    assert f"recording cost thread {fall['tid']} " in page and "% of a second, above --cost-limit 1 %" in page, page
    # Its threads wait, but the last second that was measured may have begun before
    end = re.search(r"At the end (no thread paid anything|recording cost thread \d+ [\d.]+ % of a second) \(--cost-limit 1 %\)\.", page)
    assert end, page


def trace_deep(folder, limit, until):
    """Traces a program that launches some hundred times a second below 120 frames, in pieces of 2,000 launches until that
    holds for the log.  What recording costs a thread in the last second is measured without samples and waits."""
    folder.mkdir()
    program = tracing.on_simgpu(folder / "gpu.json", machine.any_python(), machine.PROGRAMS / "overloads.py")
    with tracing.Running(program, folder) as running:
        running.ask("calm 1")
        with tracing.Tracer(folder, "-p", running.pid, "--cost-limit", f"{limit:.3f}", "--no-cpu", "--no-off-cpu",
                            names=()) as tracer:
            running.ask("deep 2000")
            while not any(until(log) for log in folder.glob("trace.gpt.part-*")):
                running.ask("deep 2000")
            tracer.interrupt().must_be(0)
        made = int(running.said[-1].split()[1]) - 2  # those before the trace
    [last] = [record.values for record in logfile.records(folder / "trace.gpt", DETAIL_CHANGE) if record.flags & LAST]
    return made, last


def test_stacks_that_cost_too_much_are_left_out_and_the_cost_is_below_the_limit(tmp_path):
    _, whole = trace_deep(tmp_path / "whole", 100, lambda log: True)
    assert not whole["off"] and not changes(tmp_path / "whole/trace.gpt")

    def has_been_low(log):
        """Stacks were left out for their cost, and no level has changed for two seconds since."""
        found = changes(log)
        launches = [call.values["time_ns"] for call in logfile.records(log, logfile.CALL)]
        return found and found[-1]["off"] >> STACKS & 1 and max(launches) - found[-1]["time_ns"] > 2 * SECOND_NS

    made, last = trace_deep(tmp_path / "limited", 0.6 * whole["measured"] * 100 / SECOND_NS, has_been_low)
    fall = changes(tmp_path / "limited/trace.gpt")[0]
    assert fall["why"] == COST and fall["measured"] > fall["limit"] and fall["off"] == 1 << STACKS
    assert last["off"] == 1 << STACKS and last["measured"] <= last["limit"] == fall["limit"], (whole, fall, last)
    found = tables(tmp_path / "limited")
    [receipt], [row], [end] = found["receipt"], found["detail"], found["cost_limit"]
    assert receipt["launches"] == receipt["launches_joined"] == made and receipt["lost"] == 0
    assert row["detail"] == "stacks" and row["percent"] > row["limit_percent"] >= end["percent"] > 0
    assert end["tid"] == last["tid"]


def test_where_launches_alone_cost_more_than_the_limit_they_are_recorded_and_the_receipt_says_so(tmp_path):
    made, last = trace_deep(tmp_path / "tiny", 0.001, lambda log: changes(log) and changes(log)[-1]["off"] >> STACKS & 1)
    assert last["off"] == 1 << STACKS and last["measured"] > last["limit"]
    [receipt] = tables(tmp_path / "tiny")["receipt"]
    assert receipt["launches"] == receipt["launches_joined"] == made and receipt["lost"] == 0
    page = " ".join(tracing.gputrace(tmp_path, "report", tmp_path / "tiny/trace.gpt").must_be(0).stdout.split())
    assert "(--cost-limit 0.001 %): launches and GPU records cost that much" in page, page


def test_without_bpf_there_is_no_limit_of_the_cost(tmp_path):
    done = tracing.gputrace(tmp_path, "--way", "agent", "--cost-limit", "1%", "--", "true").must_be(125)
    assert "--way agent: it excludes --cost-limit" in done.stderr
