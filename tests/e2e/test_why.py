# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`gputrace why`: time that a program loses on purpose, and measures, is named first, with its line and duration."""

import json
import re

import machine
import pytest
import reading
import tracing

PROGRAM = machine.PROGRAMS / "loses_time.py"
CALLS_ONLY = ("--no-cpu", "--no-off-cpu")
# what samples and waits make of it; the other causes are the same with them
SAMPLED = {"python": "the GPU waits while the program sleeps"}
TITLES = {
    "python": "the GPU waits for Python",
    "sync": "a call waits for the GPU, which then runs out of work",
    "small": "small kernels run shorter than it takes to launch them",
    "alloc": "the GPU waits while CUDA hands out memory or takes it back",
    "imports": "the GPU waits while Python imports modules",
    "garbage": "the GPU waits while Python collects garbage",
    "compiles": "the GPU waits while code is compiled or loaded",
    "copies": "copies between host and GPU hold the GPU up",
}
UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
LOSS = re.compile(r"^(\d)\. ([\d.,]+) (\w+), [\d.]+ %: (.*)$", re.M)


def in_ms(number, unit):
    return float(number.replace(",", "")) * UNITS[unit]


def losses(text):
    """[(title, ms, text below the title)], in order."""
    parts = LOSS.split(text.split("\nWhat was lost")[0])
    return [(parts[i + 3], in_ms(parts[i + 1], parts[i + 2]), parts[i + 4]) for i in range(1, len(parts), 5)]


def account(text):
    """{what: ms} of the table below the losses."""
    lines = text.split("\nWhat was lost, each moment once")[1].splitlines()
    unit = lines[1].split()[0]
    rows = (re.match(r" *([\d.,]+) +[\d.-]+  (.*)$", line) for line in lines[2:])
    return {row.group(2): in_ms(row.group(1), unit) for row in rows if row}


def why(folder, *command, options=(), env=None):
    """(output of a live `gputrace why`, its log)"""
    log = folder / "trace.gpt"
    return tracing.gputrace(folder, "why", "-q", *options, "-o", log, "--", *command, env=env).must_be(0).stdout, log


def run(folder, cause, options=CALLS_ONLY):
    truth, modules = folder / "truth.json", folder / "modules"
    modules.mkdir()
    command = tracing.on_simgpu(folder / "gpu.json", machine.any_python(), PROGRAM, cause, truth, modules)
    text, log = why(folder, *command, options=options)
    return text, json.loads(truth.read_text()), log


@pytest.mark.parametrize("cause", ["python", "sync", "small", "alloc", "garbage", "copies"])
def test_with_samples_and_waits_it_names_the_same_or_the_line_that_ran(tmp_path, cause):
    text, truth, log = run(tmp_path, cause, ())
    title, lost, below = losses(text)[0]
    assert title == SAMPLED.get(cause, TITLES[cause]), text
    # samples know where garbage was collected, and where the program slept, and not only what launched then
    assert f"loses_time.py:{truth.get('sampled', truth['line'])} " in below.split("seen")[0], text
    least = truth.get("sampled_least_ms", truth["least_ms"])
    assert least <= lost * 1.05 and lost <= truth["most_ms"] * 1.05, (text, truth)
    report = json.loads(tracing.gputrace(tmp_path, "report", log, "--format", "json").must_be(0).stdout)
    reading.assert_calls_are_charged_what_they_took({table["id"]: table for table in report["tables"]})


@pytest.mark.parametrize("cause", TITLES)
def test_what_a_program_loses_is_named_first_with_its_line_and_time(tmp_path, cause):
    text, truth, log = run(tmp_path, cause)
    title, lost, below = losses(text)[0]
    assert title == TITLES[cause], text
    assert f"loses_time.py:{truth['line']} " in below.split("seen")[0], text
    least = truth.get("sampled_least_ms", truth["least_ms"])
    assert least <= lost * 1.05 and lost <= truth["most_ms"] * 1.05, (text, truth)
    report = json.loads(tracing.gputrace(tmp_path, "report", log, "--format", "json").must_be(0).stdout)
    reading.assert_calls_are_charged_what_they_took({table["id"]: table for table in report["tables"]})


def verdict(folder, log):
    """The lines with which a report begins, below its header."""
    return tracing.gputrace(folder, "report", log).must_be(0).stdout.split("\n\n")[1].splitlines()


@pytest.mark.parametrize("cause", ["python", "sync", "garbage", "copies"])
def test_a_report_begins_with_what_the_program_loses_as_why_counts_it(tmp_path, cause):
    _, truth, log = run(tmp_path, cause)
    lines = verdict(tmp_path, log)
    number, lost, unit = re.match(r"(\d)\. ([\d.,]+) (\w+), ", lines[1]).groups()
    assert lines[0].startswith("The GPU was busy for ") and number == "1" and len(lines) <= 10, lines
    assert f"loses_time.py:{truth['line']}" in lines[1] and lines[2].startswith("   Try: "), lines
    assert truth["least_ms"] <= in_ms(lost, unit) * 1.05 and in_ms(lost, unit) <= truth["most_ms"] * 1.05, (lines, truth)
    why = tables(tmp_path, log)
    rows = why["why_lines"]["rows"]
    smaller = sum(row["ns"] for row in why["why_lost"]["rows"] if row["what"] == "smaller losses") / 1e6  # in none of the rows
    largest, whole, printed = max(row["ns"] for row in rows) / 1e6, sum(row["ns"] for row in rows) / 1e6, 0.06 * UNITS[unit]
    assert largest - printed <= in_ms(lost, unit) <= whole + smaller + printed, (lines, rows)
    assert lines[-2].startswith("Complete: ") and ", 0 lost; " in lines[-2] and lines[-1].startswith(("Next: gputrace ", "Next: sudo gputrace ")), lines


