# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Forks while threads run ops of PyTorch on the CPU.  Answers each line: `forks N` makes N children that import
extension modules, and prints how many did not finish; `epochs N` reads a DataLoader with two workers N times, and
prints the number of items."""

import importlib
import os
import signal
import sys
import sysconfig
import threading

import torch
from torch.utils.data import DataLoader, Dataset

PATIENCE_S = 100  # far longer than an import takes, also beside other tests
FOLDER, ENDING = sysconfig.get_config_var("DESTSHARED"), sysconfig.get_config_var("EXT_SUFFIX")
EXTENSIONS = [name for name in ("_crypt", "_curses", "_dbm", "_lsprof", "_sqlite3", "_testbuffer", "audioop", "readline", "termios")
              if name not in sys.modules and os.path.exists(f"{FOLDER}/{name}{ENDING}")]


def work():
    x = torch.ones(2)
    while True:
        x = torch.relu(x)


def child():
    signal.alarm(PATIENCE_S)
    for name in EXTENSIONS:
        importlib.import_module(name)
    torch.relu(torch.ones(2))
    os._exit(0)


def forks(count):
    hung = 0
    for _ in range(count):
        pid = os.fork()
        if not pid:
            child()
        hung += os.waitpid(pid, 0)[1] != 0
    return hung


class Items(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((2,), float(index))


def epochs(count):
    return sum(len(batch) for _ in range(count)
               for batch in DataLoader(Items(), batch_size=2, num_workers=2, timeout=PATIENCE_S))


def main():
    torch.set_num_threads(1)
    assert EXTENSIONS
    threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        name, count = line.split()
        print(name, {"forks": forks, "epochs": epochs}[name](int(count)), flush=True)
    os._exit(0)  # a thread is within an op


if __name__ == "__main__":
    main()
