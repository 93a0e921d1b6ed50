# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches functions of modules through the driver, on the simulated GPU.  At its start it gets the functions named by
its arguments from one module.  For each line of standard input: "again" launches all functions, "take NAME..." first
gets these from a new module; answers "done"."""

import ctypes
import sys


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.functions = []
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            sys.exit(f"{name}: {result}")

    def take(self, *names):
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), b"// PTX")
        for name in names:
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            self.functions.append(function)

    def launch(self, function):
        self.call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, None, None)

    def again(self):
        for function in self.functions:
            self.launch(function)
        self.call("cuCtxSynchronize")


def main():
    driver = Driver()
    driver.take(*sys.argv[1:])
    print("ready", flush=True)
    for line in sys.stdin:
        what, *names = line.split()
        if what == "take":
            driver.take(*names)
        driver.again()
        print("done", flush=True)


if __name__ == "__main__":
    main()
