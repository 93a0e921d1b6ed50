# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`gputrace why` of PyTorch training loops that lose time on purpose, against what they measured themselves."""

import json

import machine
import pytest
from test_why import losses, why

pytestmark = pytest.mark.torch

CASES = {
    "data": ("the GPU waits for data", "_SingleProcessDataLoaderIter.__next__", "num_workers"),
    "item": ("a call waits for the GPU, which then runs out of work", "aten::item", ".item()"),
    "small": ("small kernels run shorter than it takes to launch them", "kernels ran for 2.0 us", "CUDA graph"),
}


@pytest.mark.parametrize("cause", CASES)
def test_a_training_loop_is_told_what_it_loses_per_step(tmp_path, cause):
    title, seen, advice = CASES[cause]
    truth = tmp_path / "truth.json"
    program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_loses_time.py", cause, truth]
    text, _ = why(tmp_path, machine.SIMGPU_RUN, *program, env={"SIMGPU_KERNEL_NS": 2000})
    said = json.loads(truth.read_text())
    named, lost, below = losses(text)[0]
    assert named == title, text
    assert f"{said['steps']} steps of training" in text
    assert any(f"torch_loses_time.py:{line} " in below.split("seen")[0] for line in said["lines"]), text
    assert seen in below and advice in below, text
    assert said["least_ms"] <= lost * 1.05 and lost <= said["most_ms"] * 1.05, (text, said)
