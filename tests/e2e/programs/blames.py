# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keeps the simulated GPU idle in known ways: `blames.py TRUTH CAUSE...` launches, lets the cause take 300 ms (or, as
CAUSE*60, 60 times 5 ms), launches again, and writes the time lost to each cause by its own clock: TRUTH is {CAUSE:
{"line", "pid", "ms", "wall_ms", "launch"}}.  Standard library only, except zmq.

A loop that must have all of the time is written on one line."""

import asyncio
import atexit
import concurrent.futures
import ctypes
import gc
import json
import multiprocessing
import os
import pathlib
import queue as queues
import subprocess
import sys
import threading
import time

from sim_cuda import KERNEL, cudart

THIS = pathlib.Path(__file__)


def launch():
    cudart.cudaLaunchKernel(KERNEL, 1, 1, 1, 32, 1, 1, None, 0, None)  # launch


def line_of(mark, file=THIS):
    """The number of the line that ends in the mark."""
    lines = file.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("# " + mark))


def truth(mark, seconds, pid=None, file=THIS):
    """The result of a cause: plain values only, as the time to make it counts."""
    return mark, seconds, pid or os.getpid(), file


def run(cause, times):
    """wall_ms is elapsed time, including time taken by other programs of the machine."""
    inject, sum_s, begin = globals()[cause], 0, time.monotonic()
    for _ in range(times):
        launch()
        mark, took_s, pid, file = inject(0.3 / times)
        launch()
        sum_s += took_s
    wall_ms = (time.monotonic() - begin) * 1e3
    return {"line": line_of(mark, file), "pid": pid, "ms": sum_s * 1e3, "wall_ms": wall_ms, "launch": line_of("launch")}


def busy(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds: pass  # busy
    return truth("busy", time.thread_time() - begin)


def sleep(seconds):
    begin = time.monotonic()
    time.sleep(seconds)  # sleep
    return truth("sleep", time.monotonic() - begin)


def runnable_seconds():
    """How long this thread has waited for a CPU so far."""
    return int(pathlib.Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()[1]) / 1e9


def others_part(took_s, before_s):
    """Of another thread's or process's time, how long it alone kept this thread waiting at least: meanwhile this thread may
    have been without a CPU itself, which is a cause of its own.  before_s: runnable_seconds() when the other was asked."""
    return took_s - (runnable_seconds() - before_s)


class Helper:
    """A thread that runs a function on request; it has begun when ask returns."""

    def __init__(self):
        self.wanted, self.begun, self.took = None, threading.Event(), 0
        self.ready, self.asked = threading.Event(), threading.Event()
        threading.Thread(target=self.run, daemon=True, name="helper").start()

    def run(self):
        while True:
            self.asked.wait()
            self.asked.clear()
            self.took = self.wanted()
            self.ready.set()

    def ask(self, wanted):
        self.wanted = wanted
        self.begun.clear()
        self.ready.clear()
        self.asked.set()
        self.begun.wait()

    def answer(self):
        self.ready.wait()
        return self.took


HELPER = Helper()
LOCK = threading.Lock()


def lock(seconds):
    """Another thread holds a lock, and computes."""
    def hold():
        with LOCK:
            HELPER.begun.set()
            begin = time.thread_time()
            while time.thread_time() - begin < seconds: pass  # hold
            return time.thread_time() - begin
    before = runnable_seconds()
    HELPER.ask(hold)
    with LOCK:
        pass
    return truth("hold", others_part(HELPER.answer(), before))


def hold_back(seconds, release):
    """Another thread computes, then lets this one go on."""
    def compute():
        HELPER.begun.set()
        begin = time.thread_time()
        while time.thread_time() - begin < seconds: pass  # compute
        took = time.thread_time() - begin
        release()
        return took
    HELPER.ask(compute)


ITEMS = queues.Queue()


def item(seconds):
    before = runnable_seconds()
    hold_back(seconds, lambda: ITEMS.put(True))
    ITEMS.get()
    return truth("compute", others_part(HELPER.answer(), before))


def result(seconds):
    before, future = runnable_seconds(), concurrent.futures.Future()
    hold_back(seconds, lambda: future.set_result(True))
    future.result()
    return truth("compute", others_part(HELPER.answer(), before))


def loop(seconds):
    """An event loop with nothing to do; the task that goes on launches next."""
    begin = time.monotonic()
    asyncio.run(asyncio.sleep(seconds))
    return truth("launch", time.monotonic() - begin)


PYLIB = ctypes.PyDLL(None)


def gil(seconds):
    """Another thread calls C code that does not release the GIL, while this thread always wants it."""
    held = []

    def hold():
        HELPER.begun.set()
        begin = time.monotonic()
        held.append(True)
        PYLIB.usleep(int(seconds * 1e6))  # gil
        return time.monotonic() - begin
    before = runnable_seconds()
    HELPER.ask(hold)
    while not held: pass
    return truth("gil", others_part(HELPER.answer(), before))


KEPT = []


def garbage(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds: gc.collect()  # gc
    return truth("gc", time.thread_time() - begin)


def work(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds: pass  # work
    return time.thread_time() - begin


def serve(questions, answers):
    """A worker with two queues: its feeder thread, pipe and semaphores are between the working line and the waiter."""
    for seconds in iter(questions.get, None):
        answers.put((work(seconds), os.getpid()))


class Queues:
    process = None

    def ask(self, seconds):
        if not self.process:
            context = multiprocessing.get_context("fork")
            self.questions, self.answers = context.Queue(), context.Queue()
            self.process = context.Process(target=serve, args=(self.questions, self.answers), daemon=True)
            self.process.start()
        self.questions.put(seconds)
        return self.answers.get()


QUEUES = Queues()


def queue(seconds):
    before = runnable_seconds()
    took, pid = QUEUES.ask(seconds)
    return truth("work", others_part(took, before), pid)


TOKENIZER = """import sys, time
for line in sys.stdin:
    begin = time.thread_time()
    while time.thread_time() - begin < float(line): pass  # token
    print(time.thread_time() - begin, flush=True)
