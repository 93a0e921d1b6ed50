"""The model that train.py trains: launches from many kinds of Python code."""

import contextlib
import queue
import threading

import gpu


class Block:
    """Launches from a method, a call written over several lines, a lambda."""

    def __init__(self, stream):
        self.stream = stream
        self.gelu = lambda: gpu.launch(gpu.at("gelu_25us"), *gpu.SHAPE, self.stream)

    def forward(self):
        gpu.launch(gpu.at("norm_12us"), *gpu.SHAPE, self.stream)
        gpu.launch(gpu.at("gemm_60us", lines=6),
                   gpu.GRID,
                   gpu.BLOCK,
                   None,
                   0,
                   self.stream)
        self.gelu()
        gpu.launch(gpu.at("gemm_80us"), *gpu.SHAPE, self.stream)


def attention(stream, depth):
    """Recursion: one launch at each level."""
    if depth == 0:
        return
    gpu.launch(gpu.at("softmax_15us"), *gpu.SHAPE, stream)
    attention(stream, depth - 1)


def heads(stream, count):
    """A comprehension: a frame of its own before CPython 3.12."""
    return [gpu.launch(gpu.at("head_40us"), *gpu.SHAPE, stream) for _ in range(count)]


def augmented(stream, count):
    """A generator: its frame is on the stack only while it runs."""
    for index in range(count):
        gpu.launch(gpu.at("augment_9us"), *gpu.SHAPE, stream)
        yield index


def best_score(stream):
    """Python called from C called from Python."""

    def score(value):
        gpu.launch(gpu.at("score_7us"), *gpu.SHAPE, stream)
        return value

    return max([3, 1, 2], key=score)


@contextlib.contextmanager
def metrics(stream):
    gpu.launch(gpu.at("metric_5us"), *gpu.SHAPE, stream)
    yield
    gpu.launch(gpu.at("metric_5us"), *gpu.SHAPE, stream)


class Backward:
    """A second thread that runs the backward passes, as in autograd."""

    def __init__(self, name):
        self.work = queue.Queue()
        self.done = queue.Queue()
        self.thread = threading.Thread(target=self.run, name=name, daemon=True)
        self.thread.start()

    def run(self):
        for stream, layers in iter(self.work.get, None):
            self.backward(stream, layers)
            self.done.put(True)

    def backward(self, stream, layers):
        for _ in range(layers):
            gpu.launch(gpu.at("grad_70us"), *gpu.SHAPE, stream)
            gpu.launch(gpu.at("grad_50us"), *gpu.SHAPE, stream)

    def __call__(self, stream, layers):
        self.work.put((stream, layers))
        self.done.get()

    def stop(self):
        self.work.put(None)
        self.thread.join()


class Optimizer:
    def __init__(self, stream, groups):
        self.stream = stream
        self.groups = groups

    def step(self):
        gpu.launch(gpu.at("clip_8us"), *gpu.SHAPE, self.stream)
        for _ in range(self.groups):
            gpu.launch(gpu.at("adamw_30us"), *gpu.SHAPE, self.stream)
        any(gpu.launch(gpu.at("ema_11us"), *gpu.SHAPE, self.stream) for _ in range(2))
