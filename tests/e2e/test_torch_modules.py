# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""GPU time by module of real PyTorch, by BPF and by the agent, compared with forward hooks of the program itself
(programs/torch_modules.py)."""

import collections
import gzip
import json
import re

import chrome_invariants as chrome
import machine
import pytest
import test_modules
import timelines
import tracing
from reading import simulated
from test_modules import WAYS, is_early, late, of_modules, paths_of
from test_running_without_root import no_ptrace

pytestmark = pytest.mark.torch

PROGRAM = machine.PROGRAMS / "torch_modules.py"

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
REST = ("[backward]", "[no module]", "[no Python stack]")


@pytest.fixture(scope="module", params=WAYS)
def run(request, tmp_path_factory):
    run = test_modules.Run(tmp_path_factory.mktemp(f"torch-modules-{request.param}"), machine.tool("get-torch"), request.param,
                           program=PROGRAM)
    with run.tracer:
        run.go("go", "WarmUp")
        run.go("end", "Last")
        return run.end()


def with_name(names):
    return {name: value for name, value in names.items() if not is_early(name) and name[0] not in REST}


def test_each_kernel_is_of_the_innermost_module_that_was_called(run):
    expected = with_name(run.truth.own)
    assert len(expected) > 30 and {name.split(".")[0] for name, _ in expected} == {
        "Tied", "Images", "Sequence", "DataParallel", "CrossEntropyLoss", "Last"}
    assert with_name(of_modules(run.rows, "self_ns")) == expected


def test_totals_have_what_was_launched_while_a_module_was_called(run):
    assert with_name(of_modules(run.rows, "total_ns")) == with_name(run.truth.total)


def test_in_the_tree_each_module_stands_under_those_that_called_it(run):
    tree = run.table("layer_tree", "--layers", "--min-percent", "0")
    found = {path: ns for path, ns in late(paths_of(tree)).items() if path[0][0] not in REST}
    assert found == late(run.truth.paths)
    assert sum(row["self_ns"] for row in tree) == sum(run.truth.own.values())


def timeline(run):
    if not (run.folder / "layers.json").exists():
        tracing.gputrace(run.folder, "export", run.log, "-o", "layers.json", "-o", "layers.pftrace").must_be(0)
    return chrome.load(run.folder / "layers.json")["traceEvents"]


def test_a_kernel_on_a_timeline_names_its_module(run):
    by_layer, launched = collections.Counter(), 0
    work = [event for event in timeline(run) if event.get("cat") in WORK]
    for event in work:
        name = event["args"].get("layer"), event["args"].get("layer class")
        by_layer[name] += round(event["dur"] * 1000)
        launched += name[0] is not None
    assert launched > 500
    assert with_name({name: ns for name, ns in by_layer.items() if name[0]}) == with_name(run.truth.own)
    assert sum(by_layer.values()) == sum(run.truth.own.values())
    native = timelines.pftrace(run.folder / "layers.pftrace")["slices"]
    assert collections.Counter(s["args"].get("layer") for s in native if s["cat"][0] in WORK) == collections.Counter(
        event["args"].get("layer") for event in work)


def test_slices_of_modules_enclose_the_calls_in_them(run):
    events = timeline(run)
    layers, checked = collections.defaultdict(list), 0
    for event in events:
        if event.get("cat") == "layer":
            layers[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    of = {event["args"]["correlation"]: event["args"]["layer"] for event in events
          if event.get("cat") in WORK and event["args"].get("layer")}
    for event in events:
        if event.get("cat") == "cuda_runtime" and event["args"]["correlation"] in of:
            around = [name for start, end, name in layers[event["pid"], event["tid"]] if start <= event["ts"] <= end]
            assert around and around[-1] == of[event["args"]["correlation"]]
            checked += 1
    assert checked > 300


def fields(data):
    """[(number, value)] of a message of Protocol Buffers."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 0x80:
                return value
    while at < len(data):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            at, value = at + value, data[at:at + value]
        found.append((tag >> 3, value))
    return found


def test_samples_of_pprof_have_the_layer_as_a_label(run):
    tracing.gputrace(run.folder, "export", run.log, "--graphs", "capture", "-o", "layers.pb.gz").must_be(0)
    profile = fields(gzip.decompress((run.folder / "layers.pb.gz").read_bytes()))
    strings = [value.decode() for number, value in profile if number == 6]
    types = [strings[dict(fields(value))[1]] for number, value in profile if number == 1]
    by_layer = collections.Counter()
    for sample in (fields(value) for number, value in profile if number == 2):
        (values,) = (value for number, value in sample if number == 2)
        labels = {strings[dict(fields(value))[1]]: strings[dict(fields(value))[2]] for number, value in sample if number == 3}
        amounts = dict(zip(types, (value for _, value in fields(b"".join(b"\x08" + part for part in varints(values))))))
        by_layer[labels.get("layer")] += amounts["gpu_time"]
    expected = collections.Counter()
    for (name, _), ns in with_name(run.truth.own).items():
        expected[name] += ns
    assert {name: ns for name, ns in by_layer.items() if ns and name not in (None, "WarmUp")} == expected
    assert sum(by_layer.values()) == sum(run.truth.own.values())


