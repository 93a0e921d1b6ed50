# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Loads and unloads libraries that pretend to be PyTorch's (tests/unit/fake_torch.c), runs their ops, and launches.
Takes commands like obedient.py, and its commands, too."""

import ctypes
import sys

import obedient
from obedient import gpu

NOW, NEW_NAMESPACE = 2, -1  # RTLD_NOW, LM_ID_NEWLM
FUNCTION, NO_NUMBER = 0, -1


class Op(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint64 * 43), ("name", ctypes.c_char_p), ("context", ctypes.c_void_p),
                ("end", ctypes.c_void_p)]


class Functions(ctypes.Structure):
    _fields_ = [("begin", ctypes.CFUNCTYPE(None, ctypes.POINTER(Op), ctypes.c_char_p, ctypes.c_uint8, ctypes.c_int64,
                                           ctypes.c_uint64)),
                ("finish", ctypes.CFUNCTYPE(None, ctypes.POINTER(Op))),
                ("make_async", ctypes.CFUNCTYPE(None, ctypes.POINTER(Op))),
                ("callbacks", ctypes.CFUNCTYPE(ctypes.c_uint))]


LOADER = ctypes.CDLL(None)
LOADER.dlopen.restype = LOADER.dlmopen.restype = LOADER.dlsym.restype = ctypes.c_void_p
LOADER.dlsym.argtypes = ctypes.c_void_p, ctypes.c_char_p
LOADER.dlclose.argtypes = ctypes.c_void_p,


class Copies(obedient.Work):
    def __init__(self):
        super().__init__()
        self.handles = {}

    def load(self, path):
        self.handles[path] = LOADER.dlopen(path.encode(), NOW)
        assert self.handles[path]

    def load_apart(self, path):
        """Loads into a linker namespace of its own."""
        self.handles[path] = LOADER.dlmopen(NEW_NAMESPACE, path.encode(), NOW)
        assert self.handles[path]

    def unload(self, path):
        assert LOADER.dlclose(self.handles.pop(path)) == 0

    def functions(self, path):
        return Functions.from_address(LOADER.dlsym(self.handles[path], b"fake_torch"))

    def ops(self, path, name, count):
        library = self.functions(path)
        for _ in range(int(count)):
            op = Op()
            library.begin(op, name.encode(), FUNCTION, NO_NUMBER, 0)
            library.finish(op)

    def observed(self, path):
        while not self.functions(path).callbacks():
            pass

    def unobserved(self, path):
        while self.functions(path).callbacks():
            pass


def main():
    gpu.setup(record=True)
    copies = Copies()
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        verb, *words = line.split()
        getattr(copies, verb)(*words)
        print("done", verb, flush=True)


main()
