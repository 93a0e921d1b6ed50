# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Collectives of torch.distributed (--ops) over the simulated NCCL: one run, seen by torch.profiler and gputrace."""

import collections
import json
import os
import subprocess

import gpu_time
import machine
import pytest
import reading
import tracing
import truth
from reading import chrome

pytestmark = pytest.mark.torch

RANKS = 2
COLLECTIVE = "record_param_comms"
FIELDS = ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "In split size", "Out split size", "Group size",
          "Process Group Name", "Process Group Description", "Process Group Ranks", "Rank", "Global rank start",
          "Global rank stride", "Src Rank", "Dst Rank", "Seq", "Comms Id", "Is asynchronized op")
PYTHONS = {"newest": lambda: machine.tool("get-torch"), "older": machine.older_torch}


def facts(event, unknown=()):
    return tuple((name, event["args"][name]) for name in FIELDS if name in event["args"] and name not in unknown)


def name_of(reported):
    """The collective's name without "_": versions differ in allreduce and all_reduce."""
    return dict(reported)["Collective name"].replace("_", "")


class Seen:
    """Collectives and their GPU work of one process in a file, inside `section`."""

    def __init__(self, events, pid):
        mine = [e for e in events if e["ph"] == "X" and e["pid"] == pid]
        section = next(e for e in mine if e["name"] == "section")
        begin, end = float(section["ts"]), float(section["ts"]) + float(section["dur"])
        self.ops = sorted((e for e in mine if e["name"] == COLLECTIVE and begin < float(e["ts"]) < end),
                          key=lambda e: float(e["ts"]))
        ids = {e["args"]["External id"] for e in self.ops}
        self.gpu = [e for e in events if e.get("cat") in chrome.GPU and e["args"].get("External id") in ids]

    def reported(self, unknown=()):
        return [facts(op, unknown) for op in self.ops]

    def gpu_work(self, unknown=()):
        return collections.Counter((event["name"], facts(event, unknown)) for event in self.gpu)

    def unknown(self):
        """{"Comms Id"} if torch.profiler lacks it: up to 2.12 it has no number of a collective common to all ranks."""
        return {"Comms Id"}.difference(*(event["args"] for event in self.ops))


class Run:
    def __init__(self, folder, version):
        program = [PYTHONS[version](), machine.PROGRAMS / "torch_nccl.py", folder]
        self.folder = folder
        self.done = tracing.trace(folder, tracing.on_simgpu(folder / "gpu-%p.json", *program), "--ops",
                                  env={"SIMGPU_NCCL": 1})
        events = json.loads((folder / "trace.json").read_text())["traceEvents"]
        self.ranks = []  # [(profiled, traced)]
        self.pids = []
        for rank in range(RANKS):
            profiled = json.loads((folder / f"profiled-{rank}.json").read_text())["traceEvents"]
            pid = next(e["pid"] for e in profiled if e["name"] == COLLECTIVE)
            self.ranks.append((Seen(profiled, pid), Seen(events, pid)))
            self.pids.append(pid)


@pytest.fixture(scope="module", params=PYTHONS)
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("nccl"), request.param)


def test_collectives_say_what_they_say_to_torch_profiler(run):
    for profiled, traced in run.ranks:
        names = set(map(name_of, profiled.reported()))
        assert {"allreduce", "broadcast", "barrier"} <= names and names & {"send", "recv"}
        assert traced.reported(profiled.unknown()) == profiled.reported()


def test_their_kernels_say_it_too(run):
    for profiled, traced in run.ranks:
        assert sum("ncclDevKernel" in event["name"] for event in profiled.gpu) > 20
        assert traced.gpu_work(profiled.unknown()) == profiled.gpu_work()


def test_a_collective_has_one_number_on_all_ranks(run):
    ids = [{dict(one)["Comms Id"] for one in traced.reported() if name_of(one) == "allreduce"} for _, traced in run.ranks]
    assert ids[0] == ids[1] and len(ids[0]) > 4


