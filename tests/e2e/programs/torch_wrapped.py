# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Models of PyTorch that something else wraps, each of which trains on the GPU and records by its hooks in which module its
work was launched (module_truth.py); usage: torch_wrapped.py FOLDER WHAT.  WHAT: `ddp`, `fsdp`, `fully_shard` (rank 0 of two, the
simulated NCCL, whose other rank nobody waits for), `compiled`, `graphs`, `trees` (compiled, and replayed by CUDA graph trees).

At first a module WarmUp launches until FOLDER/go is there, after all others Last until FOLDER/end is there.
"""

import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import module_truth  # noqa: E402
import torch_truth  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
STEPS, REPLAYS = 3, 5
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)

    def forward(self, x):
        return x + self.down(self.act(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks = nn.Linear(8, 16), nn.ModuleList(Block() for _ in range(2))
        self.heads = nn.ModuleDict({"policy": nn.Linear(16, 4), "value": nn.Linear(16, 1)})

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return torch.cat([head(x) for head in self.heads.values()], -1)


class Eager(Net):
    pass


class Captured(Net):
    pass


class Replays(nn.Module):
    """Launches what another module has captured."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph

    def forward(self, x):
        self.graph.replay()
        return x


def train(truth, model, x, name=None):
    truth.name_tree(model, name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()


def in_group():
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=0, world_size=2, store=dist.FileStore(str(FOLDER / "store"), 2))


def ddp(truth, x):
    in_group()
    # no init_sync: DDP compares gathered values, and the simulated kernels gather nothing
    train(truth, nn.parallel.DistributedDataParallel(Net().cuda(), device_ids=[0], init_sync=False), x)


def fsdp(truth, x):
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    in_group()
    train(truth, FullyShardedDataParallel(Net().cuda(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=0), x)


def fully_shard(truth, x):
    from torch.distributed import fsdp
    in_group()
    mesh = dist.device_mesh.DeviceMesh("cuda", [0, 1])
    model = Net().cuda()
    for block in model.blocks:
        fsdp.fully_shard(block, mesh=mesh)
    train(truth, fsdp.fully_shard(model, mesh=mesh), x)


class Compiled(Net):
    """By its own compile(), which leaves the class as it is."""


def called(truth, model, x):
    """Without hooks, which Dynamo would compile, too."""
    truth.enter(model, None)
    output = model(x)
    truth.leave(model, None, output)
    return output


def compiled(truth, x):
    wrapped, own = torch.compile(Net().cuda()), Compiled().cuda()
    own.compile()
    for model in (wrapped, own):
        truth.name(model, type(model).__name__)
        for _ in range(STEPS):
            called(truth, model, x).square().mean().backward()
        with torch.no_grad():
            for _ in range(STEPS):
                called(truth, model, x)
    torch.cuda.synchronize()


def trees(truth, x):
    """Warms up, captures and replays, forward and backward."""
    model = torch.compile(Net().cuda(), mode="reduce-overhead")
    truth.name(model, type(model).__name__)
    for training in (True, False):
        torch.set_grad_enabled(training)
        for _ in range(STEPS + REPLAYS):
            torch.compiler.cudagraph_mark_step_begin()
            output = called(truth, model, x)
            if training:
                loss = output.square().mean()
                truth.watch(loss, [])  # in no module
                model.zero_grad()
                loss.backward()
            torch.cuda.synchronize()
    truth.nodes.clear()
    torch.set_grad_enabled(True)


def graphs(truth, x):
    """What is eager does as much as often as the graph is replayed."""
    eager, captured = Eager().cuda(), Captured().cuda()
    graph = torch.cuda.CUDAGraph()
    replays = Replays(graph)
    for model in (eager, captured, replays):
        truth.name_tree(model)
    with torch.no_grad():
        captured(x)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            captured(x)
        for _ in range(REPLAYS):
            replays(x)
            graph.replay()
        for _ in range(2 * REPLAYS + 1):  # one more as before the capture
            eager(x)
    torch.cuda.synchronize()


def main():
    what = sys.argv[2]
    hooked = None if what in ("compiled", "trees") else nn.modules.module
    truth = torch_truth.NodeTruth(hooked) if what == "trees" else module_truth.Truth(hooked)
    warm_up, last = torch_truth.WarmUp(), torch_truth.Last()
    truth.name_tree(warm_up)
    truth.name_tree(last)
    print("ready", flush=True)
    torch_truth.until(FOLDER / "go", warm_up)
    run = {"ddp": ddp, "fsdp": fsdp, "fully_shard": fully_shard, "compiled": compiled, "graphs": graphs, "trees": trees}[what]
    run(truth, torch.zeros(4, 8, device="cuda"))
    torch_truth.until(FOLDER / "end", last)
    truth.write(FOLDER / "chains.json")
    print("pid %d done" % os.getpid(), flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


main()
