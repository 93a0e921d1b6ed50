# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Memory of PyTorch's allocators (--memory): the same run recorded by torch.profiler and gputrace."""

import collections
import json
import pickle
import pickletools
import subprocess

import machine
import pytest
import reading
import tracing
from reading import chrome

pytestmark = pytest.mark.torch

RUNS = {
    "cpu": ("cpu", lambda: machine.tool("get-torch"), "--memory-lines"),
    "cuda": ("cuda", lambda: machine.tool("get-torch"), "--memory"),
    "cuda-older": ("cuda", machine.older_torch, "--memory"),
}
MEMORY = ("[memory]", "[OutOfMemory]")
KEPT = 3_000_000 * 4


class Seen:
    """Memory events inside `section`, and ops, in a file."""

    def __init__(self, path):
        self.events = json.loads(path.read_text())["traceEvents"]
        section = next(e for e in self.events if e["name"] == "section" and e["ph"] == "X")
        begin, end = float(section["ts"]), float(section["ts"]) + float(section["dur"])
        every = sorted((e for e in self.events if e["name"] in MEMORY), key=lambda e: float(e["ts"]))
        self.memory = [e for e in every if begin < float(e["ts"]) < end]
        self.ops = [e for e in self.events if e.get("cat") == "cpu_op" and e["ph"] == "X"]

    def reported(self):
        """{tid: [(name, device type and id, address, bytes, sums) of each event]}.  Frees of CPU blocks from before the
        section are left out, as torch.profiler has fewer of them; so are the CPU's sums, which start at each profiler's
        start."""
        threads, held = collections.defaultdict(list), set()
        for event in self.memory:
            args = event["args"]
            of_cpu, block = args["Device Type"] == 0, (args["Device Type"], args.get("Addr"))
            if args["Bytes"] < 0 and of_cpu and block not in held:
                continue
            (held.discard if args["Bytes"] < 0 else held.add)(block)
            sums = None if of_cpu else (args["Total Allocated"], args["Total Reserved"])
            threads[event["tid"]].append((event["name"], args["Device Type"], args["Device Id"], args.get("Addr"),
                                          args["Bytes"], sums))
        return threads


class Run:
    def __init__(self, folder, device, python, option):
        program = [python, machine.PROGRAMS / "torch_memory.py", device, folder / "profiled.json"]
        command = tracing.on_simgpu(folder / "gpu.json", *program) if device == "cuda" else program
        self.folder, self.device, self.option = folder, device, option
        self.done = tracing.trace(folder, command, option)
        self.traced, self.profiled = Seen(folder / "trace.json"), Seen(folder / "profiled.json")
        self.truth = json.loads((folder / "profiled.json.truth").read_text())

    def kept(self):
        """Size of the block that is never freed, from torch.profiler: PyTorch may round up."""
        (size,) = {e["args"]["Bytes"] for e in self.profiled.memory if KEPT <= e["args"]["Bytes"] < 2 * KEPT}
        return [f"{size / 2 ** 20:.1f}", "MiB"]

    def report(self):
        return tracing.gputrace(self.folder, "report", self.folder / "trace.gpt").must_be(0).stdout

    def rows(self, function):
        """Rows of the table of memory for the function's line, as words."""
        table = self.report().split("Memory of PyTorch by Python line")[1].split("Out of memory")[0]
        return [line.split() for line in table.splitlines()
                if line.endswith(f"torch_memory.py:{self.truth['lines'][function]} {function}")]


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory):
    device, python, option = RUNS[request.param]
    return Run(tmp_path_factory.mktemp("memory"), device, python(), option)


def test_the_same_events_are_there_with_bytes_addresses_and_sums(run):
    profiled = run.profiled.reported()
    assert sum(map(len, profiled.values())) > 100
    traced = run.traced.reported()
    for tid in profiled:
        assert traced[tid] == profiled[tid]


def test_sums_of_the_cpu_follow_from_the_events(run):
    """Except shared memory, whose allocator reports each block as the whole sum."""
    last, shared, count = 0, set(), 0
    for event in run.traced.events:
        args = event.get("args", {})
        if event["name"] != "[memory]" or args["Device Type"] != 0:
            continue
        if args["Total Reserved"]:
            shared.add(args["Addr"])
        elif args["Addr"] in shared:
            shared.remove(args["Addr"])
        else:
            assert args["Total Allocated"] == last + args["Bytes"]
            last = args["Total Allocated"]
            count += 1
    assert count > 50


