# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""GPU time by module of models as people use them (programs/model_zoo.py), which train and infer while gputrace attaches:
all of it is under the module that the program's own hooks say, forward, backward and what is computed again."""

import collections
import json

import logfile
import machine
import pytest
import test_modules
import tracing
from test_modules import WAYS, of_modules
from test_torch_modules import Passes, with_name

pytestmark = [pytest.mark.torch, pytest.mark.further]

PROGRAM = machine.PROGRAMS / "torch_models.py"
ZOOS = ("own", "vision", "language", "diffusion")
ZOO_S = 1800  # 25 models take minutes on a quiet machine


def has_all_modules(log, kind):
    """Whether the log describes a module of that class, and there was time to read the others' names."""
    unnamed = {}
    for record in logfile.records(log, test_modules.MODULE):
        unnamed[record.values["module"]] = record.tail.split(b"\0")[3]
    return logfile.has_kernel(log) and test_modules.has_module(log, kind) and not any(b"not all read" in why for why in unnamed.values())


class Attached(test_modules.Run):
    """As Run, of a program that ran before."""

    def __init__(self, folder, way, *what, options=()):
        self.folder, self.way, self.log = folder, way, folder / "trace.gpt"
        program = tracing.on_simgpu(folder / "gpu.json", machine.tool("get-torch"), PROGRAM, folder, *what)
        self.program = tracing.Running(program, folder, {"PYTHONPATH": machine.tool("get-models"), "HF_HUB_OFFLINE": 1})
        self.program.wait_line("ready")
        self.tracer = tracing.Tracer(folder, "--way", way, *options, "-p", self.program.pid, names=())

    def go(self, file, kind):
        self.tracer.wait_logged(lambda log: self.program.process.poll() is not None or has_all_modules(log, kind),
                                patience_s=ZOO_S)
        assert self.program.process.poll() is None, "".join(self.program.rest())
        (self.folder / file).touch()


@pytest.fixture(scope="module", params=[(zoo, way) for zoo in ZOOS for way in WAYS], ids="-".join)
def run(request, tmp_path_factory):
    zoo, way = request.param
    run = Attached(tmp_path_factory.mktemp(f"models-{zoo}-{way}"), way, zoo, options=("--ops", "--forward-lines"))
    with run.program, run.tracer:
        run.go("go", "WarmUp")
        run.go("end", "Last")
        run.program.end().must_be(0)
        run.end()
    return run, Passes(run.folder), json.loads((run.folder / "models.json").read_text())


def by_model(names):
    """{class of the root: {(layer, class): ns}}; modules that are made anew may have gone before anyone asked what they are."""
    found = collections.defaultdict(collections.Counter)
    for (layer, kind), ns in names.items():
        found[layer.partition(".")[0]][layer, kind if layer != "[no name]" else None] += ns
    return found


def differences(found, expected):
    """{model: {layer: (found, expected)}}."""
    found, expected = by_model(found), by_model(expected)
    wrong = {model: {name: (found[model].get(name), expected[model].get(name))
                     for name in found[model].keys() | expected[model].keys()
                     if found[model].get(name) != expected[model].get(name)} for model in found.keys() | expected.keys()}
    return {model: names for model, names in wrong.items() if names}


def test_all_gpu_time_of_each_model_is_under_the_module_of_its_hooks(run):
    run, passes, models = run
    expected = passes.of(None, "<backward>", "<recomputed>")
    assert set(models.values()) <= set(by_model(expected))
    assert differences(with_name(of_modules(run.rows, "self_ns")), expected) == {}


def test_backward_work_of_each_model_is_under_the_layer_of_its_forward_op(run):
    run, passes, models = run
    expected = passes.of("<backward>")
    assert set(models.values()) <= set(by_model(expected))
    found = {name: row["backward_self_ns"] for name, row in run.rows.items() if row["backward_self_ns"]}
    assert differences(with_name(found), expected) == {}


def test_what_a_model_computes_again_is_told_apart(run):
    run, passes, _ = run
    found = {name: row["recomputed_self_ns"] for name, row in run.rows.items() if row["recomputed_self_ns"]}
    assert found == passes.of("<recomputed>")
