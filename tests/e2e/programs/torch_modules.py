# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Models of PyTorch on the GPU, whose hooks record which module was called when each work was submitted
(module_truth.py): they train, infer, run wrapped, shared and by several threads; usage: torch_modules.py FOLDER.

At first a module WarmUp launches until FOLDER/go is there, after all others Last until FOLDER/end is there.
"""

import os
import pathlib
import sys
import threading

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import module_truth  # noqa: E402
import torch_truth  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
torch.backends.cudnn.enabled = False
torch.manual_seed(0)


class Tied(nn.Module):
    """A list, a dict and a shared module."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(32, 16)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.LayerNorm(16)) for _ in range(3))
        self.heads = nn.ModuleDict({"policy": nn.Linear(16, 4), "value": nn.Linear(16, 1)})
        self.again = self.blocks[1]

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = x + block(x)
        x = self.again(x)
        return sum(head(x).sum() for head in self.heads.values())


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.residual = nn.Conv2d(8, 8, 1)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(8, 10))

    def forward(self, x):
        x = self.stem(x)
        return self.head(x + self.residual(x)).sum()


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = nn.LSTM(16, 16, num_layers=2)
        self.attention = nn.MultiheadAttention(16, 2)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32), 2)

    def forward(self, x):
        x, _ = self.recurrent(x)
        x, _ = self.attention(x, x, x)
        return self.encoder(x).sum()


def inputs():
    return {"Tied": torch.randint(0, 32, (4, 8), device="cuda"), "Images": torch.ones(2, 3, 16, 16, device="cuda"),
            "Sequence": torch.ones(5, 2, 16, device="cuda")}


def train(model, x, optimizer):
    optimizer.zero_grad()
    model(x).backward()
    optimizer.step()
    torch.cuda.synchronize()


def main():
    truth = module_truth.Truth(nn.modules.module)
    warm_up, last = torch_truth.WarmUp(), torch_truth.Last()
    models = [Tied().cuda(), Images().cuda(), Sequence().cuda()]
    wrapped = nn.DataParallel(Images().cuda())
    for model in (warm_up, last, *models, wrapped):
        truth.name_tree(model)
    optimizers = [torch.optim.AdamW(model.parameters()) for model in (*models, wrapped)]
    of = inputs()
    print("ready", flush=True)
    torch_truth.until(FOLDER / "go", warm_up)
    for _ in range(3):
        for model, optimizer in zip(models, optimizers):
            train(model, of[type(model).__name__], optimizer)
        train(wrapped, of["Images"], optimizers[-1])
        for _ in range(4):  # created again each time
            loss = nn.CrossEntropyLoss()
            truth.name(loss, "CrossEntropyLoss")
            loss(torch.ones(4, 8, device="cuda"), torch.zeros(4, dtype=torch.long, device="cuda"))
    with torch.no_grad():
        for model in models:
            model.eval()
            model(of[type(model).__name__])
        threads = [threading.Thread(target=models[1], args=(of["Images"],)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    torch.cuda.synchronize()
    torch_truth.until(FOLDER / "end", last)
    truth.write(FOLDER / "chains.json")
    print("pid %d done" % os.getpid(), flush=True)


main()