def test_an_event_is_in_the_innermost_op_around_it(run):
    """By the times in gputrace's file; another test shows that its ops equal torch.profiler's."""
    by_thread = collections.defaultdict(list)
    for op in run.traced.ops:
        by_thread[op["tid"]].append(op)
    for event in run.traced.memory:
        time = float(event["ts"])
        around = [op for op in by_thread[event["tid"]] if float(op["ts"]) <= time < float(op["ts"]) + float(op["dur"])]
        innermost = max(around, key=lambda op: (float(op["ts"]), -float(op["dur"])), default=None)
        if innermost is not None:
            assert event["args"]["op"] == innermost["name"]


def test_the_peak_is_that_of_the_allocator(run):
    if run.device == "cuda":
        assert max(e["args"]["Total Allocated"] for e in run.traced.memory if e["args"]["Device Type"] == 1) == run.truth["peak"]
    (row,) = run.rows("peak")
    assert row[:2] == ["76.3", "MiB"]


def test_what_is_never_freed_is_under_its_line(run):
    (row,) = run.rows("leak")
    assert row[:6] == [*run.kept(), *run.kept(), "-", "1"]  # one allocation is no growth from step to step


def test_the_report_says_who_held_memory_when_there_was_not_enough(run):
    assert run.truth["error"] != "there was enough"
    text = run.report().split("Out of memory")[1].split("\n\n")[0]
    assert f"torch_memory.py:{run.truth['lines']['ask_too_much']} ask_too_much" in text
    assert "128.0 TiB asked for" in text
    held = next(line for line in text.splitlines() if f"torch_memory.py:{run.truth['lines']['leak']} leak" in line)
    assert held.split()[:2] == run.kept()


def test_allocations_have_their_python_line(run):
    main = max(run.traced.reported().items(), key=lambda thread: len(thread[1]))[0]
    for event in run.traced.memory:
        args = event["args"]
        asked = run.option == "--memory-lines" or (args["Bytes"] > 0 and (args["Device Type"] or args["Bytes"] >= 65536))
        if asked and event["tid"] == main:
            assert "torch_memory.py" in args["Call stack"]


def test_nothing_was_lost(run):
    receipt = reading.receipt(reading.trace_of(run.folder / "trace.json"))
    assert (receipt["ops_lost"], receipt["torch_memory_lost"], receipt["bad_records"]) == (0, 0, 0)


def test_the_file_keeps_its_promises(run):
    chrome.assert_valid(run.folder / "trace.json")


def table(run, name, *options):
    done = tracing.gputrace(run.folder, "report", run.folder / "trace.gpt", *options, "--format", "json", "--table", name)
    (found,) = json.loads(done.must_be(0).stdout)["tables"]
    return found["rows"]


def test_lines_and_the_tree_have_the_memory_that_the_table_has(run):
    kind = "gpu" if run.device == "cuda" else "cpu"
    rows = [row for row in table(run, "torch_memory") if row["memory"].lower().startswith(kind)]
    kept = [row for row in rows if row["line_number"] == run.truth["lines"]["leak"]]
    (line,) = [row for row in table(run, "source_lines", "--lines", "leak") if row["line_number"] == run.truth["lines"]["leak"]]
    assert kept and line[f"{kind}_not_freed_bytes"] == sum(row["not_freed_bytes"] for row in kept) >= KEPT
    assert line[f"{kind}_at_peak_bytes"] == sum(row["at_peak_bytes"] for row in kept)
    tree = table(run, "tree", "--tree", "--by", "memory", "--min-percent", "0", "--show-all")
    assert tree[0]["at_peak_bytes"] == sum(row["at_peak_bytes"] for row in rows)
    (leak,) = [row for row in tree if row["kind"] == "function" and row["name"] == "leak"]
    assert leak["not_freed_bytes"] == line[f"{kind}_not_freed_bytes"]


# ---- .pickle, for PyTorch's memory_viz ----

