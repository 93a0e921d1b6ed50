# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Collectives of two ranks, each a process, on the simulated NCCL; usage: torch_nccl.py FOLDER.  Each waits until a
gputrace observes PyTorch (--ops), then works under torch.profiler, whose trace goes to FOLDER/profiled-RANK.json."""

import subprocess
import sys

from hangs import launch

RANKS = 2


def run_ranks():
    started = [subprocess.Popen([sys.executable, __file__, sys.argv[1], str(rank)]) for rank in range(RANKS)]
    sys.exit(max(process.wait() for process in started))


def work(torch, dist, rank):
    x = torch.ones(1000, device="cuda")
    twice = torch.empty(RANKS * 1000, device="cuda")
    other = 1 - rank
    dist.all_reduce(x)
    dist.all_reduce(x.half(), op=dist.ReduceOp.MAX, async_op=True).wait()
    dist.all_gather([torch.empty_like(x) for _ in range(RANKS)], x)
    dist.all_gather_into_tensor(twice, x)
    dist.reduce_scatter_tensor(x, twice)
    dist.broadcast(x, 0)
    dist.reduce(x, 1)
    dist.all_to_all_single(torch.empty_like(twice), twice)
    both = [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, torch.empty_like(x), other)]
    for waiting in dist.batch_isend_irecv(both):
        waiting.wait()
    if rank:
        dist.recv(x, other)
    else:
        dist.send(x, other)
    launch("busy_200000us")  # what follows waits for its end on the GPU, and then begins together
    meanwhile = dist.all_reduce(twice, async_op=True)
    for _ in range(4):
        x = torch.sigmoid(x)
    meanwhile.wait()
    dist.barrier()
    torch.cuda.synchronize()


def run(folder, rank):
    import torch
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile, record_function
    from torch_observed import wait_for_observer

    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=rank, world_size=RANKS, store=dist.FileStore(f"{folder}/store", RANKS))
    # no init_sync: DDP compares gathered values, and the simulated kernels gather nothing
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8).cuda(), device_ids=[0], init_sync=False)

    def step():
        model(torch.ones(4, 8, device="cuda")).sum().backward()
        work(torch, dist, rank)

    step()
    wait_for_observer()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        with record_function("section"):
            step()
            step()
    profiler.export_chrome_trace(f"{folder}/profiled-{rank}.json")
    dist.destroy_process_group()
    print("worked", rank, flush=True)


if len(sys.argv) == 2:
    run_ranks()
else:
    run(sys.argv[1], int(sys.argv[2]))
