# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Beside the torch.profiler of PyTorch 2.11 to 2.14, which subscribes to CUPTI when it is first used and never leaves."""

import json

import machine
import pytest
import reading
import tracing
from reading import chrome, simulated

pytestmark = pytest.mark.torch

STEPS = 40  # with few, Kineto, whose clock fit has just begun, may drop what seems outside its window


def seen_by(path):
    """[(category, correlation id)] of the GPU work that torch.profiler saw, sorted."""
    events = json.loads(path.read_text())["traceEvents"]
    return sorted((e["cat"], e["args"]["correlation"]) for e in events
                  if e.get("ph") == "X" and e.get("cat") in chrome.GPU)


def recorded(path):
    """The same of what the simulated GPU did while CUPTI recorded."""
    done = [op for op in simulated.work(simulated.load(path)) if op["fate"] == "sent"]
    return sorted((category, corr) for category, corr, _ in reading.simulated_operations(done))


def test_it_works_on_the_simulated_gpu(tmp_path):
    command = [machine.older_torch(), machine.WORKLOADS / "torch_train.py", "--profile", tmp_path / "kineto.json",
               "--steps", STEPS]
    tracing.command(tmp_path, *tracing.on_simgpu(tmp_path / "gpu.json", *command)).must_be(0)
    assert len(seen_by(tmp_path / "kineto.json")) > 10 * STEPS
    assert seen_by(tmp_path / "kineto.json") == recorded(tmp_path / "gpu.json")
