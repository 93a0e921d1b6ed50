# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Idle time of the GPU that a program causes on purpose and measures itself (programs/blames.py): it is charged to the
right process, line and cause, and to no other."""

import csv
import json
import os
import pathlib
import re

import logfile
import machine
import pytest
import reading
import tracing
from test_why import UNITS, in_ms, losses

pytestmark = pytest.mark.alone  # CPU time that other tests take would be a cause, too

WAIT, FOR_GIL = 20, 2  # type of the record; its reason

CAUSES = {"busy": "ran", "garbage": "gc"}  # causes that only samples show


class Run:
    def __init__(self, folder, options, *causes, env=None):
        self.folder, self.log, truth = folder, folder / "trace.gpt", folder / "truth.json"
        command = tracing.on_simgpu(folder / "gpu-%p.json", machine.any_python(), machine.PROGRAMS / "blames.py", truth, *causes)
        # With priority over other programs: the simulated GPU consists of threads, and idles while they have no CPU.
        first = ("nice", "-n", "-15", machine.GPUTRACE)
        tracing.command(folder, *first, "-q", *options, "-o", self.log, "--", *command, env=env).must_be(0)
        self.truth = json.loads(truth.read_text())
        text = tracing.gputrace(folder, "report", self.log, "--format", "json").must_be(0).stdout
        self.tables = {table["id"]: table for table in json.loads(text)["tables"]}
        self.idle = self.tables["idle"]["rows"]
        reading.assert_calls_are_charged_what_they_took(self.tables)

    def ms(self, asked, *causes):
        """Idle time on the line that is to blame, by these causes."""
        truth = self.truth[asked]
        rows = [row for row in self.idle if row["line_number"] == truth["line"] and row["cause_id"] in causes]
        assert all(row["process"].endswith(f" {truth['pid']}") for row in rows), rows
        return sum(row["idle_ns"] for row in rows) / 1e6


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("sampled"), ("--cpu",), *CAUSES)


@pytest.mark.parametrize("cause", CAUSES)
def test_samples_put_idle_time_on_the_line_that_ran(sampled, cause):
    truth = sampled.truth[cause]
    assert 0.95 * truth["ms"] <= sampled.ms(cause, CAUSES[cause]) <= 1.05 * truth["wall_ms"], (truth, sampled.idle)


def test_rows_add_up_to_the_idle_time(sampled):
    (gpu,) = sampled.tables["gpus"]["rows"]
    idle = sum(row["idle_ns"] for row in sampled.idle)
    assert 100 * idle / (idle + gpu["busy_ns"]) == pytest.approx(gpu["idle_percent"], abs=1e-7)


def test_folded_stacks_of_idle_time_add_up_to_it_and_end_in_the_line(sampled):
    tracing.gputrace(sampled.folder, "export", "--metric", "idle", "-o", "idle.folded", sampled.log).must_be(0)
    lines = [line.rsplit(" ", 1) for line in (sampled.folder / "idle.folded").read_text().splitlines()]
    assert sum(int(ns) for _, ns in lines) == sum(row["idle_ns"] for row in sampled.idle if row["cause_id"])
    busy = {stack.split(";[ran];")[1]: int(ns) for stack, ns in lines
            if ";[ran];" in stack and stack.endswith(f";busy (blames.py:{sampled.truth['busy']['line']})")}
    assert all(re.match(r"<module> \(blames.py:\d+\);", stack) for stack in busy), busy  # the whole stack
    assert sum(busy.values()) / 1e6 == pytest.approx(sampled.ms("busy", "ran"))


def test_why_names_the_line_that_ran_first(sampled):
    text = tracing.gputrace(sampled.folder, "why", sampled.log).must_be(0).stdout
    named = {title: below.split("seen")[0] for title, _, below in losses(text)}
    assert f"blames.py:{sampled.truth['busy']['line']} busy" in named["the GPU waits while a line of Python runs"], text
    assert f"blames.py:{sampled.truth['garbage']['line']} garbage" in named["the GPU waits while Python collects garbage"], text


def test_lines_have_idle_time_where_it_ran(sampled):
    text = tracing.gputrace(sampled.folder, "report", sampled.log, "--lines", "blames.py", "--format", "json").must_be(0).stdout
    (table,) = [table for table in json.loads(text)["tables"] if table["id"] == "source_lines"]
    (row,) = [row for row in table["rows"] if row["line_number"] == sampled.truth["busy"]["line"]]
    assert row["idle_ns"] / 1e6 == pytest.approx(sampled.ms("busy", "ran"))


def test_a_thread_that_was_sampled_before_it_ran_python_is_a_python_thread(tmp_path):
    run = Run(tmp_path, ("--cpu", "-F", "5000"), "sleep")
    assert {row["line_number"] for row in run.tables["gpu_lines"]["rows"]} == {run.truth["sleep"]["launch"]}


# ---- with waits ------------------------------------------------------------------------------------------------------

WAITS = {"busy": {"ran"}, "sleep": {"sleep"}, "lock": {"lock"}, "gil": {"gil", "no_cpu"}, "garbage": {"gc"}, "queue": {"pipe"},
         "tokenizer": {"pipe"}, "replier": {"pipe"}, "spins": {"ran"}, "fault": {"fault"}, "quota": {"no_cpu"}, "stolen": {"no_cpu"},
         "item": {"item"}, "result": {"result"}, "loop": {"request"}}
OFTEN = {"busy*60": {"ran"}, "sleep*60": {"sleep", "no_cpu"}, "queue*60": {"pipe"}, "tokenizer*60": {"pipe"}}


def has_quotas():
    """Whether a cgroup with a CPU quota can be made, by version 1 or 2."""
    enabled = pathlib.Path("/sys/fs/cgroup/cgroup.subtree_control")
    return os.access("/sys/fs/cgroup/cpu/tasks", os.W_OK) or (enabled.exists() and "cpu" in enabled.read_text().split())


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    zmq = machine.package(machine.any_python(), "pyzmq==27.3.0")
    # a preempted thread runs in short periods; one of less than 10 ms may have no sample with -F 99
    return Run(tmp_path_factory.mktemp("once"), ("--cpu", "-F", "499", "--off-cpu"), *(cause for cause in WAITS if cause != "quota" or has_quotas()),
               env={"PYTHONPATH": zmq})


@pytest.fixture(scope="module")
def often(tmp_path_factory):
    # -F 99 takes 30 samples, of which two on another line would be more than a twentieth
    return Run(tmp_path_factory.mktemp("often"), ("--cpu", "-F", "499", "--off-cpu"), *OFTEN)


@pytest.mark.parametrize("cause", WAITS)
def test_what_keeps_the_gpu_idle_is_on_its_process_line_and_cause(once, cause):
    if cause not in once.truth:
        pytest.skip("no cgroup with a quota can be made here")
    assert once.ms(cause, *WAITS[cause]) >= 0.95 * once.truth[cause]["ms"], (once.truth[cause], once.idle)


@pytest.mark.parametrize("cause", OFTEN)
def test_so_is_what_comes_often_and_is_short(often, cause):
    # the worker starts while its caller still runs, which takes more than a twentieth of 5 ms
    share = 0.8 if cause == "queue*60" else 0.95
    assert often.ms(cause, *OFTEN[cause]) >= share * often.truth[cause]["ms"], (often.truth[cause], often.idle)


def test_who_has_the_gil_is_read_where_a_thread_waits_for_it(once):
    """Needs 3.11, whose thread states have the thread's id.  While the GIL changes hands it has no holder."""
    waits = [record.values for record in logfile.records(once.log, WAIT)
             if record.values["reason"] == FOR_GIL and record.values["pid"] == once.truth["gil"]["pid"]]
    held = [wait for wait in waits if wait["holder_tid"]]
    assert len(held) > 0.8 * len(waits) > 0, waits
    assert not any(wait["holder_tid"] == wait["tid"] for wait in held), held


