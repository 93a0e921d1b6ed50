# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The memory columns in the table of ops (report --ops of a trace with --memory), compared with torch.profiler's of the
same run."""

import json
import re

import machine
import pytest
import tracing

pytestmark = pytest.mark.torch

COLUMNS = {"cpu": "CPU Mem", "cpu_self": "Self CPU Mem", "gpu": "CUDA Mem", "gpu_self": "Self CUDA Mem"}


def memory_text(count):
    """A size as torch.profiler prints it (torch/autograd/profiler_util.py)."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(count) >= 1024 ** power:
            return f"{count / 1024 ** power:.2f} {unit}"
    return f"{count} B"


class Run:
    def __init__(self, folder, device):
        self.folder, self.device = folder, device
        program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_key_memory.py", device, folder / "profiled.json"]
        command = tracing.on_simgpu(folder / "gpu.json", *program) if device == "cuda" else program
        tracing.trace(folder, command, "--memory", names=("trace.gpt",))
        self.profiled = json.loads((folder / "profiled.json").read_text())

    def rows(self, *options):
        done = tracing.gputrace(self.folder, "report", self.folder / "trace.gpt", "--ops", "--rows", 100000, *options)
        lines = done.must_be(0).stdout.splitlines()
        widths = [len(dashes) for dashes in lines[0].split()]
        titles = re.split(r" {2,}", lines[1].strip())
        return [dict(zip(titles, cells(line, widths))) for line in lines[3:lines.index(lines[0], 3)]]


def cells(line, widths):
    found, at = [], 0
    for width in widths:
        found.append(line[at:at + width].strip())
        at += width + 2
    return found


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("memory"), request.param)


def test_the_memory_of_ops_is_that_of_torch_profiler(run):
    columns = {key: title for key, title in COLUMNS.items() if key.startswith("cpu") or run.device == "cuda"}
    profiled = sorted((row["name"], *(memory_text(row[key]) for key in columns)) for row in run.profiled
                    if any(row[key] for key in columns))
    traced = sorted((row["Name"], *(row[title] for title in columns.values())) for row in run.rows()
                  if any(row[title] != "0 B" for title in columns.values()))
    assert {"aten::empty", "step", "[memory]"} <= {name for name, *_ in profiled}
    assert traced == profiled


def test_programs_get_it_in_bytes(run):
    done = tracing.gputrace(run.folder, "report", run.folder / "trace.gpt", "--ops", "--format", "json", "--rows", 100000).must_be(0)
    (table,) = [table for table in json.loads(done.stdout)["tables"] if table["id"] == "key_averages"]
    keys = {"cpu": "cpu_memory_bytes", "cpu_self": "self_cpu_memory_bytes"}
    if run.device == "cuda":
        keys.update(gpu="gpu_memory_bytes", gpu_self="self_gpu_memory_bytes")
    profiled = sorted([row["name"], *(row[key] for key in keys)] for row in run.profiled if any(row[key] for key in keys))
    rows = [row if isinstance(row, dict) else dict(zip([column["name"] for column in table["columns"]], row)) for row in table["rows"]]
    traced = sorted([row["name"], *(row[key] for key in keys.values())] for row in rows if any(row[key] for key in keys.values()))
    assert traced == profiled



@pytest.mark.parametrize("key, of", [("cpu_memory_usage", "cpu"), ("self_cpu_memory_usage", "cpu_self"),
                                     ("cuda_memory_usage", "gpu"), ("self_device_memory_usage", "gpu_self")])
def test_rows_are_in_the_order_of_their_memory(run, key, of):
    profiled = [memory_text(row[of]) for row in sorted(run.profiled, key=lambda row: -row[of]) if row[of] > 0]
    if of.startswith("gpu") and run.device == "cpu":
        assert not profiled and COLUMNS[of] not in run.rows("--sort", key)[0]
        return
    assert profiled
    assert [row[COLUMNS[of]] for row in run.rows("--sort", key)][:len(profiled)] == profiled
