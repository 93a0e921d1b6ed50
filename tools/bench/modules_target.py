# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cost of a launch below nested calls of modules, and below the same calls of objects that gputrace takes for no
modules: the least of 40 rounds each, by turns, in ns.

modules_target.py LIBCUDART MODULES
The launches fail at once.
"""

import ctypes
import importlib.util
import pathlib
import sys
import time

ROUNDS, LAUNCHES = 40, 3000
PAUSE_S = 0.03  # time for gputrace to empty the ring
KNOWN_S = 3  # and to see what a module is
SHAPED = pathlib.Path(__file__).resolve().parents[2] / "tests/e2e/programs/torch_shaped"


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


launch = ctypes.CDLL(sys.argv[1]).cudaLaunchKernel
launch.argtypes = (ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
one = Dim3(1, 1, 1)


def launches():
    begin = time.perf_counter()
    for _ in range(LAUNCHES):
        launch(0x1000, one, one, None, 0, None)
    return (time.perf_counter() - begin) / LAUNCHES * 1e9


def nested(module, depth):
    class Nested(module):
        def forward(self):
            return self.inner() if depth > 1 else launches()
    made = Nested()
    if depth > 1:
        made.inner = nested(module, depth - 1)
    return made


def loaded(name):
    """The library, or a second one of the same code that is no PyTorch."""
    spec = importlib.util.spec_from_file_location(name, str(SHAPED / "torch/nn/modules/module.py"))
    library = importlib.util.module_from_spec(spec)
    sys.modules[name] = library
    spec.loader.exec_module(library)
    return library.Module


kinds = [nested(loaded(name), int(sys.argv[2])) for name in ("torch.nn.modules.module", "other.module")]
least = [float("inf")] * 2
end = time.monotonic() + KNOWN_S
while time.monotonic() < end:
    kinds[0]()
    time.sleep(PAUSE_S)
for _ in range(ROUNDS):
    for i, kind in enumerate(kinds):
        least[i] = min(least[i], kind())
        time.sleep(PAUSE_S)
print("ns %.0f %.0f" % tuple(least), flush=True)
time.sleep(1)  # names are read while the program lives