def varints(data):
    start = 0
    for at, byte in enumerate(data):
        if byte < 0x80:
            yield data[start:at + 1]
            start = at + 1


def test_folded_stacks_of_layers_are_those_of_the_tree(run):
    done = tracing.gputrace(run.folder, "export", run.log, "--format", "folded", "--folded-by", "layer", "-o", "-").must_be(0)
    found = {tuple(line.rpartition(" ")[0].split(";")[1:]): int(line.rpartition(" ")[2]) for line in done.stdout.splitlines()}
    expected = collections.Counter()
    for path, ns in late(run.truth.paths).items():
        expected[tuple(f"{name} {kind}" if name == "[no name]" else name for name, kind in path)] += ns
    assert {path: ns for path, ns in found.items() if path[0] not in (*REST, "WarmUp")} == expected
    assert sum(found.values()) == sum(run.truth.own.values())


def test_backward_passes_and_the_optimizer_are_no_module_s_and_rows_add_up(run):
    assert all(run.rows[name, None]["self_ns"] for name in REST[:2])
    rest = sum(row["self_ns"] for (name, _), row in run.rows.items() if name in REST or is_early((name, None)))
    assert rest == sum(ns for name, ns in run.truth.own.items() if is_early(name))


def test_shared_modules_have_one_row(run):
    assert run.rows["Tied.again", "Sequential"]["other_names"] == "blocks.1"


class Passes:
    """{pass: {(layer, class): ns}} of the program's truth; pass: "<backward>", "<recomputed>", None."""

    def __init__(self, folder):
        chains = json.loads((folder / "chains.json").read_text())
        self.by_pass = collections.defaultdict(collections.Counter)
        for op in simulated.work(simulated.load(folder / "gpu.json")):
            chain = [tuple(link) for link in chains[int(op["label"])]] if op["label"] else []
            kind = chain.pop(0)[0] if chain and chain[0][0].startswith("<") else None
            self.by_pass[kind][chain[-1] if chain else None] += op["end"] - op["start"]

    def of(self, *kinds):
        found = sum((self.by_pass[kind] for kind in kinds), collections.Counter())
        return {name: ns for name, ns in found.items() if name and not is_early(name)}


@pytest.fixture(scope="module", params=WAYS)
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"torch-backward-layers-{request.param}")
    run = test_modules.Run(folder, machine.tool("get-torch"), request.param, options=("--ops", "--forward-lines"),
                           program=machine.PROGRAMS / "torch_backward_layers.py")
    with run.tracer:
        run.go("go", "WarmUp")
        run.go("end", "Last")
        run.end()
    return run, Passes(folder)


def test_backward_work_is_under_the_layer_of_its_forward_op(trained):
    run, passes = trained
    found = {name: row["backward_self_ns"] for name, row in run.rows.items() if row["backward_self_ns"]}
    expected = passes.of("<backward>")
    assert len(expected) > 10 and {("Net.blocks.1.0", "Linear"), ("Net.blocks.2.up", "Linear")} <= expected.keys()
    assert with_name(found) == expected


def test_what_checkpointing_computes_again_is_told_apart(trained):
    run, passes = trained
    found = {name: row["recomputed_self_ns"] for name, row in run.rows.items() if row["recomputed_self_ns"]}
    assert found == passes.of("<recomputed>")
    assert {name.split(".")[2] for name, _ in found} == {"1", "2"}


def test_forward_backward_and_the_rest_add_up(trained):
    run, passes = trained
    assert with_name(of_modules(run.rows, "self_ns")) == passes.of(None, "<backward>", "<recomputed>")
    whole = sum(sum(names.values()) for names in passes.by_pass.values())
    assert sum(row["self_ns"] for row in run.rows.values()) == whole
    for table, options in (("layer_tree", ("--layers", "--min-percent", "0")), ("layer_classes", ("--layers",))):
        rows = run.table(table, *options)
        assert sum(row["self_ns"] for row in rows) == whole
        for key in ("backward_self_ns", "recomputed_self_ns"):
            assert sum(row[key] for row in rows) == sum(row[key] for row in run.rows.values())


