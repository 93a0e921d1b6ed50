"""A PyTorch training loop: an MLP with layer norms, AdamW (foreach), one host sync a step.

Runs on the simulated GPU (or a real one). Prints "steps N loss X" when it is done, so that a test
can see that it ended right. With --labels every GPU activity in the simulator's ground truth
carries the name of the function that asked for it.
"""

import argparse
import contextlib
import ctypes
import os
import time

import torch

torch.backends.cudnn.enabled = False
label_set = None


@contextlib.contextmanager
def label(name):
    """Labels this thread's launches in the simulator's ground truth."""
    if label_set is None:
        yield
        return
    label_set(name.encode())
    try:
        yield
    finally:
        label_set(b"")


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        with label("Block.forward"):
            hidden = torch.nn.functional.gelu(self.up(self.norm(x)))
            return x + self.down(hidden)


class Model(torch.nn.Module):
    def __init__(self, width, depth, classes):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(depth))
        self.head = torch.nn.Linear(width, classes)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        with label("Model.forward"):
            return self.head(x)


def load_batch(width, classes, pinned):
    with label("load_batch"):
        x = torch.randn(64, width)
        y = torch.randint(0, classes, (64,))
        if pinned:
            x, y = x.pin_memory(), y.pin_memory()
        return x.to("cuda", non_blocking=pinned), y.to("cuda", non_blocking=pinned)


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    out = model(x)
    with label("loss"):
        loss = torch.nn.functional.cross_entropy(out, y)
    with label("backward"):
        loss.backward()
    with label("optimizer"):
        optimizer.step()
    return loss


def go_on(options, steps, stop):
    if options.until:
        return not os.path.exists(options.until)
    return time.monotonic() < stop if stop else steps < options.steps


def train(model, optimizer, options, profiler=None):
    steps, total = 0, 0.0
    stop = time.monotonic() + options.seconds if options.seconds else None
    while go_on(options, steps, stop):
        x, y = load_batch(options.width, options.classes, options.pinned)
        loss = train_step(model, optimizer, x, y)
        with label("item"):
            total += loss.item()
        steps += 1
        if profiler is not None:
            profiler.step()
    return steps, total


def profile(model, optimizer, options):
    from torch.profiler import ProfilerActivity, profile as torch_profile

    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with torch_profile(activities=activities, with_stack=options.with_stack) as profiler:
        result = train(model, optimizer, options)
        torch.cuda.synchronize()
    profiler.export_chrome_trace(options.profile)
    return result


def main():
    global label_set
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0, help="run this long instead")
    parser.add_argument("--until", metavar="FILE", help="run until that file is there instead")
    parser.add_argument("--warmup", type=int, default=2, help="steps before what is profiled")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--pinned", action="store_true")
    parser.add_argument("--labels", action="store_true")
    parser.add_argument("--profile", metavar="OUT.json", help="trace with torch.profiler too")
    parser.add_argument("--with-stack", action="store_true")
    options = parser.parse_args()
    if options.labels:
        label_set = ctypes.CDLL("libcuda.so.1").sim_label
    torch.manual_seed(1)
    model = Model(options.width, options.depth, options.classes).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    for _ in range(options.warmup):
        x, y = load_batch(options.width, options.classes, options.pinned)
        train_step(model, optimizer, x, y)
    torch.cuda.synchronize()
    run = profile if options.profile else train
    steps, total = run(model, optimizer, options)
    torch.cuda.synchronize()
    print("steps %d loss %.3f" % (steps, total), flush=True)


if __name__ == "__main__":
    main()
