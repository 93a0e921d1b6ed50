# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Loads PyTorch on request, and runs ops with odd names, which it prints; answers `done` to each line.  It checks its
results."""

import ctypes
import json
import os
import signal
import sys

LONG = 100000
OWN = "o" * LONG
NAMES = ('it "says" \\ so', "tab\t line\n \x1b[31mred\x7f", "\u202egnol\u2066", "{}", "x" * LONG)
WORKERS_OPS = 1000
HANGS_S = 60  # a child that takes longer is killed


class Odd:
    def load(self):
        global torch
        import torch
        torch.set_num_threads(1)
        self.observers = ctypes.CDLL(f"{torch.__path__[0]}/lib/libtorch_cpu.so")._ZN2at18hasGlobalCallbacksEv
        self.observers.restype = ctypes.c_bool
        self.library = torch.library.Library("odd", "DEF")
        self.library.define(OWN + "(Tensor x) -> Tensor")
        self.library.impl(OWN, lambda x: x + 1, "CPU")
        self.own = torch._C._get_operation_overload("odd::" + OWN, "")[0]

    def observed(self):
        while not self.observers():
            pass

    def unobserved(self):
        while self.observers():
            pass

    def names(self):
        for name in NAMES:
            with torch.profiler.record_function(name):
                pass
        assert self.own(torch.ones(3)).sum().item() == 6
        print(json.dumps([*NAMES, "odd::" + OWN]), flush=True)

    def relu(self, count):
        x = torch.ones(2)
        for _ in range(int(count)):
            x = torch.relu(x)
        assert x.sum().item() == 2

    def worker(self):
        """The first op starts a thread that removes the observer; how many ops run before depends on the machine."""
        pid = os.fork()
        if not pid:
            signal.alarm(HANGS_S)
            self.relu(WORKERS_OPS)
            self.unobserved()
            self.relu(WORKERS_OPS)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0

    def open(self):
        self.range = torch.profiler.record_function("open across")
        self.range.__enter__()

    def close(self):
        self.range.__exit__(None, None, None)


def main():
    odd = Odd()
    print("ready", flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        getattr(odd, verb)(*words)
        print("done", verb, flush=True)


if __name__ == "__main__":
    main()
