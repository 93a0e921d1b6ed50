# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches at a steady rate on the simulated GPU, and makes what a program of days makes again and again: the target of hours.py.

    hours_target.py HAMMER.so COUNTS RATE [KIND=RATE ...]

KIND is one of KINDS below, RATE how many of it are made a second.  COUNTS is a file that gets the number of launches made so far,
as 8 bytes at its start, after each burst.  Ends with its standard input.
"""
import ctypes
import mmap
import os
import pathlib
import select
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/workloads"))

import gpu  # noqa: E402

BURST_S = 0.01
NVTX = os.environ.get("HOURS_NVTX")

burst = ctypes.CDLL(sys.argv[1]).burst
burst.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
driver = ctypes.CDLL("libcuda.so.1")
runtime = ctypes.CDLL("libcudart.so.13")
runtime_launch = ctypes.cast(runtime.cudaLaunchKernel, ctypes.c_void_p)
driver.sim_kernel.restype = ctypes.c_void_p
pointer = ctypes.c_void_p
made = 0  # launches
counts = None


def launch(kernel, stream=None, times=1):
    global made
    if burst(runtime_launch, kernel, stream, times):
        raise SystemExit("a launch failed")
    made += times
    counts[:8] = struct.pack("<Q", made)


# ---- what is made again and again ---------------------------------------------------------------------------------------

def code(number):
    """A code object with a name and a file of its own, which launches."""
    names = {"launch": launch, "kernel": TINY}
    exec(compile(f"def made_{number}():\n    launch(kernel)\nmade_{number}()", f"/made/file_{number}.py", "exec"), names)


def thread(number):
    worker = threading.Thread(target=launch, args=(TINY,), name=f"made-{number}")
    worker.start()
    worker.join()


def child(number):
    """A fork without a program of its own."""
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)


def command(number):
    subprocess.run(["/bin/true", str(number)], check=True, stdin=subprocess.DEVNULL)


def python(number):
    """Another program with CUDA and Python."""
    subprocess.run([sys.executable, __file__, sys.argv[1], "-", "0"], check=True, stdin=subprocess.DEVNULL)


def stream(number):
    made_stream = pointer()
    gpu.check(driver.cuStreamCreate(ctypes.byref(made_stream), 1))
    launch(TINY, made_stream)
    gpu.check(driver.cuStreamSynchronize(made_stream))
    gpu.check(driver.cuStreamDestroy_v2(made_stream))


def kernel(number):
    """A kernel with a name of its own.  The simulated GPU keeps it."""
    launch(driver.sim_kernel(b"made_%d_1us" % number))


def module(number):
    loaded = pointer()
    gpu.check(driver.cuModuleLoadData(ctypes.byref(loaded), b"//jit %d" % number))
    gpu.check(driver.cuModuleUnload(loaded))


def graph(number):
    made_stream, captured, executable = pointer(), pointer(), pointer()
    gpu.check(driver.cuStreamCreate(ctypes.byref(made_stream), 1))
    gpu.check(driver.cuStreamBeginCapture_v2(made_stream, 2))
    launch(TINY, made_stream)
    gpu.check(driver.cuStreamEndCapture(made_stream, ctypes.byref(captured)))
    gpu.check(driver.cuGraphInstantiateWithFlags(ctypes.byref(executable), captured, ctypes.c_ulonglong(0)))
    gpu.check(driver.cuGraphLaunch(executable, made_stream))
    gpu.check(driver.cuStreamSynchronize(made_stream))
    gpu.check(driver.cuGraphExecDestroy(executable))
    gpu.check(driver.cuGraphDestroy(captured))
    gpu.check(driver.cuStreamDestroy_v2(made_stream))


def memory(number):
    block = pointer()
    gpu.check(gpu.malloc(ctypes.byref(block), 4096 + number % 1000 * 512))
    gpu.check(driver.cuMemFree_v2(block))


def library(number):
    """A file with code of its own, mapped and gone again."""
    path = f"/tmp/hours-{os.getpid()}-{number}.so"
    with open(sys.argv[1], "rb") as original, open(path, "wb") as copy:
        copy.write(original.read())
    with open(path, "rb") as file:
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE).close()
    os.unlink(path)


def range_(number):
    """An NVTX range with a name of its own."""
    nvtx.push(b"made %d" % number)
    launch(TINY)
    nvtx.pop()


KINDS = {"code": code, "thread": thread, "child": child, "command": command, "python": python, "stream": stream, "kernel": kernel,
         "module": module, "graph": graph, "memory": memory, "library": library, "range": range_}


# ------------------------------------------------------------------------------------------------------------------------

def run(rate, kinds):
    """Each kind at its rate; launches make up for what is missing of theirs."""
    begin, done = time.monotonic(), dict.fromkeys(kinds, 0)
    while not select.select([sys.stdin], [], [], 0)[0]:
        passed = time.monotonic() - begin
        for name, each in kinds.items():
            while done[name] < passed * each and time.monotonic() - begin < passed + BURST_S:
                done[name] += 1
                KINDS[name](done[name])
        missing = int(passed * rate) - made
        if missing > 0:
            launch(TINY, None, min(missing, 4 * int(rate * BURST_S) + 1))
        time.sleep(max(0, begin + passed + BURST_S - time.monotonic()))


gpu.setup()
if NVTX:
    nvtx = ctypes.CDLL(NVTX)
    nvtx.push.argtypes = [ctypes.c_char_p]
TINY = driver.sim_kernel(b"tiny_1us")
if sys.argv[2] == "-":
    counts = bytearray(8)
    launch(TINY)
    gpu.check(gpu.device_sync())
    sys.exit(0)
with open(sys.argv[2], "w+b") as file:
    file.truncate(8)
    counts = mmap.mmap(file.fileno(), 8)
print("ready", os.getpid(), flush=True)
run(float(sys.argv[3]), {name: float(each) for name, each in (word.split("=") for word in sys.argv[4:])})
gpu.check(gpu.device_sync())
print("through", made, flush=True)
