# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ordinary training with PyTorch on one CPU thread, with two workers that make the batches.  Takes orders on standard
input: "train N" makes N steps; the answer is their CPU time in seconds, with that of the threads of this process."""
import sys
import time

import torch
from torch.utils.data import DataLoader, IterableDataset


class Batches(IterableDataset):
    def __iter__(self):
        while True:
            yield torch.randn(64, 64), torch.randint(0, 10, (64,))


def main():
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(),
                                torch.nn.Linear(256, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    batches = iter(DataLoader(Batches(), batch_size=None, num_workers=2))
    for line in sys.stdin:
        begin = time.process_time()
        for _ in range(int(line.split()[1])):
            x, y = next(batches)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        print(time.process_time() - begin, flush=True)


if __name__ == "__main__":
    main()
