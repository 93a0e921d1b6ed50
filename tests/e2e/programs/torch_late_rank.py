# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two ranks on the simulated NCCL (SIMGPU_NCCL, SIMGPU_KERNEL_NS); rank 1 is late to each collective:
torch_late_rank.py FOLDER.  FOLDER/late.json: the total lateness by its own clock, {"line", "least_ms", "most_ms"}."""

import json
import pathlib
import subprocess
import sys
import time

RANKS, STEPS = 2, 5


def run_ranks():
    started = [subprocess.Popen([sys.executable, __file__, sys.argv[1], str(rank)]) for rank in range(RANKS)]
    sys.exit(max(process.wait() for process in started))


def meet(folder, name, rank):
    """A barrier: returns when all ranks have called it."""
    (folder / f"{name}-{rank}").touch()
    while not all((folder / f"{name}-{other}").exists() for other in range(RANKS)):
        time.sleep(0.0005)


def line_of(mark):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("# " + mark))


def run(folder, rank):
    import torch
    import torch.distributed as dist
    from torch_observed import wait_for_observer

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=RANKS, store=dist.FileStore(f"{folder}/store", RANKS))
    x = torch.ones(1000, device="cuda")
    begun = [[time.monotonic() * 1e3]]
    dist.all_reduce(x)  # not synchronized with the tracer, which may or may not see it
    begun[0].append(time.monotonic() * 1e3)
    torch.cuda.synchronize()
    wait_for_observer()
    for step in range(STEPS):
        meet(folder, f"step-{step}", rank)
        if rank:
            time.sleep(0.02)
        begun.append([time.monotonic() * 1e3])
        dist.all_reduce(x)  # all_reduce
        begun[-1].append(time.monotonic() * 1e3)
        torch.cuda.synchronize()
    (folder / f"begun-{rank}.json").write_text(json.dumps(begun))
    meet(folder, "end", rank)
    dist.destroy_process_group()
    if rank:
        return
    others = json.loads((folder / "begun-1.json").read_text())
    # each collective began between two of these times
    least = sum(late[0] - early[1] for early, late in zip(begun[1:], others[1:]))
    most = sum(late[1] - early[0] for early, late in zip(begun[1:], others[1:]))
    most += max(others[0][1] - begun[0][0], begun[0][1] - others[0][0])
    (folder / "late.json").write_text(json.dumps({"line": line_of("all_reduce"), "least_ms": least, "most_ms": most}))


if len(sys.argv) == 2:
    run_ranks()
else:
    run(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
