"""A small training program that needs no framework: CUDA's runtime by ctypes, on the simulated GPU
or a real one. What each line launches is known exactly and written by --truth FILE.

One line of it wastes the GPU, for a tracer to find: loss_item() waits for the device every step.
"""

import argparse
import ctypes
import os
import threading
import time

import gpu
import model

BATCH_BYTES = 256 * 1024


class Trainer:
    def __init__(self, name, options):
        self.options = options
        self.stream = ctypes.c_void_p()
        gpu.check(gpu.stream_create(ctypes.byref(self.stream)))
        self.device = ctypes.c_void_p()
        gpu.check(gpu.malloc(ctypes.byref(self.device), BATCH_BYTES))
        self.host = ctypes.create_string_buffer(BATCH_BYTES)
        self.host_address = ctypes.addressof(self.host)
        self.loss = ctypes.c_float()
        self.blocks = [model.Block(self.stream) for _ in range(options.blocks)]
        self.backward = model.Backward(name + "-backward")
        self.optimizer = model.Optimizer(self.stream, 3)
        self.graph = self.capture() if options.graph else None

    def capture(self):
        """Captures two kernels as a graph; replay() launches both at once."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        gpu.check(gpu.capture_begin(self.stream, 2))
        gpu.launch(gpu.at("replay_18us", captured=True), *gpu.SHAPE, self.stream)
        gpu.launch(gpu.at("replay_22us", captured=True), *gpu.SHAPE, self.stream)
        gpu.check(gpu.capture_end(self.stream, ctypes.byref(graph)))
        gpu.check(gpu.instantiate(ctypes.byref(executable), graph, 0))
        return executable

    def replay(self):
        for _ in range(4):
            gpu.graph_launch(gpu.note("cudaGraphLaunch", self.graph, 40000), self.stream)

    def load_batch(self):
        size, stream = BATCH_BYTES, self.stream
        address, host = self.device.value, self.host_address
        gpu.copy(gpu.note_copy("cudaMemcpyAsync", address, host, size), host, size, gpu.H2D, stream)
        return sum(model.augmented(self.stream, 2))

    def forward(self):
        with model.metrics(self.stream):
            for block in self.blocks:
                block.forward()
        model.attention(self.stream, 3)
        model.heads(self.stream, 2)
        model.best_score(self.stream)
        gpu.launch(gpu.at("loss_20us"), *gpu.SHAPE, self.stream)

    def loss_item(self):
        host, device, stream = ctypes.addressof(self.loss), self.device.value, self.stream
        gpu.copy(gpu.note_copy("cudaMemcpyAsync", host, device, 4), device, 4, gpu.D2H, stream)
        gpu.stream_sync(gpu.note("cudaStreamSynchronize", stream))
        return self.loss.value

    def step(self):
        self.load_batch()
        self.forward()
        self.backward(self.stream, len(self.blocks))
        self.optimizer.step()
        if self.graph is not None:
            self.replay()
        return self.loss_item()

    def until(self):
        """Returns a function that says, from the number of steps done, whether there is a next one."""
        options = self.options
        if options.until:
            return lambda steps: not os.path.exists(options.until)
        if options.seconds:
            stop = time.monotonic() + options.seconds
            return lambda steps: time.monotonic() < stop
        return lambda steps: steps < options.steps

    def train(self):
        steps = 0
        go_on = self.until()
        while go_on(steps):
            self.step()
            steps += 1
            if self.options.until:
                time.sleep(0.02)  # so that what is recorded of it stays small, however long a busy machine takes
        self.backward.stop()
        self.steps = steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0, help="run this long instead")
    parser.add_argument("--until", metavar="FILE", help="run until that file is there instead")
    parser.add_argument("--threads", type=int, default=1, help="independent training threads")
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--graph", action="store_true", help="also replay a CUDA graph")
    parser.add_argument("--truth", metavar="FILE", help="write what was launched from where")
    parser.add_argument("--cudart", default="libcudart.so.13")
    options = parser.parse_args()
    gpu.setup(options.cudart, record=bool(options.truth))
    trainers = [Trainer("trainer-%d" % i, options) for i in range(options.threads)]
    print("ready", flush=True)
    threads = [threading.Thread(target=t.train, name="trainer") for t in trainers[1:]]
    for thread in threads:
        thread.start()
    trainers[0].train()
    for thread in threads:
        thread.join()
    gpu.check(gpu.device_sync())
    steps = sum(trainer.steps for trainer in trainers)
    if options.truth:
        gpu.write_truth(options.truth, steps=steps)
    print("steps %d" % steps, flush=True)


if __name__ == "__main__":
    main()
