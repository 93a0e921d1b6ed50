"""Seven situations in which a program wastes its GPU: gallery.py SITUATION [--truth FILE] (docs/gallery.md).

No framework: CUDA's runtime by ctypes (gpu.py), on the simulated GPU. The line that is to blame ends in "# culprit".
--truth FILE gets what the program measured: {"line", "function", "pid"} and the time lost, "ms" at least, "most_ms" at most.
"""

import argparse
import ctypes
import json
import multiprocessing
import os
import pathlib
import threading
import time
import zlib

import gpu

BATCH = 1 << 20
RAW = b"".join(b"%d " % (number * number % 9973) for number in range(40000))
FEW_STEPS, STEPS, TOKENS, LAUNCHES, RANKS = 20, 40, 120, 20000, 2  # TOKENS: ten samples and more at the usual rate
KERNEL_S = 0.002  # train_2000us
FORK = multiprocessing.get_context("fork")  # the default before 3.14


def culprit(function):
    """The number of the function's line that is to blame."""
    first = function.__code__.co_firstlineno
    lines = pathlib.Path(__file__).read_text().splitlines()[first - 1:]
    return first + next(number for number, line in enumerate(lines) if line.endswith("# culprit"))


class Device:
    """Memory on the GPU and a host buffer; made after a program's workers, because CUDA does not survive a fork."""

    def __init__(self):
        gpu.setup()
        self.memory = ctypes.c_void_p()
        gpu.check(gpu.malloc(ctypes.byref(self.memory), BATCH))
        self.host = ctypes.create_string_buffer(BATCH)
        self.loss = ctypes.c_float()

    def upload(self, batch):
        ctypes.memmove(self.host, batch, min(len(batch), BATCH))
        gpu.check(gpu.copy_now(self.memory, self.host, BATCH, gpu.H2D))

    def step(self, kernels=1):
        for _ in range(kernels):
            gpu.launch(gpu.at("train_2000us"), *gpu.SHAPE, None)


# ---- a slow line in a DataLoader's worker ----

class Images:
    """A data set: each item is read, and augmented by a line that takes long."""

    def __getitem__(self, index):
        image = RAW[index:]
        return zlib.compress(image, 9)  # culprit


def load(images, ready, batches):
    """A worker: puts each item into the queue, with the processor time that making it took."""
    ready.wait()
    for index in range(FEW_STEPS):
        begin = time.thread_time()
        item = images[index]
        batches.put((item, time.thread_time() - begin))


def dataloader():
    """Measured is how long the loop waited for a batch while the GPU had nothing to do, and the line's part of that."""
    ready, batches, waited_s, line_s = FORK.Event(), FORK.Queue(2), 0, 0
    worker = FORK.Process(target=load, args=(Images(), ready, batches))
    worker.start()
    device = Device()
    ready.set()
    for index in range(FEW_STEPS):
        begin = time.monotonic()
        batch, took_s = batches.get()
        idle_s = max(0, time.monotonic() - begin - KERNEL_S) if index else 0  # the last step's kernel runs meanwhile
        waited_s, line_s = waited_s + idle_s, line_s + min(took_s, idle_s)
        device.upload(batch)
        device.step()
    worker.join()
    return {"line": culprit(Images.__getitem__), "function": "Images.__getitem__", "pid": worker.pid, "ms": line_s * 1e3,
            "most_ms": waited_s * 1e3}


# ---- .item() in the loop ----

def loss_item(device):
    gpu.copy_now(ctypes.addressof(device.loss), device.memory, 4, gpu.D2H)  # culprit
    return device.loss.value


