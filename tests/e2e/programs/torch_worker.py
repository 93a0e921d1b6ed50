# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Trains with PyTorch's DataLoader, whose one worker computes for each item: `torch_worker.py TRUTH`.  TRUTH is {"line",
"pid", "computed_ms"}: the line that computes in the worker, its process, and its least computing time while the
training process had no batch: the loader has requested two batches when the first one arrives."""

import json
import os
import pathlib
import sys
import time

import torch

STEPS = 12


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 2 * STEPS

    def __getitem__(self, index):
        begin = time.thread_time()
        while time.thread_time() - begin < 0.015: pass  # item
        return torch.full((64,), float(os.getpid()))


def main():
    model = torch.nn.Linear(64, 1).cuda()
    batches = torch.utils.data.DataLoader(Slow(), batch_size=2, num_workers=1)
    for batch in batches:
        model(batch.cuda()).sum().item()
    lines = pathlib.Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.endswith("# item"))
    pathlib.Path(sys.argv[1]).write_text(json.dumps({"line": line, "pid": int(batch[0, 0]), "computed_ms": (STEPS - 3) * 2 * 15}))


if __name__ == "__main__":
    main()