"""


class Tokenizer:
    process = None

    def ask(self, seconds):
        if not self.process:
            self.file = pathlib.Path(sys.argv[1]).with_name("tokenizer.py")
            self.file.write_text(TOKENIZER)
            self.process = subprocess.Popen([sys.executable, self.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True, bufsize=1)
        self.process.stdin.write(f"{seconds}\n")
        return float(self.process.stdout.readline())


PIPE = Tokenizer()


def tokenizer(seconds):
    before = runnable_seconds()
    took = PIPE.ask(seconds)
    return truth("token", others_part(took, before), PIPE.process.pid, PIPE.file)


REPLIER = """import sys, time, zmq
socket = zmq.Context().socket(zmq.REP)
socket.bind(sys.argv[1])
while True:
    seconds, begin = float(socket.recv()), time.thread_time()
    while time.thread_time() - begin < seconds: pass  # reply
    socket.send(str(time.thread_time() - begin).encode())
"""


class Replier:
    process = None

    def ask(self, seconds):
        import zmq
        if not self.process:
            self.file = pathlib.Path(sys.argv[1]).with_name("replier.py")
            self.file.write_text(REPLIER)
            address = f"ipc://{self.file.with_name('socket')}"
            self.process = subprocess.Popen([sys.executable, self.file, address])
            atexit.register(self.process.kill)
            self.socket = zmq.Context().socket(zmq.REQ)
            self.socket.connect(address)
        self.socket.send(str(seconds).encode())
        return float(self.socket.recv())


REPLIES = Replier()


def replier(seconds):
    """A ZeroMQ server: its threads, sockets and eventfds are between the working line and the waiter."""
    before = runnable_seconds()
    took = REPLIES.ask(seconds)
    return truth("reply", others_part(took, before), REPLIES.process.pid, REPLIES.file)


def fill(shared):
    """Sleeps between requests, as polling would need a CPU of its own."""
    while True:
        while not shared[0]:
            time.sleep(0.001)
        seconds, shared[0], begin = shared[0], 0, time.monotonic()
        while time.monotonic() - begin < seconds: time.sleep(0.0005)
        shared[1] = 1


class Shared:
    process = None

    def __init__(self):
        self.memory = multiprocessing.RawArray(ctypes.c_double, 2)

    def ask(self, seconds):
        if not self.process:
            self.process = multiprocessing.get_context("fork").Process(target=fill, args=(self.memory,), daemon=True)
            self.process.start()
        self.memory[1], self.memory[0] = 0, seconds


SHARED = Shared()


def spins(seconds):
    """A queue in shared memory, as in inference engines: the waiter spins."""
    SHARED.ask(seconds)
    begin = time.thread_time()
    while not SHARED.memory[1]: pass  # spin
    return truth("spin", time.thread_time() - begin)


LIBC = ctypes.CDLL(None, use_errno=True)
PAGE = 4096
USERFAULTFD, UFFD_USER_MODE_ONLY = 323, 1  # x86-64; linux/userfaultfd.h
UFFDIO_API, UFFDIO_REGISTER, UFFDIO_ZEROPAGE, UFFD_API, MISSING = 0xc018aa3f, 0xc020aa00, 0xc020aa04, 0xaa, 1


class Page:
    """A page that is missing until bring() is called: its first reader waits in a page fault."""

    def __init__(self):
        LIBC.mmap.restype, LIBC.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        LIBC.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self.faults = LIBC.syscall(USERFAULTFD, os.O_CLOEXEC | UFFD_USER_MODE_ONLY)
        self.address = LIBC.mmap(None, PAGE, 3, 0x22, -1, 0)
        self.ioctl(UFFDIO_API, UFFD_API, 0, 0)
        self.ioctl(UFFDIO_REGISTER, self.address, PAGE, MISSING, 0)

    def ioctl(self, number, *values):
        request = (ctypes.c_uint64 * len(values))(*values)
        if LIBC.ioctl(self.faults, ctypes.c_ulong(number), request):
            raise OSError(ctypes.get_errno(), "userfaultfd")

    def bring(self):
        self.ioctl(UFFDIO_ZEROPAGE, self.address, PAGE, 0, 0)


def fault(seconds):
    """A page fault as of a slow disk."""
    page, byte = Page(), ctypes.create_string_buffer(1)

    def bring():
        HELPER.begun.set()
        time.sleep(seconds)
        page.bring()
    HELPER.ask(bring)
    begin = time.monotonic()
    LIBC.memcpy(byte, page.address, 1)  # fault
    took = time.monotonic() - begin
    os.close(page.faults)
    return truth("fault", took)


class Quota:
    """A cgroup with a fifth of a CPU, with this thread in it (with cgroup v2, if that is used, this process)."""

    def __enter__(self):
        top = pathlib.Path("/sys/fs/cgroup")
        first, controller = (top / "cpu").exists(), ""
        if first:
            top, controller = top / "cpu", "cpu"
        lines = [line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
        self.old = top / next(path[1:] for _, names, path in lines if controller in names.split(","))
        self.folder = top / f"gputrace-blames-{os.getpid()}"
        self.folder.mkdir()
        if first:
            self.members, self.whose = "tasks", threading.get_native_id()
            (self.folder / "cpu.cfs_period_us").write_text("50000")
            (self.folder / "cpu.cfs_quota_us").write_text("10000")
            (self.folder / "cpu.shares").write_text("100000")  # more than tasks outside the group
        else:
            self.members, self.whose = "cgroup.procs", os.getpid()
            (self.folder / "cpu.max").write_text("10000 50000")
            (self.folder / "cpu.weight").write_text("10000")
        (self.folder / self.members).write_text(str(self.whose))

    def __exit__(self, *_):
        (self.old / self.members).write_text(str(self.whose))
        self.folder.rmdir()


def quota(seconds):
    with Quota():
        ran, begin = time.thread_time(), time.monotonic()
        while (now := time.monotonic()) - begin < seconds: pass  # quota
        took = now - begin - (time.thread_time() - ran)
    return truth("quota", took)


def stolen(seconds):
    """Another process shares this thread's only CPU and gets half of it."""
    cpus, thread = os.sched_getaffinity(0), threading.get_native_id()
    os.sched_setaffinity(thread, {min(cpus)})
    with subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE) as neighbour:
        neighbour.stdout.readline()
        launch()
        begin, before = time.thread_time(), runnable_seconds()
        while time.thread_time() - begin < seconds: pass  # stolen
        took = runnable_seconds() - before
        launch()
        neighbour.kill()
    os.sched_setaffinity(thread, cpus)
    return truth("stolen", took)


def main():
    """Starts all threads and processes before the first launch."""
    KEPT.extend([] for _ in range(100000))
    gc.disable()
    asked = [word.partition("*") for word in sys.argv[2:]]
    for cause, _, _ in asked:
        globals()[cause](0.001)
    found = {cause + star + times: run(cause, int(times or 1)) for cause, star, times in asked}
    pathlib.Path(sys.argv[1]).write_text(json.dumps(found))


main()
