# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Trains a network of two blocks on the GPU for some steps, after a line of standard input: torch_layer_parts.py STEPS."""

import sys

import torch

BATCH, WIDTH = 32, 64


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(sys.argv[1])):
        loss = net(torch.randn(BATCH, WIDTH, device="cuda")).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
    print("done", flush=True)
