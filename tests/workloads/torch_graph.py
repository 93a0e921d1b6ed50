"""A PyTorch CUDA-graph loop: a forward and backward pass captured once, then replayed.

Prints "replays N" when it is done.
"""

import argparse
import ctypes
import time

import torch

torch.backends.cudnn.enabled = False


def make_step(width):
    model = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.GELU(),
        torch.nn.Linear(width, 1)).to("cuda")
    x = torch.zeros(32, width, device="cuda")

    def step():
        loss = model(x).mean()
        loss.backward()
        return loss

    return model, step


def capture(model, step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model.zero_grad(set_to_none=True)
            step()
    torch.cuda.current_stream().wait_stream(side)
    model.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def replay(graph, count):
    for _ in range(count):
        graph.replay()
        torch.cuda.current_stream().synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replays", type=int, default=30)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--labels", action="store_true")
    parser.add_argument("--profile", metavar="OUT.json", help="trace the replays with torch.profiler")
    options = parser.parse_args()
    model, step = make_step(options.width)
    graph = capture(model, step)
    torch.cuda.synchronize()
    if options.labels:
        ctypes.CDLL("libcuda.so.1").sim_label(b"replay")
    if options.profile:
        with torch.profiler.profile() as profiler:
            replay(graph, options.replays)
        profiler.export_chrome_trace(options.profile)
    else:
        replay(graph, options.replays)
    torch.cuda.synchronize()
    # autograd's thread may still take the GIL to free objects. Up to 3.13 CPython ends a thread that takes the GIL
    # during finalization; C++ takes that for an uncaught exception, and the program aborts
    time.sleep(0.3)
    print("replays %d" % options.replays, flush=True)


if __name__ == "__main__":
    main()