def test_a_report_of_a_program_that_keeps_the_gpu_busy_begins_with_its_lines(tmp_path):
    _, _, log = run(tmp_path, "clean")
    lines = verdict(tmp_path, log)
    assert lines[1].startswith("Nothing to mend: ") and lines[2].startswith("Most GPU time: "), lines
    command = lines[-1].split(" (")[0].replace("FILE", str(log)).split()
    assert command[:3] == ["Next:", "gputrace", "report"] and command[-2] == "--lines", lines
    assert "loses_time.py" in tracing.gputrace(tmp_path, *command[2:]).must_be(0).stdout


def test_a_report_without_gpu_times_begins_with_what_is_missing(tmp_path):
    (tmp_path / "modules").mkdir()
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), PROGRAM, "clean", tmp_path / "truth.json",
                                tmp_path / "modules")
    done = tracing.gputrace(tmp_path, "-q", "--agent", "off", "--", *command).must_be(0)
    lines = done.stdout.split("\n\n")[1].splitlines()
    assert lines[0].startswith("No GPU times for pid ") and "To get them: record without it." in " ".join(lines), lines
    assert lines[-2].startswith("Most launches: ") and "loses_time.py:" in lines[-2], lines


def test_a_program_that_keeps_the_gpu_busy_has_nothing_to_mend(tmp_path):
    text, _, _ = run(tmp_path, "clean")
    assert "Nothing to mend" in text
    assert losses(text) == []


def test_each_moment_is_counted_once_and_all_of_it_is_what_the_gpu_idled(tmp_path):
    text, _, log = run(tmp_path, "sync")
    rows = account(text)
    (total,) = [what for what in rows if what.startswith("in all")]
    assert sum(ms for what, ms in rows.items() if what != total) == pytest.approx(rows[total], abs=0.3)
    idle = re.search(r"in all: ([\d.,]+) (\w+) idle", total)
    report = tracing.gputrace(tmp_path, "report", log).must_be(0).stdout
    table = report.split("\nGPU idle by Python line")[1].split("\n\n")[0].splitlines()
    unit = table[1].split()[0]
    gaps = sum(in_ms(line.split()[0], unit) for line in table[2:]
               if line.split()[0][0].isdigit() and "GPU operation" not in line)
    assert gaps == pytest.approx(in_ms(idle.group(1), idle.group(2)), abs=0.5)


def test_it_says_of_the_log_what_it_said_live(tmp_path):
    text, _, log = run(tmp_path, "alloc")
    assert tracing.gputrace(tmp_path, "why", log).must_be(0).stdout == text


def tables(folder, log, *options):
    text = tracing.gputrace(folder, "why", log, "--format", "json", *options).must_be(0).stdout
    return {table["id"]: table for table in json.loads(text)["tables"]}


def test_json_has_what_the_text_says_in_whole_numbers(tmp_path):
    text, truth, log = run(tmp_path, "sync")
    found = tables(tmp_path, log)
    (answer,) = found["why"]["rows"]
    assert answer["answer"] == "losses" and answer["steps"] == 0
    first = found["why_losses"]["rows"][0]
    assert (first["cause_id"], first["cause"], first["line_number"]) == ("sync", TITLES["sync"], truth["line"])
    assert first["file"].endswith("/loses_time.py") and first["per_step_ns"] is None
    assert first["ns"] / 1e6 == pytest.approx(losses(text)[0][1], rel=0.01)
    assert first["pid"] == found["processes"]["rows"][0]["pid"] and first["process"].endswith(f" {first['pid']}")
    assert re.match(rf"loses_time.py:{truth['line']} \S+ <- .*loses_time.py:\d+ <module>$", first["stack"]), first
    assert (first["innermost"], first["innermost_lines"]) == (first["stack"].split(" <- ")[0], 1), first
    (receipt,) = found["receipt"]["rows"]
    assert (receipt["complete_percent"], receipt["lost"], receipt["end"]) == (100, 0, "ended"), receipt
    assert first["seen"].startswith("20 calls of cuda") and "read it now and then" in first["try"]
    assert sum(row["ns"] for row in found["why_lines"]["rows"]) == sum(row["ns"] for row in found["why_losses"]["rows"])
    *parts, total = [row["ns"] for row in found["why_lost"]["rows"]]
    assert sum(parts) == total


def test_markdown_has_the_sentences_below_the_table_of_causes(tmp_path):
    _, _, log = run(tmp_path, "alloc")
    text = tracing.gputrace(tmp_path, "why", log, "--format", "md").must_be(0).stdout
    assert "**What was lost, by cause**" in text and "\n- 1. loses&#95;time.py:" in text and "Allocate before the loop" in text


def test_json_says_that_there_is_nothing_to_mend(tmp_path):
    _, _, log = run(tmp_path, "clean")
    found = tables(tmp_path, log)
    assert found["why"]["rows"][0]["answer"] == "nothing_to_mend" and "why_losses" not in found


def test_without_gpu_times_it_says_that_it_cannot_say_and_what_to_record(tmp_path):
    (tmp_path / "modules").mkdir()
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), PROGRAM, "clean", tmp_path / "truth.json",
                                tmp_path / "modules")
    done = tracing.gputrace(tmp_path, "why", "-q", "--agent", "off", "--", *command).must_be(0)
    assert "cannot be said" in done.stdout and "no GPU times" in done.stdout and "record without it" in done.stdout


def test_where_nothing_was_recorded_it_says_so(tmp_path):
    done = tracing.gputrace(tmp_path, "why", "-q", "--", machine.any_python(), "-c", "pass").must_be(0)
    assert "cannot be said" in done.stdout and "No CUDA call was seen" in done.stdout