def test_where_its_memory_may_not_be_read_a_note_says_that_layers_are_missing(tmp_path):
    for name in ("go", "end"):
        (tmp_path / name).touch()
    program = tracing.on_simgpu(tmp_path / "gpu.json", machine.tool("get-torch"), PROGRAM, tmp_path)
    done = tracing.command(tmp_path, machine.GPUTRACE, "--way", "agent", "--no-keep", "--", *program, preexec_fn=no_ptrace)
    said = " ".join(done.must_be(0).stdout.split())
    assert re.search(r"Note: pid \d+: no layers of its PyTorch model: a .* or its user namespace forbids it", said)


# ---- models that something wraps ------------------------------------------------------------------------------------

WRAPPED = machine.PROGRAMS / "torch_wrapped.py"


def wrapped(folder, way, what, options=()):
    cache = {"TORCHINDUCTOR_CACHE_DIR": folder / "cache", "TRITON_CACHE_DIR": folder / "triton",
             "TRITON_LIBCUDA_PATH": machine.BUILD / "simgpu", "TORCHINDUCTOR_COMPILE_THREADS": 1}
    run = test_modules.Run(folder, machine.tool("get-torch"), way, what, program=WRAPPED, options=options,
                           env={"SIMGPU_NCCL": 1, "SIMGPU_NCCL_ALONE": 1, **cache})
    with run.tracer:
        run.go("go", "WarmUp")
        run.go("end", "Last")
        return run.end()


further = pytest.mark.further
SOME_WAYS = [WAYS[0], pytest.param(WAYS[1], marks=further)]


@pytest.mark.parametrize("way", SOME_WAYS)
@pytest.mark.parametrize("what, root", [pytest.param("ddp", "DistributedDataParallel", marks=further),
                                        pytest.param("fsdp", "FullyShardedDataParallel", marks=further), ("fully_shard", "FSDPNet")])
def test_modules_of_a_model_that_is_trained_by_several_ranks(tmp_path, way, what, root):
    run = wrapped(tmp_path, way, what)
    expected = with_name(run.truth.own)
    assert {name.split(".")[0] for name, _ in expected} == {root, "Last"} and len(expected) > 10
    assert with_name(of_modules(run.rows, "self_ns")) == expected


@further
@pytest.mark.parametrize("way", WAYS)
def test_compiled_code_is_of_the_module_that_was_compiled(tmp_path, way):
    """What Inductor fuses is of no module inside it."""
    run = wrapped(tmp_path, way, "compiled")
    for name in (("OptimizedModule", "OptimizedModule"), ("Compiled", "Compiled")):
        assert run.rows[name]["total_ns"] == run.truth.total[name] > 0
    inside = {name: row["self_ns"] for name, row in run.rows.items() if name[0].startswith(("OptimizedModule", "Compiled"))}
    assert {name for name, ns in inside.items() if ns} == {("OptimizedModule._orig_mod", "Net"), ("Compiled", "Compiled")}
    assert sum(inside.values()) == sum(ns for name, ns in run.truth.own.items() if name and name[0] in ("OptimizedModule", "Compiled"))


@pytest.mark.parametrize("way", SOME_WAYS)
def test_work_of_a_graph_is_of_the_modules_in_which_it_was_captured(tmp_path, way):
    run = wrapped(tmp_path, way, "graphs")

    def of(root):
        return {(name.replace(root, "Net", 1), kind.replace(root, "Net")): row["self_ns"] for (name, kind), row in run.rows.items()
                if name.split(".")[0] == root and row["self_ns"]}
    assert len(of("Captured")) > 8 and of("Captured") == of("Eager")
    tree = paths_of(run.table("layer_tree", "--layers", "--min-percent", "0"))
    assert any(path[:2] == (("Replays", "Replays"), ("Captured", "Captured")) for path in tree)


@pytest.mark.parametrize("way", SOME_WAYS)
def test_work_of_graph_trees_is_of_the_module_that_was_compiled(tmp_path, way):
    """torch.compile(mode="reduce-overhead"): what warms up, is captured and replayed, forward and backward."""
    run = wrapped(tmp_path, way, "trees", ("--ops", "--forward-lines"))
    passes, compiled = Passes(tmp_path), ("OptimizedModule", "OptimizedModule")
    forward, backward = passes.by_pass[None][compiled], passes.by_pass["<backward>"][compiled]
    assert forward and backward
    assert run.rows[compiled]["total_ns"] == forward + backward
    own = {name: row["backward_self_ns"] for name, row in run.rows.items() if row["self_ns"] and name[0].startswith(compiled[0])}
    assert own == {("OptimizedModule._orig_mod", "Net"): backward}
