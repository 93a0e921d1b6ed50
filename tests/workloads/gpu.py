"""Shared by the ctypes workloads: CUDA's runtime without a framework, and exact ground truth.

A launch is written  gpu.launch(gpu.at("gelu_25us"), ...)  with both calls on one line: at() has
returned when the launch is made, so the innermost Python frame of the launch is the function with
this line. at() has counted it under the stack and line that a tracer should see. note() does the
same for other calls. Only the standard library, CPython 3.6 to 3.15.

A kernel's name contains its duration. The simulated GPU obeys it; for a real GPU each name
becomes a PTX kernel that waits that long.
"""

import ctypes
import json
import os
import re
import sys
import threading

H2D, D2H, D2D = 1, 2, 3
KERNELS = (
    "norm_12us", "gemm_60us", "gemm_80us", "gelu_25us", "bias_6us", "head_40us", "softmax_15us",
    "augment_9us", "loss_20us", "score_7us", "grad_50us", "grad_70us", "clip_8us", "adamw_30us",
    "ema_11us", "metric_5us", "replay_18us", "replay_22us", "tick_10us", "train_2000us", "tiny_1us",
)

PTX_HEAD = ".version 6.4\n.target sm_75\n.address_size 64\n"
PTX_KERNEL = """.visible .entry %s() {
 .reg .u64 %%t<3>; .reg .pred %%p;
 mov.u64 %%t0, %%globaltimer;
again: mov.u64 %%t1, %%globaltimer;
 sub.u64 %%t2, %%t1, %%t0;
 setp.lt.u64 %%p, %%t2, %d;
 @%%p bra again;
 ret;
}
"""


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


GRID, BLOCK = Dim3(32, 1, 1), Dim3(256, 1, 1)
SHAPE = (GRID, BLOCK, None, 0)

_lock = threading.Lock()
_counts = {}
_handles = {}
_recording = False
_label = None
_copy_ns = None


def kernel_ns(name):
    """The duration in the kernel's name, in ns."""
    return int(re.search(r"_(\d+)us", name).group(1)) * 1000


def _prototype(library, name, *types):
    function = getattr(library, name)
    function.argtypes, function.restype = types, ctypes.c_int
    return function


def setup(path="libcudart.so.13", record=False, fake_kernels=False):
    """Loads libcudart and the kernels; with fake_kernels names stand for made-up addresses."""
    global _recording, _label, _copy_ns
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library = ctypes.CDLL(path)
    table = {
        "launch": ("cudaLaunchKernel", pointer, Dim3, Dim3, pointer, size, pointer),
        "copy": ("cudaMemcpyAsync", pointer, pointer, size, ctypes.c_int, pointer),
        "copy_now": ("cudaMemcpy", pointer, pointer, size, ctypes.c_int),
        "fill": ("cudaMemsetAsync", pointer, ctypes.c_int, size, pointer),
        "stream_sync": ("cudaStreamSynchronize", pointer),
        "graph_launch": ("cudaGraphLaunch", pointer, pointer),
        "malloc": ("cudaMalloc", pointer, size),
        "free": ("cudaFree", pointer),
        "stream_create": ("cudaStreamCreate", pointer),
        "capture_begin": ("cudaStreamBeginCapture", pointer, ctypes.c_int),
        "capture_end": ("cudaStreamEndCapture", pointer, pointer),
        "instantiate": ("cudaGraphInstantiate", pointer, pointer, ctypes.c_ulonglong),
    }
    for ours, (name, *types) in table.items():
        globals()[ours] = _prototype(library, name, *types)
    globals()["device_sync"] = _prototype(library, "cudaDeviceSynchronize")
    _recording = record
    if fake_kernels:
        _handles.update((name, 0x1000 + 16 * i) for i, name in enumerate(KERNELS))
    else:
        _load_kernels(library)
        driver = ctypes.CDLL("libcuda.so.1")
        if record and hasattr(driver, "sim_label"):
            _label, _copy_ns = driver.sim_label, driver.sim_copy_ns
            _copy_ns.argtypes = [pointer, pointer, size]
            _copy_ns.restype = ctypes.c_uint64


def _load_kernels(library):
    ptx = PTX_HEAD + "".join(PTX_KERNEL % (name, kernel_ns(name)) for name in KERNELS)
    loaded, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    library.cudaFree(None)
    check(library.cudaLibraryLoadData(ctypes.byref(loaded), ptx.encode(), None, None, 0,
                                      None, None, 0))
    for name in KERNELS:
        check(library.cudaLibraryGetKernel(ctypes.byref(kernel), loaded, name.encode()))
        _handles[name] = kernel.value


def check(status):
    if status:
        raise RuntimeError("CUDA error %d" % status)


def at(kernel, captured=False, lines=1):
    """Counts a launch of the kernel at the caller's line (a call of `lines` lines); returns its handle."""
    if _recording:
        _count("cudaLaunchKernel", kernel, 0 if captured else kernel_ns(kernel), lines)
    return _handles[kernel]


def note(call, value, ns=0):
    """Counts another CUDA call that keeps the GPU busy for ns; returns value, an argument of the call."""
    if _recording:
        _count(call, None, ns)
    return value


def note_copy(call, dst, src, size):
    """Counts a copy; returns dst. Its time is known on the simulated GPU only."""
    if _recording:
        _count(call, None, _copy_ns(dst, src, size) if _copy_ns else 0)
    return dst


def _count(call, kernel, ns, lines=1):
    frame = sys._getframe(2)
    line = frame.f_lineno
    if sys.version_info < (3, 8):  # a call has the line of its last argument there, also in tracebacks
        line += lines - 1
    if _label:
        code = frame.f_code
        where = "%s:%d" % (os.path.basename(code.co_filename), line)
        _label(("%s %s" % (where, code.co_name)).encode())
    stack = [(frame.f_code, line)]
    frame = frame.f_back
    while frame:
        stack.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    key = (call, kernel, tuple(stack))
    with _lock:
        entry = _counts.setdefault(key, [0, 0])
        entry[0] += 1
        entry[1] += ns


def _frame_json(code, line):
    return {
        "function": code.co_name,
        "qualname": getattr(code, "co_qualname", None),
        "file": code.co_filename,
        "first_line": code.co_firstlineno,
        "line": line,
    }


def write_truth(path, **more):
    """The ground truth as JSON: README.md has the fields."""
    stacks, sites = [], {}
    for (call, kernel, stack), (count, ns) in _counts.items():
        frames = [_frame_json(code, line) for code, line in stack]
        stacks.append({"call": call, "kernel": kernel, "count": count, "gpu_ns": ns,
                       "stack": frames})
        key = (call, kernel, stack[0])
        site = sites.setdefault(key, dict(frames[0], call=call, kernel=kernel, count=0, gpu_ns=0))
        site["count"] += count
        site["gpu_ns"] += ns
    truth = {"pid": os.getpid(), "python": sys.version.split()[0], "sites": list(sites.values()),
             "stacks": stacks}
    truth.update(more)
    with open(path, "w") as out:
        json.dump(truth, out, indent=1)
        out.write("\n")
