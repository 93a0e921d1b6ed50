# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which lines ask for memory that stays, and which Python objects hold it (--memory), against what the program says that
it holds itself."""

import json
import re
import signal

import logfile
import machine
import pytest
import tracing

pytestmark = pytest.mark.torch


class Held:
    """The program, traced while it fills what it holds, and still running at the end of the trace."""

    def __init__(self, folder, python, *options):
        self.folder = folder
        command = tracing.on_simgpu(folder / "gpu.json", python, machine.PROGRAMS / "torch_holds.py")
        with tracing.Running(command, folder) as running:
            running.wait_line("ready")
            with tracing.Tracer(folder, "--memory", *options, "-p", str(running.pid), names=()) as tracer:
                running.process.stdin.write("\n")
                running.process.stdin.flush()
                self.truth = json.loads(running.wait_line("held"))
                self.done = tracer.end(signal.SIGINT).must_be(0)
            assert running.process.poll() is None, "the program goes on"
            running.process.stdin.write("\n")
            running.process.stdin.close()
            running.process.stdin = None
            assert running.process.wait(tracing.PATIENCE_S) == 0

    def tables(self):
        done = tracing.gputrace(self.folder, "report", self.folder / "trace.gpt", "--format", "json").must_be(0)
        return {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


@pytest.fixture(scope="module", params=[(), ("--way", "agent")], ids=["bpf", "agent"])
def held(request, tmp_path_factory):
    return Held(tmp_path_factory.mktemp("holders"), machine.tool("get-torch"), *request.param)


def test_each_object_that_holds_memory_is_named_with_its_blocks(held):
    found = {row["held_by"]: row for row in held.tables()["torch_memory_holders"]}
    for place, (container, items, path, blocks, size) in held.truth["held"].items():
        row = found[place]
        assert (row["blocks"], row["bytes"], row["items"], row["path"]) == (blocks, size, items, path), place
        assert row["container"] == (f"a {container} of {items}" if container else "")


def test_what_only_a_graph_holds_is_held_by_no_python_object(held):
    (row,) = [row for row in held.tables()["torch_memory_holders"] if row["held_by"] == "no Python object found"]
    assert row["bytes"] == held.truth["graph"]


def test_holders_are_all_of_what_stays(held):
    tables = held.tables()
    stays = sum(row["bytes"] for row in tables["torch_memory_held"])
    assert sum(row["bytes"] for row in tables["torch_memory_holders"]) == stays
    assert sum(row["not_freed_bytes"] for row in tables["torch_memory"]) == stays


def test_two_calls_on_neighbouring_lines_are_told_apart(held):
    lines, (_, _, _, blocks, size) = held.truth["lines"], held.truth["held"]["__main__.kept"]
    rows = [row for row in held.tables()["torch_memory_held"] if row["line"].endswith(f":{lines['forward']} Scale.forward")]
    assert {row["caller"]: (row["blocks"], row["bytes"]) for row in rows} == {
        f"torch_holds.py:{lines[mark]} step": (blocks // 2, size // 2) for mark in ("first", "second")}


def test_a_page_has_units_of_pytorch_and_says_it_in_words(held):
    text = tracing.gputrace(held.folder, "report", held.folder / "trace.gpt", "--table", "torch_memory_holders").must_be(0).stdout
    row = next(line for line in text.splitlines() if "History.losses" in line)
    assert row.split()[:3] == ["20.0", "KiB", "20"] and "a list of 20" in row and row.endswith("__main__.history.losses")


def test_the_verdict_names_what_grows_and_who_holds_it_in_at_most_ten_lines(held):
    """Two calls of forward() keep most; each block is held by a tuple of the list `kept`."""
    text = tracing.gputrace(held.folder, "report", held.folder / "trace.gpt").must_be(0).stdout
    verdict = text.split("\n\n")[1].splitlines()
    assert len(verdict) <= 10, verdict
    (at,) = [number for number, line in enumerate(verdict) if line.startswith("PyTorch's memory of ")]
    _, _, _, blocks, size = held.truth["held"]["__main__.kept"]
    line = rf"torch_holds\.py:{held.truth['lines']['forward']} Scale\.forward <- "
    caller = rf"torch_holds\.py:({held.truth['lines']['first']}|{held.truth['lines']['second']}) step"
    assert re.search(rf"grows by \S+ KiB a step, {2 * size / blocks / 1024:.1f} KiB of it: {line}{caller}$", verdict[at]), verdict
    assert re.fullmatch(r"   held by __main__\.kept, a list of \d+", verdict[at + 1]), verdict


def test_why_names_the_holder_of_each_line_that_grows(held):
    done = tracing.gputrace(held.folder, "why", held.folder / "trace.gpt", "--format", "json").must_be(0)
    rows = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}["why_memory"]
    holders = {row["held_by"]: row for row in rows}
    for place in ("History.losses", "__main__.cache", "__main__.kept"):
        container, items, _, blocks, size = held.truth["held"][place]
        assert holders[place]["container"] == f"a {container} of {items}"
        assert holders[place]["growth_per_step_bytes"] == pytest.approx(size / held.truth["steps"], rel=0.1), place
    (alone,) = [row for row in rows if row["held_by"] is None]  # a graph's, which no object holds
    assert alone["op"] == "aten::exp"
    text = tracing.gputrace(held.folder, "why", held.folder / "trace.gpt").must_be(0).stdout
    assert f"held by __main__.kept, a list of {held.truth['held']['__main__.kept'][1]}" in text, text


def test_what_grows_is_named_by_the_call_that_grows_not_by_the_one_that_asks_for_most_blocks(held):
    done = tracing.gputrace(held.folder, "why", held.folder / "trace.gpt", "--format", "json").must_be(0)
    rows = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}["why_memory"]
    (row,) = [row for row in rows if row["line"].endswith(" relu")]
    assert row["called_from"] == f"torch_holds.py:{held.truth['lines']['staying']} step" and row["callers"] == 2
    assert row["held_by"] == "__main__.stays"


def test_a_process_that_has_ended_was_not_searched(tmp_path):
    """It ends before the trace does, with all that it holds."""
    with tracing.Running([machine.tool("get-torch"), machine.PROGRAMS / "torch_holds.py", "cpu"], tmp_path) as running:
        running.wait_line("ready")
        with tracing.Tracer(tmp_path, "--memory", "-p", str(running.pid), names=()) as tracer:
            running.process.stdin.write("\n")
            running.process.stdin.flush()
            truth = json.loads(running.wait_line("held"))
            tracer.wait_logged(logfile.has_block, truth["held"]["local batches of run"][4])
            running.process.stdin.write("\n")
            running.process.stdin.flush()
            tracer.end().must_be(0)
    text = tracing.gputrace(tmp_path, "report", tmp_path / "trace.gpt", "--all").must_be(0).stdout
    assert "Memory of PyTorch that stays, by line and caller" in text
    assert "Python objects that hold the memory that stays" not in text
    assert "Python objects that hold it are searched for in processes that still run at the end of a trace" in text
