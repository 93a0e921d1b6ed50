# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernels, steps, memory and FLOPs of the layers of a model (report --layers): FLOPs are those of the program's products of
matrices, and all layers together have the whole."""

import json

import logfile
import machine
import pytest
import tracing
from test_modules import WAYS

pytestmark = pytest.mark.torch

STEPS = 5
PRODUCT = 2 * 32 * 64 * 256  # FLOPs of a Linear's product: torch_layer_parts.py


@pytest.fixture(scope="module", params=WAYS)
def log(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"layer-parts-{request.param}")
    program = tracing.on_simgpu(folder / "gpu.json", machine.tool("get-torch"), machine.PROGRAMS / "torch_layer_parts.py", STEPS)
    with tracing.Running(program, folder) as running:
        running.wait_line("ready")
        with tracing.Tracer(folder, "--way", request.param, "--ops", "--forward-lines", "--shapes", "--memory", "-p", running.pid,
                            names=()) as tracer:
            tracer.wait_logged(logfile.says_ready)
            running.ask("work")
            tracer.interrupt().must_be(0)
    return folder / "trace.gpt"


def tables(log, *options):
    done = tracing.gputrace(log.parent, "report", log, "--format", "json", *options).must_be(0)
    return {table["id"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


@pytest.fixture(scope="module")
def layers(log):
    return tables(log, "--layers", "--min-percent", "0")


def test_flops_are_those_of_the_products_of_each_layer(layers):
    """Forward, and for the gradients of weight and input; the first layer's input needs none."""
    rows = {row["layer"]: row for row in layers["layer_tree"]}
    first = rows["Net.blocks.0.up"]
    assert first["flops"] == first["flops_self"] == 2 * PRODUCT * STEPS
    for name in "blocks.0.down", "blocks.1.up", "blocks.1.down":
        assert rows[f"Net.{name}"]["flops_self"] == 3 * PRODUCT * STEPS
    assert rows["Net"]["flops"] == 11 * PRODUCT * STEPS and not rows["Net"]["flops_self"]


def test_all_layers_together_have_the_whole(log, layers):
    whole = tables(log)
    gpu_ns = sum(row["self_ns"] for row in whole["gpu_lines"])
    at_peak = sum(row["at_peak_bytes"] for row in whole["torch_memory"] if row["memory"] != "CPU")
    ops = tables(log, "--ops", "--rows", "1000")["key_averages"]
    for table in "layer_tree", "layer_classes":
        assert sum(row["self_ns"] for row in layers[table]) == gpu_ns > 0
        assert sum(row["memory_self_bytes"] for row in layers[table]) == at_peak > 0
        assert sum(row["flops_self"] for row in layers[table]) == sum(row["flops"] or 0 for row in ops)
    assert sum(row["gpu_ns"] for row in layers["layer_kernels"]) == gpu_ns
    assert sum(row["self_ns"] for row in layers["layer_steps"]) == gpu_ns


def test_each_step_has_the_same_work_in_each_layer(layers):
    steps = {}
    for row in layers["layer_steps"]:
        steps.setdefault(row["layer"], []).append((row["step"], row["total_ns"]))
    assert [step for step, _ in steps["Net.blocks.1.up"]] == [*range(1, STEPS), None]  # step 0 began before it was seen
    assert len({ns for _, ns in steps["Net.blocks.1.up"]}) == 1


def test_memory_of_gradients_is_that_of_the_layers_they_are_of(layers):
    """A weight's gradient is handed out in the backward pass, and held at the peak."""
    rows = {row["layer"]: row for row in layers["layer_tree"]}
    for name in "blocks.0.up", "blocks.0.down", "blocks.1.up", "blocks.1.down":
        assert rows[f"Net.{name}"]["memory_self_bytes"] >= 4 * 64 * 256, name


def test_a_page_has_a_column_for_each_step(log):
    done = tracing.gputrace(log.parent, "report", log, "--layers", "--table", "layer_steps").must_be(0)
    title = next(line for line in done.stdout.splitlines() if "step 1" in line)
    assert title.split() == [word for step in range(1, STEPS) for word in ("step", str(step))] + ["no", "step", "layer"]
    assert "GPU time by class" not in done.stdout
