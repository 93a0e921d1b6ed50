# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A trace says what it cost the traced program, by parts; the program's own count of its calls is the truth."""

import json

import logfile
import machine
import pytest
import tracing

COST = 43
OF_THREAD = 1  # flag
IDLE, CALLS, NESTED, AGENT_CALLS, BATCHES = 0, 1, 2, 3, 4
PROBE_ENTRIES, AGENT_ENTRIES = 13, 14
MEASURED, CALIBRATED = 1, 2  # states
SETUP_CALLS = 4  # that the program makes before and after its steps: train.py says nothing of them
EXPECTED_ENTRIES = {PROBE_ENTRIES: (0, 1, 2, 6, 7, 8, 9), AGENT_ENTRIES: (3, 4, 5)}


def traced(folder, *options, steps):
    truth = folder / "truth.json"
    log = folder / "trace.gpt"
    tracing.command(folder, machine.GPUTRACE, "-q", *options, "-o", log, "--", machine.SIMGPU_RUN, machine.any_python(),
                    machine.WORKLOADS / "train.py", "--steps", steps, "--truth", truth).must_be(0)
    calls = sum(entry["count"] for entry in json.loads(truth.read_text())["stacks"])
    parts = {record.values["part"]: record for record in logfile.records(log, COST) if not record.flags & OF_THREAD}
    threads = [record for record in logfile.records(log, COST) if record.flags & OF_THREAD]
    return calls, {part: record.values for part, record in parts.items()}, threads


@pytest.mark.parametrize("agent", ["off", "require"])
def test_the_counts_of_the_parts_are_those_of_the_program(tmp_path, agent):
    calls, parts, threads = traced(tmp_path, "--agent", agent, steps=40)
    part = AGENT_CALLS if agent == "require" else CALLS
    assert parts[part]["count"] == calls + SETUP_CALLS
    assert all(parts[known]["state"] == MEASURED and parts[known]["ns"] for known in (IDLE, part))
    for entries, of in EXPECTED_ENTRIES.items():
        count = sum(parts[one]["count"] for one in of if one in parts)
        assert parts.get(entries, {"count": 0})["count"] == count
        assert not count or (parts[entries]["state"] == CALIBRATED and parts[entries]["ns"] >= 100 * count)
    [thread] = threads
    assert thread.values["count"] > calls / 2 and 0 < thread.values["ns"] < thread.values["span_ns"]
    assert thread.values["ns"] <= sum(values["ns"] for values in parts.values() if values["state"] == MEASURED)


def table(folder, log, name):
    text = tracing.gputrace(folder, "report", log, "--format", "json").must_be(0).stdout
    return {table["id"]: table["rows"] for table in json.loads(text)["tables"]}[name]


@pytest.mark.parametrize("way", ["bpf", "agent"])
def test_the_report_has_every_part_and_names_what_is_not_measured(tmp_path, way):
    calls, parts, threads = traced(tmp_path, "--way", way, steps=40)
    assert bool(parts) == bool(threads) == (way == "bpf")
    rows = {row["part"]: row for row in table(tmp_path, tmp_path / "trace.gpt", "cost")}
    for unknown in ("agent_threads", "cupti_own", "stops"):
        assert rows[unknown]["ns"] is None and rows[unknown]["how"] == "not measured"
    callbacks = rows["agent_callbacks"]
    assert callbacks["how"] == "sampled" and callbacks["count"] == calls + SETUP_CALLS and callbacks["ns"] > 0
    if way == "bpf":
        assert rows["agent_calls"]["count"] == calls + SETUP_CALLS
        [thread] = table(tmp_path, tmp_path / "trace.gpt", "cost_thread")
        assert thread["tid"] == threads[0].values["tid"] and 0 < thread["percent"] < 100
    known = sum(row["ns"] for row in rows.values() if row["ns"] is not None)
    assert known >= sum(values["ns"] for values in parts.values())
    text = tracing.gputrace(tmp_path, "report", tmp_path / "trace.gpt").must_be(0).stdout
    assert "\nCost to the program: " in text and " Not measured: the agent's own threads;" in " ".join(text.split()), text
