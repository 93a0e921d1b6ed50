# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Training whose steps are all alike: usage: torch_steady.py SECONDS LAUNCHES FILE.  Each step has LAUNCHES sigmoids more
than its model has.  Waits until a gputrace observes PyTorch (--ops).  FILE gets how many steps there were."""

import sys
import time

import torch

from torch_observed import wait_for_observer

torch.backends.cudnn.enabled = False
SECONDS, LAUNCHES, FILE = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def main():
    torch.manual_seed(1)
    model = torch.nn.Linear(32, 8).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(16, 32, device="cuda")
    wait_for_observer()
    end, steps = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        optimizer.zero_grad()
        x = inputs
        for _ in range(LAUNCHES):
            x = torch.sigmoid(x)
        model(x).sum().backward()
        optimizer.step()
        torch.cuda.synchronize()
        steps += 1
    with open(FILE, "w") as file:
        file.write(str(steps))


main()
