# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Three ranks over the simulated NCCL with unfinished work: usage: torch_recorder.py FOLDER [other].  Ranks 0 and 1
call a collective on a GPU that is busy forever, and wait elsewhere; rank 2 never calls it, or calls another (other).
Prints a line of JSON when all wait: pids, lines.  FOLDER/say makes each rank write PyTorch's dump: FOLDER/said-RANK."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time

from hangs import ENDLESS, launch

RANKS = 3
COLLECTIVES = 5  # finished ones


def recorded():
    from torch._C import _distributed_c10d as c10d

    said = c10d._dump_nccl_trace_json(True, False)
    if "entries" not in json.loads(said):  # since 2.15 each backend has a recorder of its own
        said = c10d._dump_fr_trace_json(True, False, "nccl2")
    return said if isinstance(said, str) else said.decode()


def say(folder, rank):
    while not (folder / "say").exists():
        time.sleep(0.01)
    (folder / f"said-{rank}.part").write_text(recorded())
    (folder / f"said-{rank}.part").rename(folder / f"said-{rank}")


def step(dist, x, rank, other):
    if rank == RANKS - 1 and not other:
        return []
    launch(ENDLESS)
    if rank == RANKS - 1:
        return dist.broadcast(x, 0, async_op=True)  # at other
    works = [dist.all_reduce(x, async_op=True)]  # at step
    works.append(dist.all_reduce(x, async_op=True))
    if rank == 0:
        works.append(dist.isend(x[:2], 1))  # at send
    return works


def work(rank, folder, other):
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=rank, world_size=RANKS, store=dist.FileStore(f"{folder}/store", RANKS))
    pair = dist.new_group([0, 1], backend="gloo")
    x = torch.ones(4, 8, device="cuda")
    for _ in range(COLLECTIVES - 1):
        dist.all_reduce(x)
    dist.broadcast(x, 0)
    if rank < 2:
        dist.all_reduce(torch.ones(2), group=pair)
    torch.cuda.synchronize()
    threading.Thread(target=say, args=(folder, rank), daemon=True).start()
    while not all(entry["retired"] for entry in json.loads(recorded()).get("entries", ())):
        time.sleep(0.05)  # a thread of PyTorch sees that they ended
    waiting = step(dist, x, rank, other)
    (folder / f"{rank}.part").write_text(str(os.getpid()))
    (folder / f"{rank}.part").rename(folder / f"{rank}.pid")
    if rank == 0:
        x.sum().item()
    time.sleep(100000)
    del waiting


def start(folder, *how):
    for rank in range(RANKS):
        job = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
        subprocess.Popen([sys.executable, __file__, folder, str(rank), *how], env={**os.environ, **job})


if __name__ == "__main__":
    here = pathlib.Path(sys.argv[1])
    if sys.argv[2:] and sys.argv[2].isdigit():
        work(int(sys.argv[2]), here, "other" in sys.argv)
        sys.exit()
    start(here, *sys.argv[2:])
    files = [here / f"{rank}.pid" for rank in range(RANKS)]
    while not all(path.exists() for path in files):
        time.sleep(0.01)
    text = pathlib.Path(__file__).read_text().splitlines()
    lines = {line.split("  # at ")[1]: number for number, line in enumerate(text, 1) if "  # at " in line and "line" not in line}
    print(json.dumps({"pids": [int(path.read_text()) for path in files], "lines": lines}), flush=True)
    time.sleep(100000)
