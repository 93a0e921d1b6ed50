# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""GPU time by module of PyTorch, on every CPython, by BPF and by the agent: a small PyTorch of the same shape
(programs/torch_shaped) whose hooks record which modules were called when each work was submitted."""

import collections
import json
import re

import logfile
import machine
import pytest
import tracing
from reading import simulated
from test_hostile_names import steers

PROGRAM = machine.PROGRAMS / "modules.py"
WAYS = ("bpf", "agent")
MODULE = 28
LONG, LONG_SHOWN = "n" * 10000, "n" * 256 + "..."
ODD, ODD_SHOWN = "a;b\x1b[31m\n\u202e", "a;b\ufffd[31m \ufffd"
MISSING = "[frames left out]"


def modules(log):
    """[(name, class, class of the root, generation)] of modules that the log describes."""
    found = []
    for record in logfile.records(log, MODULE):
        name, kind, root = record.tail.split(b"\0")[:3]
        found.append((name.decode(), kind.decode(), root.decode(), record.values["generation"]))
    return found


def has_module(log, kind, name=None):
    return any(found[1] == kind and name in (None, found[0]) for found in modules(log))


def key(name, kind):
    """How the table names a module of the truth."""
    name = name.replace(LONG, LONG_SHOWN).replace(ODD, ODD_SHOWN)
    return name, None if name == MISSING else kind


class Truth:
    """{(layer, class): ns} and launches by the program's own hooks and the simulated GPU."""

    def __init__(self, folder):
        chains = json.loads((folder / "chains.json").read_text())
        self.own, self.total, self.launches, self.paths = (collections.Counter() for _ in range(4))
        for op in simulated.work(simulated.load(folder / "gpu.json")):
            chain = [key(*link) for link in chains[int(op["label"])]] if op["label"] else []
            ns = op["end"] - op["start"]
            self.own[chain[-1] if chain else None] += ns
            self.launches[chain[-1] if chain else None] += 1
            self.paths[tuple(link for link, before in zip(chain, [None, *chain]) if link != before)] += ns
            for link in set(chain):
                self.total[link] += ns


class Run:
    """One trace of the program, the truth and the rows of the table."""

    def __init__(self, folder, python, way, *what, program=PROGRAM, options=(), env=None):
        self.folder, self.way, self.log = folder, way, folder / "trace.gpt"
        program = tracing.on_simgpu(folder / "gpu.json", python, program, folder, *what)
        self.tracer = tracing.Tracer(folder, "--way", way, *options, "--", *program, names=(), env=env)

    def go(self, file, *known):
        """Once the log describes that module, lets the program go on."""
        self.tracer.wait_logged(has_module, *known)
        (self.folder / file).touch()

    def end(self):
        self.done = self.tracer.end()
        self.done.must_be(0)
        self.truth = Truth(self.folder)
        self.rows = {(row["layer"], row["class"]): row for row in self.table("layers")}
        return self

    def table(self, name, *options):
        text = tracing.gputrace(self.folder, "report", self.log, *options, "--format", "json").must_be(0).stdout
        return [row for table in json.loads(text)["tables"] if table["id"] == name for row in table["rows"]]


def paths_of(tree, column="self_ns"):
    """{path of (layer, class), outermost first: ns} of the tree."""
    found, path = collections.Counter(), []
    for row in tree:
        path = [*path[:row["depth"]], (row["layer"], row["class"])]
        found[tuple(path)] += row[column]
    return found


def late(paths):
    return {path: ns for path, ns in paths.items() if ns and path and not is_early(path[0])}


def of_modules(rows, column):
    """Without what may have been launched before the tracer knew what a module is."""
    return {name: row[column] for name, row in rows.items() if row[column] and not is_early(name)}


def is_early(name):
    return name is None or name[0] in ("WarmUp", "[no module]")


@pytest.fixture(scope="session", params=WAYS)
def shapes(request, every_python, tmp_path_factory):
    run = Run(tmp_path_factory.mktemp(f"modules-{request.param}"), every_python, request.param)
    with run.tracer:
        run.go("go", "WarmUp")
        run.go("end", "Last")
        return run.end()


def test_each_launch_is_of_the_innermost_module_that_was_called(shapes):
    expected = {name: ns for name, ns in shapes.truth.own.items() if not is_early(name)}
    assert len(expected) > 50
    assert of_modules(shapes.rows, "self_ns") == expected
    launches = {name: count for name, count in shapes.truth.launches.items() if not is_early(name)}
    assert {name: shapes.rows[name]["launches"] for name in launches} == launches