@pytest.mark.parametrize("cause, why", [("stolen", "no CPU: others had it"), ("quota", "no CPU: its cgroup's quota was used up")])
def test_how_a_thread_had_no_cpu_is_said(once, cause, why):
    if cause not in once.truth:
        pytest.skip("no cgroup with a quota can be made here")
    rows = [row for row in once.idle if row["line_number"] == once.truth[cause]["line"] and row["cause_id"] == "no_cpu"]
    assert max(rows, key=lambda row: row["idle_ns"])["why"] == why, once.idle  # other tests may have had the CPU, too


def test_nothing_is_on_another_line(once):
    """Except idle time in which a thread got no CPU."""
    injected = 300 * sum(cause != "stolen" for cause in once.truth)  # ms: what each cause was asked to take
    lines = {truth["line"] for truth in once.truth.values()}
    others = [row for row in once.idle if row["cause_id"] not in ("", "no_cpu") and row["line_number"] not in lines]
    assert sum(row["idle_ns"] for row in others) / 1e6 < 0.1 * injected, others


def test_why_names_processes_and_what_to_try(once):
    text = tracing.gputrace(once.folder, "why", once.log, "--format", "json").must_be(0).stdout
    (lost,) = [table for table in json.loads(text)["tables"] if table["id"] == "why_losses"]
    causes = {row["cause_id"]: row for row in lost["rows"]}
    assert "blames.py:" in causes["lock"]["where"] and "Hold the lock for less" in causes["lock"]["try"], causes
    assert "no work to do" in causes["request"]["cause"] and "Hold the lock" not in causes["item"]["try"] + causes["result"]["try"], causes
    assert "It waited for thread " in causes["lock"]["seen"] and "keeps the GIL" in causes["gil"]["try"], causes
    pids = {str(once.truth[cause]["pid"]) for cause in ("queue", "tokenizer", "replier")}
    assert any(f"(pid {pid})" in causes["pipe"]["seen"] or f" {pid})" in causes["pipe"]["where"] for pid in pids), causes


