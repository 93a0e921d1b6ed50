# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes a given number of launches from THREADS threads, as in a training loop: each of LINES lines, 16 Python frames
deep, launches some of them.  The target of scale.py.

    scale_target.py HAMMER.so LIBCUDART THREADS [STREAMS]

With STREAMS each thread has that many streams of the simulated GPU and launches its kernels; without, launches fail at
once, as with a real libcudart and no GPU.  Reads lines from standard input, each the number of launches to make, and
answers with the numbers of launches made and failed.
"""
import ctypes
import sys
import threading

LINES, BURST, DEPTH = 64, 4, 16

hammer = ctypes.CDLL(sys.argv[1])  # CDLL releases the GIL, so the threads do not wait for each other
cudart = ctypes.CDLL(sys.argv[2])
hammer.burst.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
hammer.burst.restype = ctypes.c_long
launch = ctypes.cast(cudart.cudaLaunchKernel, ctypes.c_void_p)
threads = int(sys.argv[3])
streams = int(sys.argv[4]) if len(sys.argv) > 4 else 0


def kernels_of_the_gpu():
    """A kernel for each line, which takes 0.2 to 1.1 us."""
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.sim_kernel.restype = ctypes.c_void_p
    cuda.sim_kernel.argtypes = [ctypes.c_char_p]
    return [cuda.sim_kernel(b"layer_%d_%dns" % (i, 200 + i % 10 * 100)) for i in range(LINES)]


def streams_of_the_gpu():
    made = []
    for _ in range(streams):
        stream = ctypes.c_void_p()
        if cudart.cudaStreamCreateWithFlags(ctypes.byref(stream), 1) != 0:
            raise SystemExit("scale_target: no stream")
        made.append(stream)
    return made


def functions():
    """A function for each line, each defined in a line of its own."""
    text = "".join(f"def layer_{i}(burst, *what): return burst(*what)\n" for i in range(LINES))
    made = {}
    exec(compile(text, "layers.py", "exec"), made)
    return [made[f"layer_{i}"] for i in range(LINES)]


kernels = kernels_of_the_gpu() if streams else [None] * LINES
streams_of = [streams_of_the_gpu() for _ in range(threads)]  # before "ready", so that there is a context
layers = list(zip(functions(), kernels))


def descend(frames, work):
    if frames > 1:
        return descend(frames - 1, work)
    return work()


def work(count, mine, failed):
    burst, at = hammer.burst, 0
    while True:
        for layer, kernel in layers:
            at += 1
            if not count:
                return
            now = min(count, BURST)
            failed[0] += layer(burst, launch, kernel, mine[at % len(mine)] if mine else None, now)
            count -= now


def run(count):
    failed = [[0] for _ in range(threads)]
    started = []
    for i in range(threads):
        share = count * (i + 1) // threads - count * i // threads
        started.append(threading.Thread(target=descend, args=(DEPTH, lambda i=i, s=share: work(s, streams_of[i], failed[i]))))
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return count, sum(f[0] for f in failed)


def main():
    print("ready", flush=True)
    for line in sys.stdin:
        print(*run(int(line)), flush=True)


main()