# Opcodes of protocol 2 that torch/utils/viz/MemoryViz.js reads (PyTorch 2.15).
OPCODES = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "BINUNICODE", "BININT", "BININT1", "LONG1", "LONG_BINPUT",
           "LONG_BINGET", "TUPLE2", "NEWFALSE", "SETITEM", "SETITEMS", "APPEND", "APPENDS", "STOP"}


class Snapshot:
    def __init__(self, path):
        self.path, self.all = path, pickle.loads(path.read_bytes())
        self.blocks = {block["address"]: block for segment in self.all["segments"] for block in segment["blocks"]
                       if block["state"] == "active_allocated"}
        self.events = self.all["device_traces"][0]

    def viewed(self, python, *action):
        """Output of PyTorch's own viewer for this snapshot."""
        viewer = "import runpy, torch.cuda._memory_viz as v; runpy.run_path(v.__file__, run_name='__main__')"
        return subprocess.run([python, "-c", viewer, *action, self.path, *(["-o", "plot.html"] if "plot" in action[0] else [])],
                              cwd=self.path.parent, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def snapshot(run):
    """The snapshot; None for the CPU, of which there are none."""
    path = run.folder / "memory.pickle"
    done = tracing.gputrace(run.folder, "export", run.folder / "trace.gpt", "-o", path)
    if run.device == "cpu":
        assert done.code == 1 and "PyTorch's allocations on a GPU are not in this trace; --memory records them" in done.stderr
        assert not path.exists()
        return None
    done.must_be(0)
    return Snapshot(path)


def test_a_snapshot_has_every_event_of_the_trace(run, snapshot):
    """Tests above show that these events are torch.profiler's."""
    signs = {"alloc": 1, "free_requested": -1, "free_completed": -1}
    traced = [e["args"] for e in sorted((e for e in run.traced.events if e["name"] in MEMORY), key=lambda e: float(e["ts"]))
            if e["args"]["Device Type"] == 1]
    blocks = [(args["Addr"], args["Bytes"]) for args in traced if "Addr" in args]
    said = collections.defaultdict(list)
    for event in snapshot.events if snapshot else []:
        said[event["action"]].append((event.get("addr"), event["size"] * signs.get(event["action"], 1)))
    assert said["alloc"] == [block for block in blocks if block[1] > 0]
    assert said["free_requested"] == said["free_completed"] == [block for block in blocks if block[1] < 0]
    assert said["oom"] == [(None, args["Bytes"]) for args in traced if "Addr" not in args]
    assert len(said["oom"]) == (run.device == "cuda")


def test_a_snapshot_has_what_the_allocator_says_it_holds(run, snapshot):
    """PyTorch's own snapshot may have more blocks: those allocated before the trace were not reported."""
    profiled = {} if snapshot is None else {block["address"]: block["size"] for segment in run.truth["segments"]
                                           for block in segment["blocks"] if block["state"] == "active_allocated"}
    for address, block in (snapshot.blocks if snapshot else {}).items():
        assert profiled[address] == block["size"]
    if snapshot:
        (kept,) = [block for block in snapshot.blocks.values() if KEPT <= block["size"] < 2 * KEPT]
        frame = kept["frames"][0]
        assert frame["name"] == "leak" and frame["filename"].endswith("torch_memory.py")
        assert frame["line"] == run.truth["lines"]["leak"]


def test_segments_are_full_of_blocks_and_apart(snapshot):
    end = 0
    for segment in snapshot.all["segments"] if snapshot else []:
        assert segment["address"] >= end
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
        end = segment["address"] + segment["total_size"]


def test_pytorchs_own_viewer_takes_the_snapshot(run, snapshot):
    if snapshot is None:
        return
    python = RUNS["cuda"][1]()
    assert f"segments: {len(snapshot.all['segments'])}" in snapshot.viewed(python, "stats")
    assert "raise OutOfMemoryError # 128.0TiB requested" in snapshot.viewed(python, "trace")
    snapshot.viewed(python, "trace_plot")
    assert "MemoryViz" in (snapshot.path.parent / "plot.html").read_text()
    assert {opcode.name for opcode, _, _ in pickletools.genops(snapshot.path.read_bytes())} <= OPCODES