def test_a_report_begins_with_the_culprits_with_all_their_time(once):
    text = tracing.gputrace(once.folder, "report", once.log).must_be(0).stdout.split("\n\n")[1]
    found = re.findall(r"^\d\. ([\d.,]+) (\w+), [\d.]+ %, [^:]*: (\w+[.]py):(\d+) [^\n]*", text, re.M)
    rows = json.loads(tracing.gputrace(once.folder, "why", once.log, "--format", "json").must_be(0).stdout)["tables"]
    lines, lost = ([table["rows"] for table in rows if table["id"] == name][0] for name in ("why_lines", "why_lost"))
    smaller = sum(row["ns"] for row in lost if row["what"] == "smaller losses") / 1e6  # of causes that are in none of the lines
    injected = {truth["line"] for truth in once.truth.values()}
    assert len(found) == 3 and len(text.splitlines()) <= 10, text
    assert int(found[0][3]) in injected, text  # on a busy machine others may have lacked a CPU for longer than the rest
    for ms, unit, file, line in found:
        counted = sum(row["ns"] for row in lines if row["line_number"] == int(line) and row["file"].endswith("/" + file)) / 1e6
        printed = 0.06 * UNITS[unit]  # to a tenth
        assert counted - printed <= in_ms(ms, unit) <= counted + smaller + printed, (text, counted, smaller)


IN_STEPS = ["busy", "sleep", "garbage", "tokenizer", "lock"]


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """Each cause is in its own step: a step begins with the first work after more than 100 ms of idle time."""
    run = Run(tmp_path_factory.mktemp("steps"), ("--cpu", "--off-cpu"), *IN_STEPS)
    text = tracing.gputrace(run.folder, "report", run.log, "--step", "burst:100ms", "--format", "json").must_be(0).stdout
    return run, {table["id"]: table["rows"] for table in json.loads(text)["tables"]}


def test_what_keeps_the_gpu_idle_is_in_its_step_by_its_cause(steps):
    run, tables = steps
    shown = [row for row in tables["steps"] if row["what"] in ("median", "slow")]
    assert len(shown) >= 3, shown
    for step in shown:
        cause = IN_STEPS[step["step"]]
        rows = {row["cause_id"]: row["idle_ns"] / 1e6 for row in tables["step_idle"] if row["step"] == step["step"]}
        assert sum(ms for name, ms in rows.items() if name in WAITS[cause]) >= 0.95 * run.truth[cause]["ms"], (cause, rows)
        most = WAITS[cause] | {"no_cpu"}  # on a busy machine
        assert step["idle_cause_id"] in most and step["idle_cause_ns"] / 1e6 == max(rows.values()), (step, rows)


def test_steps_and_what_is_outside_of_them_add_up_to_the_idle_time_of_each_cause(steps):
    _, tables = steps
    for cause in {row["cause_id"] for row in tables["idle"] if row["cause_id"]}:
        of_steps = sum(row["idle_ns"] for row in tables["step_idle"] if row["cause_id"] == cause and row["what"] in ("all", "outside"))
        assert of_steps == sum(row["idle_ns"] for row in tables["idle"] if row["cause_id"] == cause), cause


