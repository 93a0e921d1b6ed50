"""Launches through a real libcudart with no GPU: every call fails, and that is fine, because the
call is made. What each line called is known exactly and written by --truth FILE.

--hammer SECONDS instead launches as fast as Python can from --threads threads and prints the count
of each.
"""

import argparse
import threading
import time

import gpu
import model


def step(stream, backward):
    for block in [model.Block(stream), model.Block(stream)]:
        block.forward()
    list(model.augmented(stream, 2))
    model.attention(stream, 3)
    model.heads(stream, 2)
    model.best_score(stream)
    with model.metrics(stream):
        backward(stream, 2)
    gpu.stream_sync(gpu.note("cudaStreamSynchronize", stream))
    gpu.copy_now(gpu.note("cudaMemcpy", 0x2000), 0x1000, 64, gpu.H2D)
    gpu.fill(gpu.note("cudaMemsetAsync", 0x2000), 0, 64, stream)


def deep(stream, levels):
    """A stack of the given depth."""
    if levels > 1:
        return deep(stream, levels - 1)
    return gpu.launch(gpu.at("tick_10us"), *gpu.SHAPE, stream)


def hammer(seconds, depth, counts, index):
    launch, handle, shape = gpu.launch, gpu.at("tick_10us"), gpu.SHAPE
    if depth > 1:
        return hammer(seconds, depth - 1, counts, index)
    stop, count = time.monotonic() + seconds, 0
    while time.monotonic() < stop:
        for _ in range(500):
            launch(handle, *shape, None)
        count += 500
    counts[index] = count


def run_hammer(options):
    counts = [0] * options.threads
    threads = [threading.Thread(target=hammer, args=(options.hammer, options.depth, counts, i))
               for i in range(options.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("launches %s total %d" % (" ".join(map(str, counts)), sum(counts)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cudart", help="path of libcudart.so")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--depth", type=int, default=1, help="frames under deep() and hammer()")
    parser.add_argument("--hammer", type=float, metavar="SECONDS")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--truth", metavar="FILE")
    options = parser.parse_args()
    gpu.setup(options.cudart, record=bool(options.truth), fake_kernels=True)
    print("ready", flush=True)
    if options.hammer:
        run_hammer(options)
        return
    backward = model.Backward("backward")
    for _ in range(options.steps):
        step(None, backward)
        deep(None, options.depth)
    backward.stop()
    if options.truth:
        gpu.write_truth(options.truth, steps=options.steps)
    print("steps %d" % options.steps, flush=True)


if __name__ == "__main__":
    main()