def item():
    """Reads the loss back in each step; then the GPU has nothing to do until the next step's first launch."""
    device, total, lost_s, begin = Device(), 0.0, 0, time.monotonic()
    for _ in range(STEPS):
        device.step(kernels=3)
        total += loss_item(device)
        returned = time.monotonic()
        zlib.compress(RAW[:len(RAW) // 8], 6)  # the next step's batch, which could be made while the GPU works
        lost_s += min(time.monotonic() - returned, 2 * KERNEL_S)
    took_s = time.monotonic() - begin
    device.step()
    return {"line": culprit(loss_item), "function": "loss_item", "pid": os.getpid(), "ms": lost_s * 1e3,
            "most_ms": (took_s - 3 * STEPS * KERNEL_S) * 1e3}


# ---- kernels that are too small ----

def elementwise():
    gpu.launch(gpu.at("tiny_1us"), *gpu.SHAPE, None)  # culprit


def small():
    """A launch that takes unusually long is not the kernels' fault, and not in the least time that they cost."""
    Device()
    least_s, begin = 0, time.monotonic()
    before = begin
    for _ in range(LAUNCHES):
        elementwise()
        now = time.monotonic()
        least_s += max(0, now - before - 1e-6) if now - before < 1e-4 else 0
        before = now
    return {"line": culprit(elementwise), "function": "elementwise", "pid": os.getpid(), "ms": 0.8 * least_s * 1e3,
            "most_ms": (before - begin) * 1e3}


# ---- a server's detokenizer ----

VOCABULARY = {number: "word%d" % number for number in range(32000)}


def detokenize(tokens):
    return " ".join(map(VOCABULARY.__getitem__, tokens))  # culprit


def decode(device):
    gpu.launch(gpu.at("train_2000us"), *gpu.SHAPE, None)
    gpu.stream_sync(None)


def detokenizer():
    """After each token the server makes text of the whole answer so far, while the GPU waits for the next step."""
    device, took_s, wall_s = Device(), 0, 0
    tokens = [number * 7919 % len(VOCABULARY) for number in range(90000)]
    for step in range(TOKENS):
        decode(device)
        tokens.append(step)
        begin, begin_wall = time.thread_time(), time.monotonic()
        detokenize(tokens)
        took_s, wall_s = took_s + time.thread_time() - begin, wall_s + time.monotonic() - begin_wall
    decode(device)
    return {"line": culprit(detokenize), "function": "detokenize", "pid": os.getpid(), "ms": took_s * 1e3,
            "most_ms": wall_s * 1e3}


# ---- a late rank ----

INT64, SUM = 4, 0  # ncclDataType_t, ncclRedOp_t


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def make_batch(rank):
    """Rank 1 has longer samples than the others."""
    return zlib.compress(RAW if rank == 1 else RAW[:1000], 9)  # culprit


def train_rank(rank, barrier, answers):
    """Reports when it called each collective and when it had called it, by the clock that all processes share."""
    device, comm, called = Device(), ctypes.c_void_p(), []
    nccl = ctypes.CDLL("libnccl.so.2")
    gpu.check(nccl.ncclCommInitRank(ctypes.byref(comm), RANKS, UniqueId(b"all"), rank))
    for _ in range(FEW_STEPS):
        barrier.wait()
        device.upload(make_batch(rank))
        device.step()
        begin = time.monotonic()
        all_reduce(nccl, device, comm)
        called.append((begin, time.monotonic()))
        gpu.check(gpu.device_sync())
    answers.put((rank, os.getpid(), called))


def all_reduce(nccl, device, comm):
    gpu.check(nccl.ncclAllReduce(device.memory, device.memory, ctypes.c_size_t(1000), INT64, SUM, comm, None))


def rank():
    barrier, answers = FORK.Barrier(RANKS), FORK.Queue()
    ranks = [FORK.Process(target=train_rank, args=(number, barrier, answers)) for number in range(RANKS)]
    for process in ranks:
        process.start()
    (_, _, early), (_, pid, late) = sorted(answers.get() for _ in ranks)
    for process in ranks:
        process.join()
    least = sum(mine[0] - other[1] for other, mine in zip(early, late))
    most = sum(mine[1] - other[0] for other, mine in zip(early, late))
    return {"line": culprit(make_batch), "function": "make_batch", "pid": pid, "ms": least * 1e3, "most_ms": most * 1e3}


# ---- memory that grows ----

class History:
    """Keeps what each step has made."""

    def __init__(self):
        self.kept = []

    def remember(self):
        memory = ctypes.c_void_p()
        gpu.check(gpu.malloc(ctypes.byref(memory), BATCH))  # culprit
        self.kept.append(memory)


def memory():
    device, history = Device(), History()
    for _ in range(STEPS):
        device.step()
        history.remember()
    return {"line": culprit(History.remember), "function": "History.remember", "pid": os.getpid(), "bytes": STEPS * BATCH}


# ---- a hang ----

class Service:
    """Two threads take its two locks in opposite order; each waits for the other, forever."""

    def __init__(self):
        self.cache, self.model = threading.Lock(), threading.Lock()
        self.both = threading.Barrier(3)

    def refresh(self):
        with self.cache:
            self.both.wait()
            with self.model:  # culprit
                pass

    def reload(self):
        with self.model:
            self.both.wait()
            with self.cache:  # culprit
                pass


def hang():
    Device().step()
    service = Service()
    for work in (service.refresh, service.reload):
        threading.Thread(target=work).start()
    service.both.wait()
    return {"line": culprit(Service.refresh), "other_line": culprit(Service.reload), "function": "Service.refresh", "pid": os.getpid()}


SITUATIONS = {function.__name__: function for function in (dataloader, item, small, detokenizer, rank, memory, hang)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("situation", choices=sorted(SITUATIONS))
    parser.add_argument("--truth", metavar="FILE", type=pathlib.Path, help="write what the program measured")
    options = parser.parse_args()
    truth = SITUATIONS[options.situation]()
    if options.truth:
        options.truth.write_text(json.dumps(truth) + "\n")
    print("done", flush=True)


if __name__ == "__main__":
    main()