def test_the_same_is_in_csv(steps):
    run, tables = steps
    options = ("--step", "burst:100ms", "--table", "step_idle", "--format", "csv")
    rows = list(csv.DictReader(tracing.gputrace(run.folder, "report", run.log, *options).must_be(0).stdout.splitlines()))
    assert [(int(row["idle_ns"]), row["cause_id"], row["what"], row["step"]) for row in rows] == [
        (row["idle_ns"], row["cause_id"], row["what"], "" if row["step"] is None else str(row["step"])) for row in tables["step_idle"]]


@pytest.mark.torch
def test_a_worker_of_pytorchs_data_loader_is_named_with_its_line(tmp_path):
    truth, log = tmp_path / "truth.json", tmp_path / "trace.gpt"
    command = tracing.on_simgpu(tmp_path / "gpu-%p.json", machine.tool("get-torch"), machine.PROGRAMS / "torch_worker.py", truth)
    tracing.gputrace(tmp_path, "-q", "--cpu", "--off-cpu", "-o", log, "--", *command, env={"SIMGPU_KERNEL_NS": 2000}).must_be(0)
    said = json.loads(truth.read_text())
    text = tracing.gputrace(tmp_path, "report", log, "--format", "json", "--table", "idle").must_be(0).stdout
    every = json.loads(text)["tables"][0]["rows"]
    rows = [row for row in every if row["line_number"] == said["line"]]
    assert all(row["process"].endswith(f" {said['pid']}") for row in rows), (said, rows)
    on_line = sum(row["idle_ns"] for row in rows if row["cause_id"] == "data") / 1e6
    # The worker's other threads (the queue's feeder, the sharer of descriptors) wait for the GIL that this line holds.
    # If several wait at once, the holder is not known, and the wait is charged to the waiting thread (docs/formats.md).
    for_gil = sum(row["idle_ns"] for row in every if row["process"] and row["process"].endswith(f" {said['pid']}") and
                  row["cause_id"] == "data" and "waited for the GIL" in row["why"]) / 1e6
    assert on_line >= 0.4 * said["computed_ms"] and on_line + for_gil >= 0.9 * said["computed_ms"], (said, every)
    text = tracing.gputrace(tmp_path, "why", log).must_be(0).stdout
    named = {title: below for title, _, below in losses(text)}
    assert f"torch_worker.py:{said['line']} Slow.__getitem__ (" in named["the GPU waits for data"], text
    assert "num_workers" in named["the GPU waits for data"], text


@pytest.fixture(scope="module")
def pools(tmp_path_factory):
    """Real pools: OpenMP of PyTorch's ops on the CPU, and the threads of NumPy's BLAS."""
    folder = tmp_path_factory.mktemp("pools")
    command = tracing.on_simgpu(folder / "gpu-%p.json", machine.tool("get-torch"), machine.PROGRAMS / "native_pools.py", folder / "truth.json")
    first = ("nice", "-n", "-15", machine.GPUTRACE)  # as above
    tracing.command(folder, *first, "-q", "--cpu", "-F", "499", "--off-cpu", "-o", "trace.gpt", "--", *command,
                    env={"OMP_NUM_THREADS": 3, "OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": 3}).must_be(0)
    text = tracing.gputrace(folder, "report", "trace.gpt", "--format", "json", "--table", "idle").must_be(0).stdout
    return json.loads((folder / "truth.json").read_text()), json.loads(text)["tables"][0]["rows"]


@pytest.mark.torch
@pytest.mark.parametrize("pool", ["openmp", "blas"])
def test_work_of_a_native_pool_is_on_the_line_that_waits_for_it(pools, pool):
    truth, rows = pools
    of_line = [row for row in rows if row["line"].startswith(f"native_pools.py:{truth[pool]['line']} ")]
    assert sum(row["idle_ns"] for row in of_line) / 1e6 >= 0.95 * truth[pool]["ms"], (truth, rows)
    assert pool == "blas" or any(row["cause_id"] == "native" for row in of_line), rows  # OpenBLAS spins where it waits


@pytest.mark.torch
def test_no_time_of_a_native_pool_is_on_a_thread_without_python(pools):
    _, rows = pools
    assert not [row for row in rows if row["line"].startswith("(thread")], rows