def test_the_total_of_a_module_has_what_was_launched_while_it_was_called(shapes):
    assert of_modules(shapes.rows, "total_ns") == {name: ns for name, ns in shapes.truth.total.items() if not is_early(name)}


def test_in_the_tree_each_module_stands_under_those_that_called_it(shapes):
    tree = shapes.table("layer_tree", "--layers", "--min-percent", "0")
    assert len(late(shapes.truth.paths)) > 50
    assert late(paths_of(tree)) == late(shapes.truth.paths)
    assert sum(row["self_ns"] for row in tree) == sum(shapes.truth.own.values())
    levels = shapes.table("layer_tree", "--layers", "--min-percent", "0", "--depth", "2")
    expected = collections.Counter()
    for path, ns in shapes.truth.paths.items():
        expected[path[:2]] += ns
    assert late(paths_of(levels)) == late(expected)


def test_all_layers_of_a_class_are_a_row(shapes):
    rows = {row["class"]: row for row in shapes.table("layer_classes", "--layers")}
    own, total = collections.Counter(), collections.Counter()
    for path, ns in shapes.truth.paths.items():
        classes = [MISSING if name == MISSING else kind for name, kind in path]
        own[classes[-1] if classes else "[no module]"] += ns
        for kind in set(classes):
            total[kind] += ns
    known = own.keys() - {"WarmUp", "[no module]"}
    assert len(known) > 10
    assert {kind: rows[kind]["self_ns"] for kind in known} == {kind: own[kind] for kind in known}
    assert {kind: rows[kind]["total_ns"] for kind in known} == {kind: total[kind] for kind in known}
    assert sum(row["self_ns"] for row in rows.values()) == sum(own.values())


def test_idle_time_of_layers_is_that_of_the_account(shapes):
    idle = sum(row["idle_ns"] for row in shapes.table("idle") if row["cause_id"])
    for table, options in (("layers", ()), ("layer_tree", ("--layers",)), ("layer_classes", ("--layers",))):
        assert sum(row["idle_self_ns"] for row in shapes.table(table, *options)) == idle > 0


def test_a_module_that_keeps_the_gpu_waiting_has_that_time(shapes):
    truth = json.loads((shapes.folder / "idle.json").read_text())
    # had the program not waited for the GPU before, it would have been earlier by as much
    assert shapes.rows["Slow", "Slow"]["idle_self_ns"] >= truth["slept"] - truth["waited"] > 0


def test_why_names_the_module_beside_the_line(shapes):
    truth = json.loads((shapes.folder / "idle.json").read_text())
    done = tracing.gputrace(shapes.folder, "why", shapes.log, "--format", "json").must_be(0)
    lines = next(table["rows"] for table in json.loads(done.stdout)["tables"] if table["id"] == "why_lines")
    of_slow = [row for row in lines if row["layer"] == "Slow"]
    assert {row["file"] for row in of_slow} == {str(PROGRAM)}
    assert sum(row["layer_ns"] for row in of_slow) >= truth["slept"] - truth["waited"]
    assert all(row["layer_ns"] <= row["ns"] and row["layers"] >= 1 for row in of_slow)
    text = tracing.gputrace(shapes.folder, "why", shapes.log).must_be(0).stdout
    assert re.search(r"modules\.py:\d+[^:]*\bin\s+Slow\b", text)


def test_what_belongs_to_no_module_has_its_own_row_and_rows_add_up(shapes):
    early = sum(ns for name, ns in shapes.truth.own.items() if is_early(name))
    assert sum(row["self_ns"] for name, row in shapes.rows.items() if is_early(name)) == early
    assert shapes.rows["[no module]", None]["self_ns"] >= shapes.truth.own[None] > 0
    (receipt,) = shapes.table("receipt")
    assert sum(row["self_ns"] for row in shapes.rows.values()) == receipt["gpu_ns"] == sum(shapes.truth.own.values())


def test_a_shared_module_has_one_row_with_its_other_names(shapes):
    row = shapes.rows["Net#2.tied", "Linear"]
    assert row["other_names"] == "heads.left" and ("Net#2.heads.left", "Linear") not in shapes.rows
    assert shapes.rows["Net#2.layers.0.mlp.up", "Linear"]["other_names"] == ""


def test_a_module_that_is_in_no_other_s_modules_has_its_class_and_is_counted(shapes):
    row = shapes.rows["[no name]", "Hidden"]
    assert "`_modules`" in row["unnamed"] and row["name"] is None
    (receipt,) = shapes.table("receipt")
    assert receipt["modules_unnamed"] == 1 and receipt["modules"] > 50


