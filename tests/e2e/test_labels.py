# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Labels that a user gives a trace (-M), and ranks of its processes in a job."""

import json

import logfile
import machine
import pytest
import reading
import tracing

LABELS = {"run": "17", "note": "lr=3e-4, \u00e9t\u00e9", "empty": ""}
RANKS = {"RANK": "3", "LOCAL_RANK": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A labelled trace of two processes, the second started with a rank; the printed report is report.txt."""
    folder = tmp_path_factory.mktemp("labels")
    train = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "2"]
    program = ["sh", "-c", '"$@"; RANK=3 LOCAL_RANK=1 "$@"', "sh", *train]
    labels = [word for name, value in LABELS.items() for word in ("-M", f"{name}={value}")]
    done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu-%p.json", *program), *labels, names=("trace.gpt", "trace.json"))
    (folder / "report.txt").write_text(done.stdout)
    return folder


def table(folder, name):
    done = tracing.gputrace(folder, "report", "trace.gpt", "--format", "json", "--table", name).must_be(0)
    return json.loads(done.stdout)["tables"][0]["rows"]


def test_labels_are_in_the_log_the_report_its_tables_and_the_chrome_trace(folder):
    line = "Labels: " + ", ".join(f"{name}={value}" for name, value in LABELS.items())
    assert line in (folder / "report.txt").read_text().splitlines()
    assert line in tracing.gputrace(folder, "report", "trace.gpt").must_be(0).stdout.splitlines()
    assert {row["label"]: row["value"] for row in table(folder, "labels")} == LABELS
    assert reading.trace_of(folder / "trace.json")["gputrace"]["labels"] == LABELS


def test_merge_knows_the_ranks_of_the_environment_where_no_collective_names_them(tmp_path):
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "2"]
    for rank in "01":
        tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *program), env={"RANK": rank}, names=(f"{rank}.gpt",))
    done = tracing.gputrace(tmp_path, "merge", "--unaligned", "--format", "json", "0.gpt", "1.gpt").must_be(0)
    found = {table["id"]: table for table in json.loads(done.stdout)["tables"]}["merge_ranks"]
    assert [row["rank"] for row in found["rows"]] == [0, 1] and "no rank is known" not in done.stdout


def test_logs_of_two_jobs_are_not_merged(tmp_path):
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", "2"]
    for rank, port in ("0", "29500"), ("1", "29501"):
        job = {"RANK": rank, "MASTER_ADDR": "a\x1b[31m", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "x" * 300}
        tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *program), env=job, names=(f"{rank}.gpt",))
    done = tracing.gputrace(tmp_path, "merge", "0.gpt", "1.gpt").must_be(1)
    assert "are of different jobs, by MASTER_PORT: rank 0 of 0.gpt" in done.stderr and "\x1b" not in done.stderr
    assert ":29500, rank 1 of 1.gpt" in done.stderr and "name the logs of one" in done.stderr
    tracing.gputrace(tmp_path, "merge", "--unaligned", "0.gpt", "1.gpt").must_be(0)
    done = tracing.gputrace(tmp_path, "report", "0.gpt", "--format", "json", "--table", "processes").must_be(0)
    (row,) = [row for row in json.loads(done.stdout)["tables"][0]["rows"] if row["rank"] == 0]
    assert row["master"] == "a?[31m:29500" and not row["run_id"]


def test_ranks_of_the_environment_stand_beside_process_ids(folder):
    processes = [row for row in table(folder, "processes") if "train.py" in row["command"]]
    assert sorted(str((row["rank"], row["local_rank"])) for row in processes) == ["(3, 1)", "(None, None)"]
    pid, = (row["pid"] for row in processes if row["rank"] == 3)
    assert f"(pid {pid}, rank 3, local rank 1)" in (folder / "report.txt").read_text()
    trace = reading.trace_of(folder / "trace.json")
    own, = (one for one in trace["gputrace"]["processes"] if one["pid"] == pid)
    assert (own["rank"], own["local rank"]) == (3, 1)
    names = {event["pid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
    assert names[own["shown as"]].endswith(" (rank 3, local rank 1)")


@pytest.mark.parametrize("rank", ["-1", "12345678", "3; rm", "0x1", ""])
def test_what_is_no_rank_is_not_shown(tmp_path, rank):
    tracing.trace(tmp_path, ["env", f"RANK={rank}", machine.any_python(), "-c", "pass"], names=("trace.gpt",))
    assert all(row["rank"] is None for row in table(tmp_path, "processes"))


def test_a_child_has_the_rank_of_its_parent(tmp_path):
    """The child was forked and has called no exec."""
    program = "import os, sys; os.fork() or (print('child', os.getpid(), flush=True), sys.stdin.read())"
    command = [machine.GPUTRACE, *tracing.outputs(tmp_path, "trace.gpt"), "--", "env", "RANK=5", machine.any_python(), "-c", program]
    with tracing.Running(command, tmp_path) as running:
        child = int(running.wait_line("child").split()[1])
        tracing.until(lambda: any(logfile.has_process(log, child) for log in tmp_path.glob("trace.gpt.part-*")))
        running.end().must_be(0)
    ranks = {row["pid"]: row["rank"] for row in table(tmp_path, "processes")}
    assert ranks[child] == 5
