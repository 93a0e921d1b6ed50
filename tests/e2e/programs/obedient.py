# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches when it is told to, by lines on standard input; answers each with "done".

obedient.py [LIBCUDART]: a real libcudart, or (no argument) the one the loader finds, which is the
simulated one.  With "late" as argument nothing is loaded before "load LIBCUDART".
CPython 3.6 to 3.15, standard library only.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402
import model  # noqa: E402


class Work:
    def __init__(self):
        self.backward = model.Backward("backward")

    def step(self):
        model.Block(None).forward()
        model.attention(None, 3)
        model.heads(None, 2)
        list(model.augmented(None, 2))
        model.best_score(None)
        with model.metrics(None):
            self.backward(None, 2)

    def steps(self, count):
        for _ in range(int(count)):
            self.step()

    def threads(self, threads, count):
        """Every thread makes its own steps, at the same time."""
        running = [threading.Thread(target=Work().steps, args=(count,)) for _ in range(int(threads))]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    def load(self, library):
        gpu.setup(library, record=True, fake_kernels=True)

    def load_simulated(self):
        gpu.setup(record=True)

    def started(self):
        """Whether CUDA is initialised here, without doing it."""
        count = ctypes.c_int()
        print("started", ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(count)) == 0, flush=True)

    def forget(self):
        gpu._counts.clear()

    def finish(self):
        gpu.check(gpu.device_sync())

    def truth(self, path):
        gpu.write_truth(path)

    def native(self, extension, count):
        """Launches through native.c."""
        extension = ctypes.CDLL(extension)
        extension.extension_forward(ctypes.cast(gpu.launch, ctypes.c_void_p), int(count))

    def run(self, *command):
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)

    def pipe_child(self, *command):
        """A child that obeys us."""
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.child.stdout.readline()

    def tell_child(self, *words):
        self.child.stdin.write(" ".join(words) + "\n")
        self.child.stdin.flush()
        self.child.stdout.readline()

    def set_clock(self, library, seconds):
        """The wall clock of this process, as programs/set_clock.c shows it."""
        ctypes.CDLL(library).set_clock(ctypes.c_long(int(seconds)))

    def become(self, *command):
        """Another program in this process."""
        os.execv(command[0], command)


def main():
    if len(sys.argv) == 1:
        gpu.setup(record=True)
    elif sys.argv[1] != "late":
        gpu.setup(sys.argv[1], record=True, fake_kernels=True)
    work = Work()
    print("ready", os.getpid(), flush=True)
    for line in iter(sys.stdin.readline, ""):
        verb, *words = line.split()
        getattr(work, verb)(*words)
        print("done", verb, flush=True)


if __name__ == "__main__":
    main()
