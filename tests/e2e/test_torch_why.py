# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`gputrace why` of PyTorch training loops that lose time on purpose, compared with their own measurements."""

import json
import re

import machine
import pytest
import tracing
from test_why import CALLS_ONLY, losses, why

pytestmark = [pytest.mark.torch, pytest.mark.alone]  # alone for the same reason as test_blame.py

CASES = {
    "data": ("the GPU waits for data", "_SingleProcessDataLoaderIter.__next__", "num_workers"),
    "item": ("a call waits for the GPU, which then runs out of work", "aten::item", ".item()"),
    "compile": ("the GPU waits while code is compiled or loaded", "by torch.compile (Torch-Compiled Region: ", "recompiles"),
    "small": ("small kernels run shorter than it takes to launch them", "kernels ran for 2.0 us", "CUDA graph"),
}


@pytest.mark.parametrize("cause", CASES)
def test_a_training_loop_is_shown_what_it_loses_per_step(tmp_path, cause):
    title, seen, advice = CASES[cause]
    truth = tmp_path / "truth.json"
    program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_loses_time.py", cause, truth]
    text, _ = why(tmp_path, machine.SIMGPU_RUN, *program, options=CALLS_ONLY, env={"SIMGPU_KERNEL_NS": 2000})
    said = json.loads(truth.read_text())
    named = [named for named, _, _ in losses(text)]
    assert title in named if cause == "small" else named[0] == title, text  # a launch-bound loop also waits for Python
    _, lost, below = losses(text)[named.index(title)]
    assert f"{said['steps']} steps of training" in text, text
    assert any(f"torch_loses_time.py:{line} " in below.split("seen")[0] for line in said["lines"]), text
    assert seen in below and advice in below, text
    assert said["least_ms"] <= lost * 1.05 and lost <= said["most_ms"] * 1.05, (text, said)


def test_by_default_the_line_of_the_data_set_is_named(tmp_path):
    truth = tmp_path / "truth.json"
    program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_loses_time.py", "data", truth]
    text, _ = why(tmp_path, machine.SIMGPU_RUN, *program, env={"SIMGPU_KERNEL_NS": 2000})
    said = json.loads(truth.read_text())
    (found,) = [(lost, below) for named, lost, below in losses(text) if named == CASES["data"][0]]
    lost, below = found
    sleeps = next(number for number, line in enumerate((machine.PROGRAMS / "torch_loses_time.py").read_text().splitlines(), 1)
                  if line.endswith("time.sleep(0.005)"))
    assert f"torch_loses_time.py:{sleeps} Slow.__getitem__" in below.split("where")[1].splitlines()[0], text
    assert said["least_ms"] <= lost * 1.05 and lost <= said["most_ms"] * 1.05, (text, said)


def test_a_data_loader_is_known_by_the_frames_of_calls_where_ops_were_not_recorded(tmp_path):
    truth = tmp_path / "truth.json"
    program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_loses_time.py", "frames", truth]
    tracing.trace(tmp_path, tracing.on_simgpu(tmp_path / "gpu.json", *program), *CALLS_ONLY, env={"SIMGPU_KERNEL_NS": 2000},
                  names=("trace.gpt",))
    text = tracing.gputrace(tmp_path, "why", "trace.gpt").must_be(0).stdout
    said = json.loads(truth.read_text())
    (found,) = [(lost, below) for named, lost, below in losses(text) if named == CASES["data"][0]]
    lost, below = found
    (line,) = said["lines"]
    assert f"before the DataLoader's call at torch_loses_time.py:{line} " in below, text
    assert "torch/utils/data/dataloader.py" in below and "num_workers" in below and "--ops" in below, text
    assert said["least_ms"] <= lost * 1.05, (text, said)


def test_the_rank_that_comes_last_to_collectives_is_named(tmp_path):
    program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_late_rank.py", tmp_path]
    text, _ = why(tmp_path, machine.SIMGPU_RUN, *program,
                  env={"SIMGPU_NCCL": 1, "SIMGPU_DEVICES": 2, "SIMGPU_KERNEL_NS": 150_000_000})
    said = json.loads((tmp_path / "late.json").read_text())
    title = "ranks wait in collectives for the one that comes last"
    (found,) = [(lost, below) for named, lost, below in losses(text) if named == title]
    lost, below = found
    assert re.search(rf"rank 1 at (\S+ all_reduce <- )?torch_late_rank\.py:{said['line']} ", below), text
    assert "Rank 1 came last to" in below and "allreduce" in below.replace("_", ""), text
    assert said["least_ms"] * 0.95 <= lost <= said["most_ms"] * 1.05, (text, said)


@pytest.mark.parametrize("options", [CALLS_ONLY, ()], ids=["calls", "default"])
def test_who_waits_for_a_peer_over_gloo_does_not_wait_for_python(tmp_path, options):
    program = [machine.tool("get-torch"), machine.PROGRAMS / "torch_gloo.py", tmp_path]
    text, log = why(tmp_path, machine.SIMGPU_RUN, *program, options=options, env={"SIMGPU_DEVICES": 2})
    said = json.loads((tmp_path / "truth.json").read_text())
    title = "the GPU waits for other processes in a collective on the CPU"
    (found,) = [(lost, below) for named, lost, below in losses(text) if named == title]
    lost, below = found
    first, second = said["pids"]
    where = below.split("where")[1].splitlines()[0]
    assert where.split(", ")[0].split()[0].startswith("torch_gloo.py:") and "gloo:all_reduce" in where, text
    assert where.split("(")[1].split(")")[0].endswith(f" {first}"), text
    assert 0.8 * said["least_ms"] <= lost <= 1.2 * said["waited_ms"], (text, said)
    if options == CALLS_ONLY:
        (python,) = [below for named, _, below in losses(text) if named == "the GPU waits for Python"]
        assert f" {second})" in python.split("where")[1].splitlines()[0], text
    merged = " ".join(tracing.gputrace(tmp_path, "merge", log).must_be(0).stdout.split())
    assert f"no rank is known of {log}: its collectives went over gloo or MPI" in merged
