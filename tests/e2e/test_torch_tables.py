# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The table of ops (report --ops), compared with torch.profiler's rows for the same run, and with the rows that
PyTorch's own code makes from the events in gputrace's trace, where every number must be equal."""

import collections
import json
import re
import statistics

import machine
import pytest
import tracing

pytestmark = pytest.mark.torch

PYTHONS = {"newest": lambda: machine.tool("get-torch"), "older": machine.older_torch}
CALL = re.compile(r"cu(da)?[A-Z]")
COMPARED_CALLS = ("cudaLaunchKernel", "cuLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync")
NAME_MAX = 52
UNITS = {"us": 1, "ms": 1e3, "s": 1e6}


def cut(name):
    return name[:NAME_MAX] + "..." if len(name) >= NAME_MAX else name


def microseconds(cell):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", cell).groups()
    return float(number) * UNITS[unit]


class Table:
    """The table that `report --ops` prints."""

    def __init__(self, text):
        lines = text.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("---"))
        self.widths = [len(dashes) for dashes in lines[at].split()]
        self.titles = re.split(r" {2,}", lines[at + 1].strip())  # one title is wider than its column
        body = lines[at + 3:]
        end = next(i for i, line in enumerate(body) if line.startswith("---"))
        self.rows = [dict(zip(self.titles, self.cells(line))) for line in body[:end]]
        self.totals = dict(line.split(" time total: ") for line in body[end + 1:])

    def cells(self, line):
        found, at = [], 0
        for width in self.widths:
            found.append(line[at:at + width].strip())
            at += width + 2
        return found

    def names(self):
        return [row["Name"] for row in self.rows]


class Run:
    def __init__(self, folder, device, version):
        self.folder, self.device, self.python = folder, device, PYTHONS[version]()
        program = [self.python, machine.PROGRAMS / "torch_tables.py", device, folder / "profiled.json"]
        command = tracing.on_simgpu(folder / "gpu.json", *program) if device == "cuda" else program
        tracing.trace(folder, command, "--ops", "--shapes", names=("trace.gpt", "trace.json"))
        self.profiled = json.loads((folder / "profiled.json").read_text())

    def table(self, *options):
        done = tracing.gputrace(self.folder, "report", self.folder / "trace.gpt", "--ops", *options)
        return Table(done.must_be(0).stdout)

    def everything(self, *options):
        return self.table("--rows", 100000, *options)


def is_compared(name):
    return not CALL.match(name) or name in COMPARED_CALLS


def is_seen_by_both(row):
    """Only torch.profiler's table has rows for CUPTI's own cost."""
    return is_compared(row["name"]) and row["name"] not in ("Activity Buffer Request", "Buffer Flush")


@pytest.fixture(scope="module", params=[("cpu", "newest"), ("cuda", "newest"), ("cuda", "older")], ids="-".join)
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("tables"), *request.param)


def test_the_rows_are_those_of_torch_profiler_with_their_counts(run):
    profiled = collections.Counter((cut(row["name"]), row["count"]) for row in run.profiled["by name"]
                                 if is_seen_by_both(row))
    traced = collections.Counter((row["Name"], int(row["# of Calls"])) for row in run.everything().rows
                               if is_compared(row["Name"]))
    assert len(profiled) > 30
    assert traced == profiled


def test_gpu_times_are_those_of_torch_profiler(run):
    if run.device == "cpu":
        assert "Self CUDA" not in run.table().titles
        return
    profiled = sorted((cut(row["name"]), row["gpu_self"], row["gpu"]) for row in run.profiled["by name"]
                    if is_seen_by_both(row) and row["gpu"])
    traced = sorted((row["Name"], microseconds(row["Self CUDA"]), microseconds(row["CUDA total"]))
                  for row in run.everything().rows if microseconds(row["CUDA total"]))
    assert [name for name, *_ in traced] == [name for name, *_ in profiled]
    for (name, *our_times), (_, *their_times) in zip(traced, profiled):
        assert our_times == pytest.approx(their_times, rel=1e-3, abs=0.01), name


def test_cpu_times_are_those_of_torch_profiler_within_noise(run):
    """Each profiler slows the other down, and a thread may be interrupted between the two, for long where others run."""
    profiled = {cut(row["name"]): row["cpu_self"] for row in run.profiled["by name"] if row["cpu_self"]}
    traced = {row["Name"]: microseconds(row["Self CPU"]) for row in run.everything().rows}
    ratios = [traced[name] / time for name, time in profiled.items() if traced.get(name)]
    assert len(ratios) > 30
    assert 1 / 3 < statistics.median(ratios) < 3


def test_the_top_level_is_that_of_torch_profiler(run):
    profiled = sorted(cut(row["name"]) for row in run.profiled["by name"]
                    if not row["inside"] and is_seen_by_both(row))
    assert sorted(name for name in run.everything("--top-level").names() if is_compared(name)) == profiled


def test_the_numbers_are_what_pytorch_makes_of_the_same_events(run):
    done = tracing.command(run.folder, run.python, machine.PROGRAMS / "torch_key_averages.py",
                           run.folder / "trace.json").must_be(0)
    shown = collections.Counter()
    for row in json.loads(done.stdout):
        times = [row["cpu_self"], row["cpu"]] + ([row["gpu_self"], row["gpu"]] if run.device == "cuda" else [])
        shown[(cut(row["name"]), row["count"], *(f"{microseconds(time_text(ns)):.3f}" for ns in times))] += 1
    columns = ["Self CPU", "CPU total"] + (["Self CUDA", "CUDA total"] if run.device == "cuda" else [])
    traced, rows = collections.Counter(), run.everything().rows
    ops = {row["Name"] for row in rows if microseconds(row["CPU total"])}
    for row in rows:
        if row["Name"] in ops and not microseconds(row["CPU total"]):
            continue  # an annotation on the GPU's side, as Kineto makes
        traced[row["Name"], int(row["# of Calls"]), *(f"{microseconds(row[column]):.3f}" for column in columns)] += 1
    assert traced == shown


def time_text(ns):
    """A time as in the table."""
    us = ns / 1000
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


@pytest.mark.parametrize("key, column", [("count", "# of Calls"), ("cpu_time_total", "CPU total"),
                                         ("self_cpu_time_total", "Self CPU"), ("cpu_time", "CPU time avg")])
def test_rows_are_sorted_by_the_key(run, key, column):
    values = [float(row[column]) if key == "count" else microseconds(row[column])
              for row in run.everything("--sort", key).rows]
    assert values == sorted(values, reverse=True)


def test_rows_by_gpu_time_are_in_the_order_of_torch_profiler(run):
    if run.device == "cpu":
        return
    profiled = sorted((row for row in run.profiled["by name"] if row["gpu_self"] and is_compared(row["name"])),
                    key=lambda row: -row["gpu_self"])
    traced = [name for name in run.everything("--sort", "self_cuda_time_total").names() if is_compared(name)]
    assert traced[:len(profiled)] == [cut(row["name"]) for row in profiled]


def flops_of(run, rows):
    title = next(title for title in rows[0] if title.endswith("FLOPs"))
    scale = {"Total FLOPs": 1, "Total KFLOPs": 1e3, "Total MFLOPs": 1e6}[title]
    return {row["Name"]: float(row[title]) * scale for row in rows if row[title] != "--"}


def test_rows_by_shape_are_those_of_torch_profiler(run):
    profiled = collections.Counter((cut(row["name"]), row["count"], row["shapes"]) for row in run.profiled["by shape"]
                                 if is_seen_by_both(row))
    traced = collections.Counter((row["Name"], int(row["# of Calls"]), row["Input Shapes"])
                               for row in run.everything("--group-by-shape").rows if is_compared(row["Name"]))
    assert len(profiled) > 50
    assert traced == profiled


def test_flops_are_those_of_torch_profiler(run):
    profiled = {row["name"]: row["flops"] for row in run.profiled["by name"] if row["flops"]}
    assert {"aten::addmm", "aten::mm", "aten::bmm", "aten::add", "aten::mul"} <= profiled.keys()
    assert flops_of(run, run.everything().rows) == pytest.approx(profiled, rel=1e-3)


def test_a_row_for_each_python_line_says_the_line(run):
    if run.device == "cpu":  # no stack was recorded
        assert set(row["Source Location"] for row in run.table("--group-by-stack", 1).rows) == {"(not recorded)", ""}
        return
    source = (machine.PROGRAMS / "torch_tables.py").read_text().splitlines()
    line = next(i for i, text in enumerate(source, 1) if "# twice" in text)
    places = {(row["Name"], row["Source Location"].rsplit("/", 1)[-1])
              for row in run.everything("--group-by-stack", 1).rows}
    assert any(name == "aten::mul" and place.startswith(f"torch_tables.py({line}): ") for name, place in places)
