# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Inputs of PyTorch's ops (--shapes): the same run recorded by torch.profiler and gputrace."""

import collections
import json

import machine
import pytest
import reading
import tracing

pytestmark = pytest.mark.torch

INPUTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
PYTHONS = {"newest": lambda: machine.tool("get-torch"), "older": machine.older_torch}


class Seen:
    """{tid: [(name, inputs)] by start} of the ops inside `section`."""

    def __init__(self, path):
        self.trace = json.loads(path.read_text())
        ops = [e for e in self.trace["traceEvents"] if e.get("cat") in ("cpu_op", "user_annotation") and e["ph"] == "X"]
        self.coarse = all(float(e["ts"]).is_integer() for e in ops)  # PyTorch 1.13
        section = next(e for e in ops if e["name"] == "section")
        end = float(section["ts"]) + float(section["dur"])
        self.threads = collections.defaultdict(list)
        for op in sorted(ops, key=lambda e: (float(e["ts"]), -float(e["dur"]))):
            if float(section["ts"]) < float(op["ts"]) < end:
                self.threads[op["tid"]].append((op["name"], {key: op["args"].get(key) for key in INPUTS}))

    def sizes(self):
        """{tid: {(name, sizes of its tensors, [] for a list of tensors): count}}"""
        def sizes_of(inputs):
            return json.dumps([[] if any(isinstance(size, list) for size in sizes) else sizes
                               for sizes in inputs["Input Dims"] or []])
        return {tid: collections.Counter((name, sizes_of(inputs)) for name, inputs in ops)
                for tid, ops in self.threads.items()}

    def has(self, key, value):
        return any(value in (inputs[key] or []) for ops in self.threads.values() for _, inputs in ops)


class Run:
    def __init__(self, folder, device, version):
        program = [PYTHONS[version](), machine.PROGRAMS / "torch_inputs.py", device, folder / "profiled.json"]
        command = tracing.on_simgpu(folder / "gpu.json", *program) if device == "cuda" else program
        self.device = device
        self.done = tracing.trace(folder, command, "--shapes")
        self.traced, self.profiled = Seen(folder / "trace.json"), Seen(folder / "profiled.json")


@pytest.fixture(scope="module", params=[("cpu", "newest"), ("cpu", "older"), ("cuda", "newest")], ids="-".join)
def run(request, tmp_path_factory):
    return Run(tmp_path_factory.mktemp("shapes"), *request.param)


def test_every_op_has_the_inputs_that_torch_profiler_gives_it(run):
    assert sum(len(ops) for ops in run.profiled.threads.values()) > 100
    if run.profiled.coarse:  # whole microseconds do not order ops; no strides, concrete inputs or tensor lists
        for tid, sizes in run.profiled.sizes().items():
            assert run.traced.sizes()[tid] == sizes
        return
    for tid, ops in run.profiled.threads.items():
        assert run.traced.threads[tid] == ops


def test_inputs_of_all_kinds_were_among_them(run):
    if run.device == "cuda" or run.profiled.coarse:
        assert run.profiled.has("Input Dims", [2, 3, 8, 8])
        return
    for key, value in (("Concrete Inputs", "0.10000000000000001"), ("Concrete Inputs", "nan"), ("Concrete Inputs", "1.-2.j"),
                       ("Concrete Inputs", "[1.5, 2.5]"), ("Input type", "TensorList"), ("Input type", "c10::Float8_e4m3fn"),
                       ("Input Strides", [1, 3, 6, 6, 12, 12, 24]), ("Input Dims", [[4], [4], [4]])):
        assert run.profiled.has(key, value), (key, value)


def test_nothing_was_lost(run):
    receipt = reading.receipt(run.traced.trace)
    assert (receipt["ops_lost"], receipt.get("op_inputs_lost", 0), receipt["bad_records"]) == (0, 0, 0)
