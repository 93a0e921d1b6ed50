# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Models as people use them (model_zoo.py), small and with random weights, each of which trains and infers on the GPU and
records in which module its work was launched (torch_truth.py); usage: torch_models.py FOLDER ZOO [MODEL...].

At first a module WarmUp launches until FOLDER/go is there and ops are recorded (--ops), after all others Last until FOLDER/end
is there.  FOLDER/chains.json has the chains, FOLDER/models.json the class of each model.
"""

import json
import os
import pathlib
import sys

import torch
from torch.utils import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import model_zoo  # noqa: E402
import torch_observed  # noqa: E402
import torch_truth  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
STEPS = 2
torch.backends.cudnn.enabled = False  # the simulated GPU has no cuDNN
torch.manual_seed(0)


def loss_of(output):
    return sum(tensor.float().mean() for tensor in torch_truth.tensors_in(output) if tensor.grad_fn is not None)


def train(truth, model, call):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(call(model))
        truth.watch(loss, [])  # in no module
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        truth.nodes.clear()


def infer(model, call):
    model.eval()
    with torch.no_grad():
        call(model)
    torch.cuda.synchronize()


def main():
    with torch.device("cuda"):
        models = {name: make() for name, make in model_zoo.ZOOS[sys.argv[2]].items() if name in (sys.argv[3:] or [name])}
    truth = torch_truth.NodeTruth()  # of what is done from now on
    warm_up, last = torch_truth.WarmUp(), torch_truth.Last()
    truth.name_tree(warm_up)
    truth.name_tree(last)
    for model, _ in models.values():
        truth.name_tree(model)
    print("ready", flush=True)
    torch_truth.until(FOLDER / "go", warm_up)
    torch_observed.wait_for_observer()
    for model, call in models.values():
        with checkpoint.set_checkpoint_early_stop(False):  # else modules end by an exception
            train(truth, model.train(), call)
        infer(model, call)
    (FOLDER / "models.json").write_text(json.dumps({name: type(model).__name__ for name, (model, _) in models.items()}))
    torch_truth.until(FOLDER / "end", last)
    truth.write(FOLDER / "chains.json")
    print("pid %d done" % os.getpid(), flush=True)


main()