def test_the_file_keeps_its_promises(run):
    chrome.assert_valid(run.folder / "trace.json")


def test_nothing_was_lost(run):
    receipt = reading.receipt(reading.trace_of(run.folder / "trace.json"))
    assert (receipt["ops_lost"], receipt["bad_records"]) == (0, 0)


# ---- HTA's analyses


def hta(*files):
    """HTA's results for these files, without rounding to microseconds, so that sums can be compared."""
    done = subprocess.run([machine.tool("get-hta"), machine.ROOT / "tests/e2e/consumers" / "hta_collectives.py", *files],
                          capture_output=True, text=True, env={**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"})
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


class Both:
    """HTA's results for both ranks, from gputrace's files and from torch.profiler's."""

    def __init__(self, run):
        tracing.gputrace(run.folder, "export", run.folder / "trace.gpt", "-o", run.folder / "own.%p.json").must_be(0)
        self.traced = hta(*(run.folder / f"own.{pid}.json" for pid in run.pids))
        self.profiled = hta(*(run.folder / f"profiled-{rank}.json" for rank in range(RANKS)))


@pytest.fixture(scope="module")
def both(run):
    return Both(run)


def merged(intervals):
    """The intervals, with overlapping or adjacent ones joined."""
    whole = []
    for begin, end in sorted(intervals):
        if whole and begin <= whole[-1][1]:
            whole[-1][1] = max(end, whole[-1][1])
        else:
            whole.append([begin, end])
    return whole


def kernels_of(folder, pid):
    """([(start, end)] of kernels of collectives, [(start, end)] of other kernels), from the simulated GPU."""
    ran = truth.work(truth.load(folder / f"gpu-{pid}.json"), "kernel")
    spans = [(work["name"].startswith("nccl"), (work["start"], work["end"])) for work in ran]
    return tuple([span for is_own_library, span in spans if is_own_library == wanted] for wanted in (True, False))


@pytest.mark.parametrize("run", ["newest"], indirect=True)
def test_hta_sees_collectives_as_it_does_in_torch_profilers_files(run, both):
    for rank in map(str, range(RANKS)):
        profiled, traced = both.profiled["collectives"][rank], both.traced["collectives"][rank]
        assert len(profiled) > 20
        assert {corr: traced.get(corr) for corr in profiled} == profiled


@pytest.mark.parametrize("run", ["newest"], indirect=True)
def test_hta_has_the_overlap_of_collectives_and_computing_that_the_gpu_had(run, both):
    for rank, pid in enumerate(run.pids):
        collectives, others = map(merged, kernels_of(run.folder, pid))
        together = sum(max(0, min(one[1], other[1]) - max(one[0], other[0])) for one in collectives for other in others)
        percent = 100 * together / sum(end - begin for begin, end in collectives)
        assert percent > 0
        assert both.traced["overlap_percent"][str(rank)] == pytest.approx(percent, abs=0.02)


@pytest.mark.parametrize("run", ["newest"], indirect=True)
def test_what_each_rank_did_on_its_gpu_is_as_hta_and_the_gpu_say(run, both):
    found = tracing.gputrace(run.folder, "report", "trace.gpt", "--format", "json", "--table", "breakdown_processes").must_be(0)
    rows = {row["pid"]: row for row in json.loads(found.stdout)["tables"][0]["rows"]}
    for rank, pid in enumerate(run.pids):
        (own,) = gpu_time.operations(gpu_time.load(run.folder / f"own.{pid}.json")).values()
        assert {name: rows[pid][name] for name in gpu_time.PARTS} == gpu_time.divided(own)
        collectives, others = kernels_of(run.folder, pid)
        of_kernels = gpu_time.nearly(gpu_time.split(others, collectives, []))
        for name in ("computation_ns", "exposed_communication_ns", "communication_ns"):
            assert rows[pid][name] == of_kernels[name]
        assert both.traced["overlap_percent"][str(rank)] == pytest.approx(rows[pid]["overlap_percent"], abs=0.02)