def test_modules_created_again_in_each_step_are_one_row(shapes):
    row = shapes.rows["Loss", "Loss"]
    assert row["roots"] > 8 and row["root"] is None
    assert {shapes.rows[f"Net#{root}", "Net"]["root"] for root in (2, 3)} == {2, 3}


def test_names_reach_no_terminal_as_they_are(shapes):
    text = tracing.gputrace(shapes.folder, "report", shapes.log, "--table", "layers").must_be(0).stdout
    assert steers(text.encode()) == set()
    assert f"Net#2.{ODD_SHOWN}" in text and "\u540d\U0001f600" in text and f"Net#2.{LONG_SHOWN}" in text


def test_slices_add_up_to_the_whole(shapes):
    sums, middle = collections.Counter(), "1"
    for slice_of in (("--to", middle), ("--from", middle)):
        for row in shapes.table("layers", *slice_of):
            sums[row["layer"], row["class"]] += row["self_ns"]
    assert +sums == {name: row["self_ns"] for name, row in shapes.rows.items() if row["self_ns"]}


def by_class(truth):
    """Models of one class as one: their numbers need not be the same in two runs."""
    own, launches = collections.Counter(), collections.Counter()
    for link, ns in truth.own.items():
        name = re.sub(r"^Net#\d", "Net", link[0]) if link and link[0] != "[no name]" else link and " ".join(link)
        own[name] += ns
        launches[name] += truth.launches[link]
    return {name: (own[name], launches[name]) for name in own if name not in (None, "WarmUp", "Last")}


@pytest.mark.parametrize("way", WAYS)
def test_diff_says_what_changed_in_which_layer(tmp_path, way):
    runs = []
    for what in ("shapes", "changed"):
        (tmp_path / what).mkdir()
        runs.append(Run(tmp_path / what, machine.any_python(), way, what))
        with runs[-1].tracer:
            runs[-1].go("go", "WarmUp")
            runs[-1].go("end", "Last")
            runs[-1].end()
    done = tracing.gputrace(tmp_path, "diff", *(run.log for run in runs), "--format", "json").must_be(0)
    tables = {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    rows = {row["layer"]: row for row in tables["diff_layers"]}
    before, after = (by_class(run.truth) for run in runs)
    assert len(before) > 20 and before.keys() == after.keys()
    assert {name: (rows[name]["before_ns"], rows[name]["launches_before"]) for name in before} == before
    assert {name: (rows[name]["after_ns"], rows[name]["launches_after"]) for name in after} == after
    changed = {name for name in before if rows[name]["changed"] == "yes"}
    assert changed == {name for name in before if name.startswith("Net")}
    step = next(row for row in tables["diff_step"] if row["what"] == "GPU time")
    for side in ("before_ns", "after_ns"):
        assert sum(row[side] for row in rows.values()) == pytest.approx(step[side])


@pytest.mark.parametrize("way", WAYS)
def test_an_address_that_becomes_another_module_s_is_told_apart(tmp_path, kind_of_python, way):
    run = Run(tmp_path, kind_of_python, way, "reused")
    with run.tracer:
        run.go("go", "WarmUp")
        run.go("again", "Linear", "before")
        run.go("known", "Other", "after")
        run.go("end", "Last")
        run.end()
    before, after = ("Container.before", "Linear"), ("Container.after", "Other")
    assert run.rows[after]["self_ns"] > 0
    # until it was noticed that another module is there, its work had the name of the one before
    assert sum(run.rows[name]["self_ns"] for name in (before, after)) == run.truth.own[before] + run.truth.own[after]
    assert run.rows[before]["self_ns"] >= run.truth.own[before]


@pytest.mark.parametrize("way", WAYS)
def test_modules_are_known_where_call_is_replaced(tmp_path, kind_of_python, way):
    run = Run(tmp_path, kind_of_python, way, "replaced")
    with run.tracer:
        run.go("go", "WarmUp")
        run.go("again", "Linear", "down")
        run.go("end", "Last")
        run.end()
    assert of_modules(run.rows, "self_ns") == {name: ns for name, ns in run.truth.own.items() if not is_early(name)}


@pytest.mark.parametrize("way", WAYS)
def test_what_gets_no_modules_as_self_is_noted_and_left(tmp_path, way):
    run = Run(tmp_path, machine.any_python(), way, "wrong")
    note = "no layers of its PyTorch model: what torch.nn.Module's __call__ has as `self` is no module"
    with run.tracer:
        run.tracer.wait_logged(logfile.has_note, note)
        (tmp_path / "again").touch()
        done = run.tracer.end().must_be(0)
    assert note in " ".join(done.stdout.split())
