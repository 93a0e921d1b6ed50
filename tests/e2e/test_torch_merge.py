# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""gputrace merge: two ranks, traced separately, one of them late; the result matches the ranks' own clock readings."""

import gzip
import json
import subprocess

import machine
import pytest
import timelines
import tracing
from reading import chrome

pytestmark = pytest.mark.torch

RANKS = 2
PROGRAM = machine.PROGRAMS / "torch_rank.py"
LATE_RANK = 1
LATE_NS = 300_000_000
LATE_EVERY = 4
LEAST_NS = 1000  # lateness below this does not count
CLOCK_SET_NS = 50_000  # NTP alone never sets a clock by this much: it slews both clocks alike
RUNS_MOST = 3
HTA = """
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1], include_last_profiler_step=True)
table = analysis.get_temporal_breakdown(visualize=False)
print(json.dumps(sorted(int(rank) for rank in table["rank"])))
"""


class Run:
    def __init__(self, folder):
        self.folder = folder
        tracers = []
        for rank in range(RANKS):
            own = folder / str(rank)
            own.mkdir()
            words = [machine.GPUTRACE, "-o", folder / f"{rank}.gpt", "--ops", "--", *tracing.on_simgpu(
                own / "gpu.json", machine.tool("get-torch"), PROGRAM, folder, rank)]
            tracers.append(subprocess.Popen([str(word) for word in words], cwd=own, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, env=tracing.environment(own, SIMGPU_NCCL=1)))
        try:
            for tracer in tracers:
                said, _ = tracer.communicate(timeout=tracing.PATIENCE_S)
                assert tracer.returncode == 0, said.decode()
        finally:
            for tracer in tracers:
                tracer.terminate()
                tracer.wait()
        ranks = [json.loads((folder / f"readings-{rank}.json").read_text()) for rank in range(RANKS)]
        ahead = [each for one in ranks for each in one["ahead"]]
        self.clock_was_set = max(ahead) - min(ahead) > CLOCK_SET_NS
        self.pids = [one["pid"] for one in ranks]
        self.readings = list(zip(*(one["readings"] for one in ranks)))  # [(of rank 0, of rank 1)]
        self.steps = list(zip(*(one["steps"] for one in ranks)))
        self.was_disturbed = any(not 0.75 * LATE_NS < low <= high < 1.5 * LATE_NS if number % LATE_EVERY == 1 else low > 0.5 * LATE_NS
                                 for number, (low, high) in enumerate(self.bounds()))

    def read(self):
        self.done = self.merge("-o", "all.json.gz", "-o", "all.pftrace", "-o", "rank-%r.json.gz", "--format", "json").must_be(0)
        self.tables = {table["id"]: table for table in json.loads(self.done.stdout)["tables"]}
        with gzip.open(self.folder / "all.json.gz", "rt", encoding="utf-8") as file:
            self.all = json.load(file)
        return self

    def merge(self, *options, logs=("0.gpt", "1.gpt")):
        return tracing.gputrace(self.folder, "merge", *logs, *options)

    def bounds(self):
        """[(least, most)] lateness of the late rank in ns: it called each collective between two readings."""
        return [(mine[0] - other[1], mine[1] - other[0]) for other, mine in self.readings]

    def line_of(self, words):
        found = [i for i, line in enumerate(PROGRAM.read_text().splitlines(), 1) if words in line]
        assert len(found) == 1
        return found[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """CUPTI's GPU times use the wall clock, the program's times do not: a run in which it was set is repeated.  So is one in
    which other programs made a rank late, too."""
    for _ in range(RUNS_MOST):
        run = Run(tmp_path_factory.mktemp("merge"))
        if not run.clock_was_set and not run.was_disturbed:
            break
    assert not run.clock_was_set, f"the wall clock was set, or others made ranks late, in each of {RUNS_MOST} runs"
    return run.read()


def test_both_ranks_are_there_on_one_clock(run):
    rows = run.tables["merge_ranks"]["rows"]
    assert [(row["rank"], row["pid"], row["compared"]) for row in rows] == [
        (rank, pid, len(run.readings)) for rank, pid in enumerate(run.pids)]
    assert [row["aligned_by"] for row in run.tables["merge_logs"]["rows"]] == ["reference", "same boot"]


def test_the_rank_that_was_late_is_named_with_how_much_in_all(run):
    late = run.tables["merge_ranks"]["rows"][LATE_RANK]
    least = sum(max(low - LEAST_NS, 0) for low, _ in run.bounds())
    most = sum(max(high, 0) for _, high in run.bounds())
    assert 2 * LATE_NS < least <= late["late_ns"] <= most, (run.bounds(), run.tables, starts_in_chrome(run.all["traceEvents"]))
    assert max(low for low, _ in run.bounds()) <= late["late_most_ns"] <= max(high for _, high in run.bounds())
    assert run.tables["merge_ranks"]["rows"][0]["waited_ns"] >= least


def test_what_the_other_rank_waited_is_no_part_of_the_transfer(run):
    """By PyTorch's records; the ranks' own readings are around the launches."""
    least = sum(max(low - LEAST_NS, 0) for low, _ in run.bounds())
    most = sum(max(high, 0) for _, high in run.bounds())
    row = next(row for row in run.tables["split_collectives"]["rows"] if row["rank"] == 0 and row["by"] == "number")
    assert row["kernels"] == len(run.readings) and not row["unknown_ns"]
    assert 2 * LATE_NS < least <= row["waiting_ns"] <= most
    assert row["transfer_ns"] < 0.01 * row["waiting_ns"]


def test_the_line_of_the_collective_and_those_around_the_pause_are_named(run):
    row = next(row for row in run.tables["merge_late"]["rows"] if row["rank"] == LATE_RANK)
    at = f"torch_rank.py:{run.line_of('dist.all_reduce(y)')} step"
    assert row["collective"].replace("_", "").startswith("allreduce (") and row["line"] == at
    assert row["pause_ns"] >= LATE_NS
    assert row["pause_from"] == f"torch_rank.py:{run.line_of('y = x * 2')} step"
    assert row["pause_to"] == f"torch_rank.py:{run.line_of('y += 1')} step"


def test_each_step_has_the_time_it_took_on_both_ranks(run):
    rows = run.tables["merge_steps"]["rows"]
    assert [(row["step"], row["ranks"]) for row in rows] == [(number, RANKS) for number in range(len(run.steps))]
    for row, both in zip(rows, run.steps):
        walls = [(step[2] - step[1], step[3] - step[0]) for step in both]  # inside and outside of its marks
        for said, pick in (("fastest", min), ("slowest", max)):
            assert pick(low for low, _ in walls) <= row[f"{said}_ns"] <= pick(high for _, high in walls)
            low, high = walls[row[f"{said}_rank"]]
            assert low <= row[f"{said}_ns"] <= high
        assert row["apart_ns"] == row["slowest_ns"] - row["fastest_ns"] and row["median_ns"] == row["fastest_ns"]
    of_ranks = run.tables["merge_step_ranks"]["rows"]
    assert [(row["rank"], row["steps"], row["compared"]) for row in of_ranks] == [
        (rank, len(run.steps), len(run.steps)) for rank in range(RANKS)]


def test_the_late_rank_is_the_one_that_was_late_in_each_step(run):
    rows = run.tables["merge_steps"]["rows"]
    late = [row for number, row in enumerate(rows) if number % LATE_EVERY == 1]
    assert all(row["late_rank"] == LATE_RANK for row in late)
    for row, (low, high) in zip(late, run.bounds()[1::LATE_EVERY]):
        assert low <= row["late_ns"] <= high
    assert run.tables["merge_step_ranks"]["rows"][LATE_RANK]["late_most"] >= len(late)


def test_what_it_does_unlike_the_other_is_its_sleep(run):
    """The other rank waits for it as long as it sleeps, and longer if it is late for more: that is the only change like it."""
    rows = run.tables["merge_difference"]["rows"]
    first = next(number for number, row in enumerate(rows) if row["change_ns"] > 0)
    assert [(row["what"], row["line"]) for row in rows[:first]] in ([], [("wait", f"torch_rank.py:{run.line_of('return before') - 1}")]), rows
    row = rows[first]
    assert row["rank"] == LATE_RANK and (row["what"], row["cause"]) == ("idle", "sleep") and row["median_ns"] < row["rank_ns"]
    assert row["line"] == f"torch_rank.py:{run.line_of('time.sleep(LATE_SECONDS)')}"
    assert 0.9 * LATE_NS / LATE_EVERY < row["change_ns"] < 1.1 * LATE_NS / LATE_EVERY


def starts_in_chrome(events):
    """{(pid, number of the collective): start in ns}"""
    return {(event["pid"], event["args"]["Seq"]): event["ts"] * 1000 for event in events
            if event.get("cat") == "kernel" and "Seq" in event["args"]}


def starts_in_pftrace(found):
    """{(id of the GPU's track, number of the collective): start in ns}"""
    return {(found["tracks"][str(one["track"])]["parent"], one["args"]["Seq"]): one["start"] for one in found["slices"]
            if one["cat"] == ["kernel"] and "Seq" in one["args"]}


@pytest.mark.parametrize("form", ["json.gz", "pftrace"])
def test_one_file_has_both_ranks_as_far_apart_as_they_were(run, form):
    if form == "pftrace":
        found = starts_in_pftrace(timelines.pftrace(run.folder / "all.pftrace"))
    else:
        found = starts_in_chrome(run.all["traceEvents"])
    whose = sorted({which for which, _ in found})  # the first log's come first
    numbers = sorted({number for _, number in found})
    assert len(whose) == RANKS and len(found) == RANKS * len(run.readings)
    for number, (low, high) in zip(numbers, run.bounds()):
        apart = found[whose[1], number] - found[whose[0], number]
        assert low - 1 <= apart <= high + 1


def test_what_belongs_to_a_rank_has_processes_and_numbers_of_its_own(run):
    events = run.all["traceEvents"]
    labels = [event["args"]["labels"] for event in events if event["name"] == "process_labels" and "rank" in event["args"]["labels"]]
    hosts = {row["host"] for row in run.tables["merge_logs"]["rows"]}
    assert len(hosts) == 1
    host = hosts.pop()
    assert sorted(labels) == sorted([f"rank {rank}, {host}" for rank in range(RANKS)] +
                                    [f"GPU 0, rank {rank}, {host}" for rank in range(RANKS)])
    starts = [event["id"] for event in events if event["ph"] == "s" and event["cat"] == "ac2g"]
    assert len(starts) == len(set(starts)) > 2 * len(run.readings)


def test_hta_takes_the_files_of_the_ranks_by_their_numbers(run):
    folder = run.folder / "hta"
    folder.mkdir()
    for rank in range(RANKS):
        (run.folder / f"rank-{rank}.json.gz").rename(folder / f"rank-{rank}.json.gz")
        chrome.assert_valid(folder / f"rank-{rank}.json.gz")
    done = tracing.command(folder, machine.tool("get-hta"), "-c", HTA, folder).must_be(0)
    assert json.loads(done.stdout.splitlines()[-1]) == [0, 1]


def test_one_log_says_whose_rank_it_is_without_the_others(run):
    folder = run.folder / "own"
    folder.mkdir()
    for rank in range(RANKS):
        tracing.gputrace(run.folder, "export", f"{rank}.gpt", *tracing.outputs(folder, "of-%r.json"), "-o", f"{folder}/").must_be(0)
        (named,) = folder.glob(f"*_{run.pids[rank]}.*.pt.trace.json.gz")
        with gzip.open(named, "rt", encoding="utf-8") as file:
            documents = [json.load(file), json.loads((folder / f"of-{rank}.json").read_text())]
        infos = [document["distributedInfo"] for document in documents]
        assert [(one["rank"], one["world_size"]) for one in infos] == [(rank, RANKS)] * 2


def test_a_rank_that_is_missing_is_said(run):
    done = run.merge(logs=("1.gpt",)).must_be(0)
    assert "rank 0 of 2 is in none of the logs" in done.stdout


@pytest.mark.parametrize("logs, code, said", [
    (("0.gpt", "1.gpt", "0.gpt"), 1, "0.gpt and 0.gpt are the same file"),
    (("0.gpt", "copy.gpt"), 1, "0.gpt and copy.gpt are the same recording"),
    (("0.gpt", "readings-0.json"), 1, "readings-0.json"),
    (("0.gpt", "nothing.gpt"), 1, "nothing.gpt: No such file"),
    ((), 2, "merge needs a log"),
])
def test_what_does_not_belong_together_is_refused(run, logs, code, said):
    (run.folder / "copy.gpt").write_bytes((run.folder / "0.gpt").read_bytes())
    done = run.merge("-o", "refused.json", logs=logs).must_be(code)
    assert said in done.stderr
    assert not (run.folder / "refused.json").exists()


@pytest.mark.parametrize("way", ["bpf", "agent"])
def test_torchrun_starts_one_gputrace_for_each_rank(tmp_path, way):
    ranks = 4
    traced = [machine.GPUTRACE, "-o", tmp_path / "rank-%q{RANK}.gpt", "--ops", "--way", way, "--", machine.SIMGPU_RUN,
              machine.tool("get-torch"), machine.PROGRAMS / "torch_of_torchrun.py", tmp_path]
    torchrun = [machine.tool("get-torch"), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, "--no-python"]
    done = subprocess.run([str(word) for word in torchrun + traced], cwd=tmp_path, capture_output=True, text=True, check=False,
                          timeout=tracing.PATIENCE_S, env=tracing.environment(tmp_path, SIMGPU_NCCL=1))
    assert done.returncode == 0, done.stderr
    logs = [f"rank-{rank}.gpt" for rank in range(ranks)]
    merged = tracing.gputrace(tmp_path, "merge", *logs, "--format", "json").must_be(0)
    tables = {table["id"]: table["rows"] for table in json.loads(merged.stdout)["tables"]}
    pids = [json.loads((tmp_path / f"{rank}.json").read_text())["pid"] for rank in range(ranks)]
    assert [(row["rank"], row["pid"]) for row in tables["merge_ranks"]] == list(enumerate(pids))
