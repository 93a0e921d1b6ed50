# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The time of each collective's kernel on each rank, split into waiting for the last rank and transfer, with dispatch before
it: ranks on the simulated NCCL come late by known times, and the simulated GPU says when each kernel began and ended."""

import collections
import json
import re
import tarfile

import logfile
import machine
import pytest
import tracing
import truth

RANKS = 4
PROGRAM = machine.ROOT / "tests/workloads/nccl_ranks.py"
SETTINGS = {"SIMGPU_NCCL": 1, "SIMGPU_DEVICES": RANKS}
LATE_NS = 12_000_000  # nccl_ranks.py: LATE_MS
ROUNDS = 4
WRONG_MOST = 0.01  # of the injected time
OWN = "my_own_exchange"
BASES = {"numbered": "number", "gathered": "number", "grouped": "number", "ring": "pair", "pair": "pair",
         "all_to_all": "number", "replay": "replay", "by_name": "name", "vllm": "name", "own": "name"}


class Run:
    def __init__(self, folder, kinds, options=(), **settings):
        self.folder, self.kinds = folder, kinds
        (folder / "job").mkdir()
        command = tracing.on_simgpu(folder / "gpu-%p.json", machine.any_python(), PROGRAM, RANKS, folder / "job",
                                    "--kinds", ",".join(kinds), "--rounds", ROUNDS)
        self.done = tracing.trace(folder, command, *options, env={**SETTINGS, **settings})
        self.truth = {}  # {(pid, correlation): what was}
        self.launched = {}  # {(pid, correlation): when}
        for path in folder.glob("gpu-*.json"):
            for entry in truth.load(path):
                if entry["is"] == "collective":
                    self.truth[entry["pid"], entry["corr"]] = entry
                elif entry["is"] == "api":
                    self.launched[entry["pid"], entry["corr"]] = entry["enter"]

    def merge(self, *options, logs=("trace.gpt",)):
        done = tracing.gputrace(self.folder, "merge", *logs, "--format", "json", "-o", "all.json", *options).must_be(0)
        self.tables = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
        events = json.loads((self.folder / "all.json").read_text())["traceEvents"]
        self.kernels = {}  # {(pid, correlation): its event's args}
        for event in events:
            args = event.get("args", {})
            if event.get("cat") == "kernel" and ("waiting ns" in args or "waiting unknown" in args):
                self.kernels[args["process"], args.get("cupti correlation", args["correlation"])] = args
        return self

    def by_kind(self):
        """{kind: [(what was, what is said)]}; each rank makes the kinds in turn."""
        found = collections.defaultdict(list)
        for pid in {pid for pid, _ in self.truth}:
            mine = sorted((entry for (of, _), entry in self.truth.items() if of == pid), key=lambda entry: entry["begin"])
            assert len(mine) == ROUNDS * len(self.kinds)
            for number, entry in enumerate(mine):
                found[self.kinds[number % len(self.kinds)]].append((entry, self.kernels.get((pid, entry["corr"]))))
        return found


def waited(entry):
    return max(entry["last"] - entry["begin"], 0)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("split"), list(BASES)).merge("--comm-kernel", OWN)


@pytest.mark.parametrize("kind", BASES)
def test_waiting_and_transfer_are_what_they_were(run, kind):
    of_kind = run.by_kind()[kind]
    assert len(of_kind) == ROUNDS * RANKS and all(said for _, said in of_kind)
    wrong = sum(abs(waited(entry) - said["waiting ns"]) + abs(entry["end"] - entry["begin"] - waited(entry) - said["transfer ns"])
                for entry, said in of_kind)
    assert sum(waited(entry) for entry, _ in of_kind) > ROUNDS / 2 * LATE_NS
    assert wrong <= WRONG_MOST * ROUNDS * LATE_NS


@pytest.mark.parametrize("kind", BASES)
def test_dispatch_is_the_time_in_which_it_was_queued(run, kind):
    of_kind = run.by_kind()[kind]
    assert sum(entry["begin"] - entry["submitted"] for entry, _ in of_kind) > ROUNDS / 4 * LATE_NS
    for entry, said in of_kind:  # the call is seen between its entry and the kernel's submission
        least, most = entry["begin"] - entry["submitted"], entry["begin"] - run.launched[entry["pid"], entry["corr"]]
        assert least - 1000 <= said["dispatch ns"] <= most + 1000


def test_parts_sum_up_to_the_kernels(run):
    for (pid, correlation), said in run.kernels.items():
        entry = run.truth[pid, correlation]
        assert abs(said["waiting ns"] + said["transfer ns"] - (entry["end"] - entry["begin"])) <= 200  # clocks
    for row in run.tables["split_ranks"] + run.tables["split_collectives"]:
        assert row["waiting_ns"] + row["transfer_ns"] + row["unknown_ns"] == row["ns"]
    assert sum(row["kernels"] for row in run.tables["split_collectives"]) == len(run.truth)


@pytest.mark.parametrize("kind", BASES)
def test_the_rank_that_began_last_is_named(run, kind):
    for entry, said in run.by_kind()[kind]:
        if waited(entry) > LATE_NS / 2:
            assert said["last rank"] == str(entry["last_rank"]) and "nccl_ranks.py:" in said["last rank's line"]


def test_each_row_says_by_what_the_kernels_were_found(run):
    lines = PROGRAM.read_text().splitlines()
    found = {(row["by"], row["collective"].partition(" (")[0].partition("<")[0]) for row in run.tables["split_collectives"]}
    assert {by for by, _ in found} == {"number", "replay", "pair", "name"}
    assert ("number", "all_to_all") in found and ("pair", "coalesced") in found and ("pair", "send") in found
    assert ("name", "void vllm::cross_device_reduce_1stage") in found
    assert any("self.nccl.ncclAllReduce" in line for line in lines)


def test_communicators_have_their_ranks_bytes_and_parts(run):
    """By name no communicator is known; the others are what the program called NCCL with."""
    known, unknown = run.tables["split_communicators"]
    elements = {"numbered": 250000, "gathered": RANKS * 1000, "grouped": 6000, "ring": 2000, "pair": 1000,
                "all_to_all": RANKS * 1000, "replay": 250000}
    assert known["ranks"] == f"0-{RANKS - 1}" and known["size"] == RANKS
    assert known["collectives"] == ROUNDS * len(elements) and known["kernels"] == RANKS * known["collectives"]
    assert known["bytes"] == 4 * ROUNDS * RANKS * sum(elements.values()) and not known["kernels_of_unknown_bytes"]
    by_name = list(BASES.values()).count("name")
    assert unknown["communicator"] is None and unknown["bytes"] is None and unknown["collectives"] == ROUNDS * by_name
    for part in ("ns", "waiting_ns", "transfer_ns", "unknown_ns", "kernels"):
        assert known[part] + unknown[part] == sum(row[part] for row in run.tables["split_ranks"])


def test_why_a_rank_was_late_is_the_account_of_its_gpu(run):
    """Half of the time a rank slept, else its kernel was queued behind another."""
    rows = run.tables["split_last"]
    queued = sum(row["queued_ns"] for row in rows)
    slept = [row for row in rows if row["cause"] != "busy"]
    late = sum(row["late_ns"] for row in rows)
    each = ROUNDS / 2 * len(BASES) * LATE_NS  # a busy machine adds ranks that are late for want of a CPU
    assert 0.5 * each < queued < 1.6 * each and queued < late
    line = 1 + PROGRAM.read_text().splitlines().index("        time.sleep(LATE_MS / 1000)")
    at_sleep = sum(row["late_ns"] for row in slept if row["cause_line"].startswith(f"nccl_ranks.py:{line} "))
    assert at_sleep > 0.5 * each, slept


def test_without_its_name_a_kernel_is_no_collective(run, tmp_path):
    rows = json.loads(tracing.gputrace(run.folder, "merge", "trace.gpt", "--format", "json").must_be(0).stdout)["tables"]
    (table,) = [table for table in rows if table["id"] == "split_collectives"]
    assert not any(OWN in row["collective"] for row in table["rows"])
    assert any("cross_device_reduce" in row["collective"] for row in table["rows"])


def test_why_counts_what_ranks_wait_in_kernels_that_a_user_names(run):
    """All ranks' GPUs but the last one's do nothing else meanwhile."""
    lost = []
    for options in ([], ["--comm-kernel", OWN]):
        done = tracing.gputrace(run.folder, "why", "trace.gpt", "--format", "json", *options).must_be(0)
        tables = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
        lost.append(sum(row["ns"] for row in tables["why_losses"] if row["cause_id"] == "rank"))
    waits = sum(waited(entry) for entry, _ in run.by_kind()["own"])
    assert waits > ROUNDS / 2 * LATE_NS and abs(lost[1] - lost[0] - waits) <= WRONG_MOST * waits, (lost, waits)


def test_the_page_has_the_causes_of_who_began_last(run):
    tracing.gputrace(run.folder, "export", "trace.gpt", "-o", "page.html").must_be(0)
    text = (run.folder / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script id="answer"[^>]*>(.*?)</script>', text, re.S).group(1))
    (table,) = [table for table in data["tables"]["report"] if table["id"] == "split_last"]
    at = [column[0] for column in table["columns"]].index("its GPU was")
    causes = {row[at] for row in table["rows"]}
    assert "busy" in causes and any("sleep" in cause for cause in causes), causes


@pytest.mark.parametrize("pattern, said", [("(", "--comm-kernel (: not a POSIX extended regular expression"),
                                           ("", "it is empty, and would be every kernel")])
def test_a_pattern_that_is_none_is_refused(run, pattern, said):
    done = tracing.gputrace(run.folder, "merge", "trace.gpt", "--comm-kernel", pattern).must_be(2)
    assert said in done.stderr


@pytest.mark.parametrize("settings", [{"SIMGPU_NCCL_GROUPS": "each"}, {"SIMGPU_NCCL_NAMES": "2.20"}, {"SIMGPU_NCCL_NAMES": "2.18"}],
                         ids=lambda settings: "-".join(settings.values()))
def test_in_each_way_that_nccl_may_launch(tmp_path, settings):
    kinds = ["numbered", "gathered", "ring"] if "SIMGPU_NCCL_NAMES" in settings else ["grouped"]
    run = Run(tmp_path, kinds, **settings).merge()
    waits = sum(waited(entry) for entry in run.truth.values())
    assert waits > 2 * ROUNDS * LATE_NS
    wrong = sum(abs(waited(entry) - run.kernels[key]["waiting ns"]) for key, entry in run.truth.items())
    assert wrong <= WRONG_MOST * ROUNDS * LATE_NS * len(kinds)


def test_each_kernel_of_a_group_is_of_its_own_communicator(tmp_path):
    """NCCL launches them in an order of its own: they are told apart by the streams of their calls."""
    run = Run(tmp_path, ["several"]).merge()
    of = {row["ranks"]: row for row in run.tables["split_communicators"]}
    assert {ranks: row["kernels"] for ranks, row in of.items()} == {"0-3": ROUNDS * RANKS, "0-1": ROUNDS * 2, "2-3": ROUNDS * 2}
    assert of["0-3"]["bytes"] == 4 * ROUNDS * RANKS * 250000 and of["0-1"]["bytes"] == 4 * ROUNDS * 2 * 1000
    waits = sum(waited(entry) for entry in run.truth.values())
    assert len(run.truth) == 2 * ROUNDS * RANKS and waits > 2 * ROUNDS * LATE_NS
    wrong = sum(abs(waited(entry) - run.kernels[key]["waiting ns"]) for key, entry in run.truth.items())
    assert wrong <= WRONG_MOST * ROUNDS * LATE_NS


def test_without_the_agent_a_launch_has_its_communicator_too(tmp_path):
    Run(tmp_path, ["several"], options=["--agent", "off"])
    made = collections.Counter(record.values["comm_id"] for record in logfile.records(tmp_path / "trace.gpt", logfile.NCCL))
    assert sorted(made.values()) == [2 * ROUNDS, 2 * ROUNDS, RANKS * ROUNDS] and 0 not in made


def test_kernels_of_a_group_that_cannot_be_told_apart_are_not_split(tmp_path):
    run = Run(tmp_path, ["several_in_one_stream"]).merge()
    assert len(run.truth) == 2 * ROUNDS * RANKS
    assert {run.kernels[key]["waiting unknown"] for key in run.truth} == {"nothing says which kernels of other ranks belong to them"}


def test_the_report_of_one_log_with_all_ranks_has_the_same_tables(run):
    done = tracing.gputrace(run.folder, "report", "trace.gpt", "--format", "json", "--comm-kernel", OWN).must_be(0)
    tables = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    for name in ("split_ranks", "split_collectives", "split_last", "split_unknown"):
        rows = [{key: value for key, value in row.items() if key != "log"} for row in tables[name]]
        assert rows == [{key: value for key, value in row.items() if key != "log"} for row in run.tables[name]]


def check_merged(folder, was, collectives, knows_ranks):
    """Lateness, computation and files are of each GPU; nccl_all.py: GPU 0 computes 5 ms, the others 20 us."""
    done = tracing.gputrace(folder, "merge", "trace.gpt", "--format", "json", "-o", "rank-%r.json", "-o", "all.tar").must_be(0)
    rows = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert [row["gpu"] for row in rows["merge_ranks"]] == list(range(RANKS))
    assert all(row["compared"] == collectives and not row["not_compared"] for row in rows["merge_ranks"])
    lasts = [entry["last_rank"] for entry in was[0]]  # beside load it may be another than GPU 0
    assert [row["late"] for row in rows["merge_ranks"]] == [lasts.count(gpu) for gpu in range(RANKS)] and lasts.count(0) > collectives / 2
    for row in rows["merge_ranks"]:
        waits = sum(waited(entry) for entry in was[row["gpu"]])
        assert abs(row["waited_ns"] - waits) <= WRONG_MOST * waits + 1000 * collectives
    computed = [row["computation_ns"] for row in rows["merge_breakdown"]]
    assert computed[0] >= 5_000_000 * collectives and max(computed[1:]) < 2_000_000 * collectives
    (line,) = [row for row in rows["merge_lines"] if row["most_ns"] > 1_000_000 * collectives]
    assert line["least_ns"] < 2_000_000 * collectives and rows["merge_late"][0]["gpu"] == 0
    assert not any(row["what"] == "idle" for row in rows["merge_difference"])  # it is the process's
    files = sorted(path.name for path in folder.glob("rank-*.json"))
    assert files == (["rank-0.json"] if knows_ranks else [])
    if knows_ranks:
        assert "are ranks: rank-0.json has all of them" in done.stderr
    with tarfile.open(folder / "all.tar") as archive:
        assert len(archive.getnames()) == 2


@pytest.mark.parametrize("streams", [["streams"], []], ids=["streams", "default"])
@pytest.mark.parametrize("agent", ["auto", "off"])
def test_gpus_of_one_process_are_ranks(tmp_path, streams, agent):
    """Of one call of ncclCommInitAll; in the default stream of each GPU NCCL's own numbers of the ranks are not known."""
    collectives = 6
    command = tracing.on_simgpu(tmp_path / "gpu.json", machine.any_python(), machine.PROGRAMS / "nccl_all.py", RANKS,
                                collectives, *streams)
    tracing.trace(tmp_path, command, "--agent", agent, env=SETTINGS)
    if agent == "off":
        made = [record.values for record in logfile.records(tmp_path / "trace.gpt", logfile.NCCL)]
        assert len(made) == RANKS * collectives and len({one["comm_id"] for one in made}) == 1
        assert sorted(one["sequence"] for one in made) == sorted(RANKS * list(range(collectives)))
        return
    was = collections.defaultdict(list)
    for entry in truth.load(tmp_path / "gpu.json"):
        if entry["is"] == "collective":
            was[entry["rank"]].append(entry)
    done = tracing.gputrace(tmp_path, "report", "trace.gpt", "--format", "json").must_be(0)
    rows = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert [row["gpu"] for row in rows["split_ranks"]] == list(range(RANKS))
    assert [row["rank"] for row in rows["split_ranks"]] == (list(range(RANKS)) if streams else [None] * RANKS)
    for row in rows["split_ranks"]:
        waits = sum(waited(entry) for entry in was[row["gpu"]])
        assert row["kernels"] == collectives == len(was[row["gpu"]]) and not row["unknown_ns"]
        assert abs(row["waiting_ns"] - waits) <= WRONG_MOST * waits + 1000 * collectives
    assert rows["split_ranks"][1]["waiting_ns"] > 2_500_000 * collectives and rows["split_last"][0]["gpu"] == 0
    check_merged(tmp_path, was, collectives, bool(streams))
    (communicator,) = rows["split_communicators"]
    assert communicator["size"] == RANKS and communicator["kernels"] == RANKS * communicator["collectives"]
    assert communicator["bytes"] == 4 * 1000 * RANKS * collectives
