# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Trains a small PyTorch net and loses GPU time in one way: `torch_loses_time.py data|frames|item|small|compile TRUTH`.

TRUTH is {"lines", "least_ms", "most_ms"}: lines of this file that lose time, and bounds of the loss in the steps after
the first, by the program's own clock."""

import ctypes
import faulthandler
import json
import pathlib
import sys
import time

import torch

from torch_observed import wait_for_observer

STEPS = 12
lost, most = [], []  # ms of each step


def lines_of(mark):
    """The numbers of the lines that end in the mark."""
    lines = pathlib.Path(__file__).read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("# " + mark)]


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, index):
        time.sleep(0.005)
        return torch.ones(64), 1.0


def to_gpu(samples):
    x, y = torch.utils.data.default_collate(samples)
    return x.cuda(), y.float().cuda()


def net(width=64, layers=2):
    parts = [part for _ in range(layers) for part in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    model = torch.nn.Sequential(*parts, torch.nn.Linear(width, 1)).cuda()
    return model, torch.optim.AdamW(model.parameters())


def ms():
    return time.monotonic() * 1e3


def step(model, optimizer, x, y):
    loss = ((model(x).squeeze() - y) ** 2).mean()  # small
    loss.backward()  # small
    optimizer.step()  # small
    optimizer.zero_grad()
    return loss


def data():
    """Loading a batch sleeps four times 5 ms, while the GPU has work for only a part of a ms."""
    model, optimizer = net()
    batches = iter(torch.utils.data.DataLoader(Slow(), batch_size=4))
    for _ in range(STEPS):
        begin = ms()
        x, y = next(batches)
        most.append(ms() - begin)
        lost.append(20 * 0.8)
        step(model, optimizer, x.cuda(), y.float().cuda())  # data


def frames():
    """The same, but the DataLoader makes the copies to the GPU, so calls have its frames in their stacks."""
    model, optimizer = net()
    batches = iter(torch.utils.data.DataLoader(Slow(), batch_size=4, collate_fn=to_gpu))
    for _ in range(STEPS):
        begin = ms()
        x, y = next(batches)  # frames
        most.append(ms() - begin)
        lost.append(20 * 0.8)
        step(model, optimizer, x, y)


def compile():
    """A batch of a new size needs a compilation, while the GPU is idle."""
    model, optimizer = net()
    compiled = torch.compile(model, dynamic=False, backend="aot_eager")
    compiled(torch.ones(2, 64).cuda()).mean().backward()
    optimizer.step()
    lost.append(0)
    most.append(0)
    for number in range(STEPS):
        x = torch.ones(4 + number // 4, 64).cuda()
        torch.cuda.synchronize()
        begin = ms()
        loss = compiled(x).mean()  # compile
        took = ms() - begin
        most.append(took)
        lost.append(0.7 * took if number % 4 == 0 else 0)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def item():
    """A wait for a kernel of 6 ms; without the wait the kernel would hide the sleep."""
    driver, cudart = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcudart.so.13")
    driver.sim_kernel.restype = ctypes.c_void_p
    kernel = ctypes.c_void_p(driver.sim_kernel(b"large_6000us"))
    model, optimizer = net()
    x, y = torch.ones(4, 64).cuda(), torch.ones(4).cuda()
    for _ in range(STEPS):
        begin = ms()
        loss = step(model, optimizer, x, y)
        cudart.cudaLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, None, ctypes.c_size_t(0), None)
        loss.item()  # item
        waited = ms()
        time.sleep(0.002)
        lost.append(0.8 * min(ms() - waited, 6))
        most.append(ms() - begin)


def small():
    model, optimizer = net(layers=40)
    x, y = torch.ones(4, 64).cuda(), torch.ones(4).cuda()
    for _ in range(STEPS):
        begin = ms()
        step(model, optimizer, x, y)
        most.append(ms() - begin)
        lost.append(0)


def main():
    faulthandler.enable()  # of an abort before Python's end it says which thread that was
    torch.set_num_threads(1)
    if sys.argv[1] != "frames":  # its ops are not recorded
        wait_for_observer()
    globals()[sys.argv[1]]()
    torch.cuda.synchronize()
    truth = {"lines": lines_of(sys.argv[1]), "least_ms": sum(lost[1:]), "most_ms": sum(most[1:]), "steps": len(lost) - 1}
    pathlib.Path(sys.argv[2]).write_text(json.dumps(truth))


main()
