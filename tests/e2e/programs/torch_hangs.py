# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Three ranks over gloo that hang: usage: torch_hangs.py FOLDER [spawn | other].  Rank 2 never calls the collective in
which the others wait: it waits for a child with its environment, or receives a message that no rank sends (other).
Prints a line of JSON when all are about to hang: pids, lines."""

import json
import os
import pathlib
import subprocess
import sys
import time

RANKS = 3


def load():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100000)"])
    child.wait()  # at load


def step(rank, x):
    import torch.distributed as dist

    if rank == RANKS - 1 and os.environ.get("OTHER"):
        dist.recv(x, src=0)  # at recv
    if rank == RANKS - 1:
        load()
    dist.all_reduce(x)  # at step


def work(rank, folder):
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", rank=rank, world_size=RANKS, store=dist.FileStore(f"{folder}/store", RANKS))
    x = torch.ones(4)
    dist.all_reduce(x)
    (folder / f"{rank}.part").write_text(str(os.getpid()))
    (folder / f"{rank}.part").rename(folder / f"{rank}.pid")
    step(rank, x)


def start(folder, how):
    """Starts ranks like torchrun, or by PyTorch's spawn, which puts no rank into the environment."""
    if how == "spawn":
        import torch.multiprocessing

        torch.multiprocessing.spawn(work, (folder,), nprocs=RANKS, join=False)
        return
    for rank in range(RANKS):
        job = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
        job["OTHER"] = "1" if how == "other" else ""
        subprocess.Popen([sys.executable, __file__, folder, str(rank)], env={**os.environ, **job})


if __name__ == "__main__":
    here = pathlib.Path(sys.argv[1])
    if sys.argv[2:] and sys.argv[2].isdigit():
        work(int(sys.argv[2]), here)
        sys.exit()
    start(here, sys.argv[2] if sys.argv[2:] else "")
    files = [here / f"{rank}.pid" for rank in range(RANKS)]
    while not all(path.exists() for path in files):
        time.sleep(0.01)
    text = pathlib.Path(__file__).read_text().splitlines()
    lines = {line.split("  # at ")[1]: number for number, line in enumerate(text, 1) if ")  # at " in line}
    print(json.dumps({"pids": [int(path.read_text()) for path in files], "lines": lines}), flush=True)
    time.sleep(100000)
