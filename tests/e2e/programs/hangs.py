# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program that hangs in one of many ways, and prints which thread is to blame.

hangs.py KIND [FOLDER]: prints "ready" with a line of JSON, {"role": [pid, tid]}, when every thread is about to hang.
KIND "moves" measures its own pauses.  A line with `# at ROLE` is where that thread hangs.
CPython 3.6 and later, standard library only.
"""

import ctypes
import json
import multiprocessing
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

LIBC = ctypes.CDLL(None)
FORKED = multiprocessing.get_context("fork")  # no process that keeps track of resources
FOREVER_S = 100000
ENDLESS = "endless_100000000000us"
roles = {}


def tid():
    return LIBC.syscall(186)  # gettid


def here(role):
    roles[role] = [os.getpid(), tid()]


def ready():
    print(json.dumps(roles), flush=True)


def thread(function):
    started = threading.Thread(target=function, daemon=True)
    started.start()
    return started


def sleep():
    time.sleep(FOREVER_S)


def until(condition):
    while not condition():
        time.sleep(0.01)


def cycle():
    first, second, both = threading.Lock(), threading.Lock(), threading.Barrier(3)

    def one():
        here("one")
        with first:
            both.wait()
            with second:  # at one
                pass

    def two():
        here("two")
        with second:
            both.wait()
            with first:  # at two
                pass

    threads = [thread(one), thread(two)]
    both.wait()
    ready()
    threads[0].join()


def holder():
    lock, held = threading.Lock(), threading.Event()

    def keeps():
        here("holder")
        with lock:
            held.set()
            sleep()  # at holder

    thread(keeps)
    held.wait()
    here("waiter")
    ready()
    with lock:  # at waiter
        pass


def reentrant():
    lock, held = threading.RLock(), threading.Event()

    def keeps():
        here("holder")
        lock.acquire()
        held.set()
        sleep()

    thread(keeps)
    held.wait()
    here("waiter")
    ready()
    lock.acquire()  # at waiter


def itself():
    """A finalizer takes the lock that is held while its object dies."""
    lock = threading.Lock()

    class Dies:
        def __del__(self):
            with lock:  # at waiter
                pass

    here("waiter")
    ready()
    dying = [Dies()]
    with lock:
        dying.clear()


def gil():
    def keeps():
        here("holder")
        ctypes.PyDLL(None).sleep(FOREVER_S)  # at holder

    def wants():
        here("waiter")
        ready()
        while True:
            ready_to_wait.set()
            sum(range(1000))

    ready_to_wait = threading.Event()
    here("holder")
    thread(wants)
    ready_to_wait.wait()
    keeps()


def stopped():
    """A stopped child, like a DataLoader's worker: its parent waits for its data."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.close(reads)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.write(writes, b"work")
        os._exit(0)
    os.close(writes)
    os.waitpid(child, os.WUNTRACED)
    roles["worker"] = [child, child]
    here("waiter")
    ready()
    os.read(reads, 1)  # at waiter


def pipe():
    """The child writes more than a pipe holds to its parent, which waits for its exit."""
    child = subprocess.Popen([sys.executable, "-c", "import os\nos.write(1, b'x' * (1 << 20))"], stdout=subprocess.PIPE)
    roles["child"] = [child.pid, child.pid]
    here("waiter")
    ready()
    child.wait()  # at waiter


def zombie():
    """The child that should write has ended; the waiting parent itself keeps the pipe's write end open."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os._exit(3)
    until(lambda: open("/proc/%d/stat" % child).read().rsplit(")", 1)[1].split()[0] == "Z")
    roles["child"] = [child, child]
    here("waiter")
    ready()
    os.read(reads, 1)  # at waiter
    os.close(writes)


def mutex():
    """A mutex whose owner has ended."""
    mutex = ctypes.create_string_buffer(64)

    def takes():
        here("owner")
        LIBC.pthread_mutex_lock(mutex)

    thread(takes).join()
    here("waiter")
    ready()
    LIBC.pthread_mutex_lock(mutex)  # at waiter


def owned():
    """A mutex of the C library that another thread holds."""
    mutex, held = ctypes.create_string_buffer(64), threading.Event()

    def takes():
        here("owner")
        LIBC.pthread_mutex_lock(mutex)
        held.set()
        sleep()

    thread(takes)
    held.wait()
    here("waiter")
    ready()
    LIBC.pthread_mutex_lock(mutex)  # at waiter


def forked():
    """In a forked child: a lock that another thread of the parent held at the fork."""
    lock, held = threading.Lock(), threading.Event()

    def keeps():
        with lock:
            held.set()
            sleep()

    thread(keeps)
    held.wait()
    child = os.fork()
    if not child:
        here("waiter")
        ready()
        with lock:  # at waiter
            pass
    os.waitpid(child, 0)


def empty():
    here("waiter")
    ready()
    queue.Queue().get()  # at waiter


def barrier():
    few = threading.Barrier(3)
    here("waiter")
    thread(few.wait)
    ready()
    few.wait()  # at waiter


def event():
    here("waiter")
    ready()
    threading.Event().wait()  # at waiter


def imports():
    """A module that, while it is imported, waits for a thread that imports it."""
    folder = sys.argv[2]
    with open(os.path.join(folder, "ring.py"), "w") as out:
        out.write("import threading\nimport __main__\n"
                  "def work():\n    __main__.here('worker')\n    __main__.ready()\n    import ring\n    ring.x\n"
                  "worker = threading.Thread(target=work, daemon=True)\nworker.start()\nworker.join()\n")
    sys.path.insert(0, folder)
    here("waiter")
    import ring  # noqa: F401  # at waiter


def sockets():
    mine, other = socket.socketpair()
    child = os.fork()
    if not child:
        mine.close()
        sleep()
    other.close()
    roles["child"] = [child, child]
    here("waiter")
    ready()
    mine.recv(1)  # at waiter


def tcp():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(1)
    child = os.fork()
    if not child:
        server.accept()[0].recv(1)
    mine = socket.create_connection(server.getsockname())
    server.close()
    roles["child"] = [child, child]
    here("waiter")
    ready()
    mine.recv(1)  # at waiter


def sigstop():
    here("waiter")
    ready()
    os.kill(os.getpid(), signal.SIGSTOP)  # at waiter


def parked():
    """A lock of another library, whose value -1 means that a thread waits."""
    word = ctypes.c_int32(-1)
    here("waiter")
    ready()
    LIBC.syscall(202, ctypes.byref(word), 128, -1, None)  # futex, FUTEX_WAIT_PRIVATE  # at waiter


def endless():
    """A sleep until a time that never comes."""
    until = (ctypes.c_long * 2)(1 << 47, 0)
    here("waiter")
    ready()
    LIBC.syscall(230, 1, 1, until, None)  # clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME  # at waiter


def forgets():
    """A poll of a pipe; after the kernel has copied the pollfd, its memory is overwritten."""
    reads, _ = os.pipe()
    polled = (ctypes.c_int * 2)(reads, 1)  # struct pollfd: fd, events POLLIN
    own = LIBC.syscall(186)  # gettid
    here("waiter")

    def reuse():
        while not open(f"/proc/self/task/{own}/syscall").read().startswith("7 "):
            time.sleep(0.01)
        polled[0] = 0x49434741
        ready()

    threading.Thread(target=reuse, daemon=True).start()
    LIBC.syscall(7, polled, 1, -1)  # poll  # at waiter


def sleeps():
    """Sleeps; a test may freeze its cgroup."""
    here("waiter")
    ready()
    sleep()  # at waiter


def coroutine():
    import asyncio

    async def waits():
        here("waiter")
        ready()
        await asyncio.get_event_loop().create_future()

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(waits())  # at waiter


def tasks():
    """Tasks of a loop in a named thread.  A second line has {"role": [id, id of the awaited object, name]} of each."""
    import asyncio
    made, awaited = {}, {"one": "two", "two": "one", "itself": "itself", "gather": "event", "limit": "event"}

    async def main():
        loop = asyncio.get_event_loop()
        lock, flag, items, few = asyncio.Lock(), asyncio.Event(), asyncio.Queue(), asyncio.Semaphore(0)
        changed = asyncio.Condition()

        async def future():
            async def inner():
                await loop.create_future()  # at future

            await inner()

        async def wants_lock():
            async with lock:  # at lock
                pass

        async def event():
            await flag.wait()  # at event

        async def queue():
            await items.get()  # at queue

        async def join():
            await items.join()  # at join

        async def semaphore():
            await few.acquire()  # at semaphore

        async def condition():
            async with changed:
                await changed.wait()  # at condition

        async def sleeps():
            await asyncio.sleep(FOREVER_S)  # at sleep

        async def one():
            await made["two"]  # at one

        async def two():
            await made["one"]  # at two

        async def itself():
            await asyncio.gather(asyncio.current_task())  # at itself

        async def gather():
            await asyncio.gather(made["event"], made["queue"])  # at gather

        async def limit():
            await asyncio.wait_for(made["event"], FOREVER_S)  # at limit

        async def numbers():
            yield 1
            await loop.create_future()  # at generator

        async def generator():
            async for _ in numbers():
                pass

        await lock.acquire()
        items.put_nowait(0)
        items.get_nowait()
        for role, function in {"future": future, "lock": wants_lock, "event": event, "queue": queue, "join": join,
                               "semaphore": semaphore, "condition": condition, "sleep": sleeps, "one": one, "two": two,
                               "itself": itself, "gather": gather, "limit": limit, "generator": generator}.items():
            made[role] = loop.create_task(function())
        if sys.version_info >= (3, 12):
            made["eager"] = asyncio.Task(future(), loop=loop, eager_start=True)
        made["unnamed"] = loop.create_task(future())
        if sys.version_info >= (3, 8):
            for role in made:
                if role != "unnamed":
                    made[role].set_name("the " + role)
        while not all(task._fut_waiter for task in made.values()):
            await asyncio.sleep(0.01)
        made["main"] = asyncio.current_task()
        here("waiter")
        ready()
        print(json.dumps({role: [id(task), id(made[awaited[role]]) if role in awaited else None,
                                 task.get_name() if sys.version_info >= (3, 8) and role != "unnamed" else None]
                          for role, task in made.items()}), flush=True)
        await loop.create_future()  # at main

    def runs():
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.run_until_complete(main())  # at waiter

    started = threading.Thread(target=runs, name="a loop's thread", daemon=True)
    started.start()
    started.join()


def lying_tasks():
    """More tasks than gputrace lists, and objects of asyncio with false counts and lengths.  CPython 3.8 to 3.13."""
    import asyncio

    def lie(thing, at, value):
        ctypes.c_uint64.from_address(id(thing) + at).value = value

    async def main():
        loop = asyncio.get_event_loop()
        several = [loop.create_future() for _ in range(3)]
        made = [loop.create_task(asyncio.wait_for(loop.create_future(), FOREVER_S)) for _ in range(5000)]
        gathers = loop.create_task(asyncio.wait({asyncio.gather(*several)}))
        made[0].set_name("x" * 1000 + "\x1b[2J")
        made[1].set_name("y" * 1000)
        await asyncio.sleep(0)
        for thing in (made[1].get_name(), threading.current_thread().name):
            lie(thing, 16, 1 << 40)  # length of a str
        lie(several[0].get_loop().__dict__, 16, 1 << 60)
        lie(gathers.get_coro().cr_frame.f_locals, 16, 1 << 60)
        for name in ("_all_tasks", "_scheduled_tasks"):
            if hasattr(asyncio.tasks, name):
                lie(getattr(asyncio.tasks, name).data, 32, (1 << 60) - 1)  # mask of a set
        here("waiter")
        ready()
        sleep()  # at waiter

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(main())


def launch(kernel, stream=None):
    """Launches on the simulated GPU; returns the CUDA runtime."""
    driver, runtime = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcudart.so.13")
    driver.sim_kernel.restype = ctypes.c_void_p
    shape = type("Shape", (ctypes.Structure,), {"_fields_": [(axis, ctypes.c_uint) for axis in "xyz"]})(1, 1, 1)
    runtime.cudaLaunchKernel(ctypes.c_void_p(driver.sim_kernel(kernel.encode())), shape, shape, None,
                             ctypes.c_size_t(0), stream)
    return runtime


def cuda():
    """A kernel that never ends, or has a given duration, on the simulated GPU."""
    runtime = launch(sys.argv[2] if sys.argv[2:] else ENDLESS)
    here("waiter")
    ready()
    runtime.cudaDeviceSynchronize()  # at waiter


def cuda_event():
    """An event after a kernel that never ends."""
    runtime, event = launch(ENDLESS), ctypes.c_void_p()
    runtime.cudaEventCreate(ctypes.byref(event))
    runtime.cudaEventRecord(event, None)
    here("waiter")
    ready()
    runtime.cudaEventSynchronize(event)  # at waiter


def cuda_stream():
    """A stream that waits for an event of another stream, whose kernel never ends."""
    runtime, event, streams = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p(), (ctypes.c_void_p * 2)()
    for at in range(2):
        runtime.cudaStreamCreate(ctypes.byref(streams, at * ctypes.sizeof(ctypes.c_void_p)))
    first, second = map(ctypes.c_void_p, streams)
    runtime.cudaEventCreate(ctypes.byref(event))
    launch(ENDLESS, first)
    runtime.cudaEventRecord(event, first)
    runtime.cudaStreamWaitEvent(second, event, 0)
    here("waiter")
    ready()
    runtime.cudaStreamSynchronize(second)  # at waiter


def no_memory():
    """A worker gets no memory and ends; the thread that waits for its result stays."""
    items, failed = queue.Queue(), []

    def works():
        try:
            items.put(bytearray(1 << 40))
        except MemoryError:
            failed.append(True)

    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    thread(works).join()
    assert failed
    here("waiter")
    ready()
    items.get()  # at waiter


def reclaim():
    """Its cgroup has no memory left.  sys.argv[2]: the cgroup's file to which it writes its pid."""
    with open(sys.argv[2], "w") as members:
        members.write(str(os.getpid()))
    here("waiter")
    ready()
    kept = []
    while True:
        kept.append(b"x" * (1 << 20))  # at waiter


def deep():
    def recurse(n):
        if n:
            recurse(n - 1)
        else:
            here("waiter")
            ready()
            sleep()

    sys.setrecursionlimit(3000)
    recurse(900)


def variables():
    def sleeps_with(small, negative, large, yes, no, ratio, nothing, text, long_text, numbers, pair, table, few, thing):
        ready()
        sleep()
        not_set = 1  # noqa: F841

    here("waiter")
    sleeps_with(7, -(1 << 40), 1 << 100, True, False, -0.5, None, "gr\u00f6\u00dfe\n", "x" * 1000, [1, 2, 3], (1, 2), {1: 2},
                {1, 2}, threading.Event())


def moves():
    """Works; a second thread measures its longest time without running."""
    longest = [0.0]

    def watches():
        before = time.perf_counter()
        while True:
            now = time.perf_counter()
            longest[0] = max(longest[0], now - before)
            before = now
            time.sleep(0)

    thread(watches)
    here("worker")
    ready()
    for line in sys.stdin:
        print(longest[0], flush=True)
        longest[0] = 0.0


def twice():
    """Hangs; a line of input lets it continue to a second hang, another line lets it end."""
    lock = threading.Lock()
    lock.acquire()

    def lets_go():
        for _ in range(2):
            sys.stdin.readline()
            lock.release()

    thread(lets_go)
    here("waiter")
    ready()
    lock.acquire()
    lock.acquire()


def idle():
    """Waits for external input, sleeps, or computes at one line, each for longer than the limit of the test, after a line
    of input."""
    seconds = float(sys.argv[3])
    here("waiter")
    ready()
    sys.stdin.readline()
    if sys.argv[2] == "server":
        server = socket.socket()
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        server.settimeout(seconds)
        try:
            server.accept()
        except socket.timeout:
            return
    elif sys.argv[2] == "steps":
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.2)
    elif sys.argv[2] == "child":
        subprocess.check_call([sys.executable, "-c", "import sys, time; end = time.time() + float(sys.argv[1])\n"
                               "while time.time() < end: pass", str(seconds)])
    else:
        end = time.monotonic() + seconds
        all(time.monotonic() < end for _ in iter(int, 1))


def wakes():
    """Sleeps repeatedly at one line, while another thread is in one long sleep."""
    def keeps():
        here("keeper")
        sleep()  # at keeper

    thread(keeps)
    until(lambda: "keeper" in roles)
    here("waiter")
    ready()
    while True:
        time.sleep(0.05)  # at waiter


def cuda_steps():
    """A call of a library like CUDA's that sleeps repeatedly.  sys.argv[2]: the library."""
    library = ctypes.CDLL(sys.argv[2])
    here("waiter")
    ready()
    library.cudaStreamSynchronize(None)  # at waiter


def exits():
    """The program is over, but for a thread that is no daemon; another one is."""
    def works():
        here("worker")
        sleep()  # at worker

    thread(sleep)
    threading.Thread(target=works).start()
    until(lambda: "worker" in roles)
    here("waiter")
    ready()


def mp_lock():
    lock = FORKED.Lock()
    lock.acquire()
    here("waiter")
    ready()
    with lock:  # at waiter
        pass


def mp_acquire():
    """Each kind of lock is waited for in acquire(), which is no Python function."""
    def waits(role, lock):
        here(role)
        lock.acquire()  # at lock

    taken, again, few = FORKED.Lock(), FORKED.RLock(), FORKED.Semaphore(0)
    taken.acquire()
    again.acquire()
    for role, lock in {"lock": taken, "rlock": again, "semaphore": few}.items():
        thread(lambda role=role, lock=lock: waits(role, lock))
    until(lambda: len(roles) == 3)
    here("waiter")
    ready()
    sleep()  # at waiter


def mp_semaphore():
    semaphore = FORKED.Semaphore(0)
    here("waiter")
    ready()
    with semaphore:  # at waiter
        pass


def mp_event():
    event = FORKED.Event()
    here("waiter")
    ready()
    event.wait()  # at waiter


def mp_barrier():
    barrier = FORKED.Barrier(2)
    here("waiter")
    ready()
    barrier.wait()  # at waiter


def polls():
    """Looks from time to time for a file that never comes."""
    here("waiter")
    ready()
    while not os.path.exists("/nowhere"):
        time.sleep(0.01)  # at waiter


def rendezvous():
    """Polls a store for the other ranks, in a function of PyTorch's name.  sys.argv[2]: a folder."""
    folder = os.path.join(sys.argv[2], "torch", "distributed")
    path = os.path.join(folder, "distributed_c10d.py")
    os.makedirs(folder)
    with open(path, "w") as out:
        out.write("import time\ndef init_process_group():\n    while True:\n        time.sleep(0.01)\n")
    names = {}
    with open(path) as code:
        exec(compile(code.read(), path, "exec"), names)
    here("waiter")
    ready()
    names["init_process_group"]()  # at waiter


def join_polls():
    """Waits for a thread's end with a time-out, again and again; the thread waits for an item that never comes."""
    def works():
        here("worker")
        queue.Queue().get()  # at worker

    worker = thread(works)
    until(lambda: "worker" in roles)
    here("waiter")
    ready()
    while worker.is_alive():
        worker.join(0.05)  # at waiter


def outer(pool, together, role, wait):
    """Work of a pool that hands over more work to the same pool, and waits for it."""
    here(role)
    together.wait()
    wait(pool.submit(int) if hasattr(pool, "submit") else pool.apply_async(int))


def pool():
    """Both threads of a pool wait for what is in the pool's queue; the main thread waits for one of them."""
    from concurrent.futures import ThreadPoolExecutor, wait
    all_three = threading.Barrier(3)
    executor = ThreadPoolExecutor(2, "few threads")
    first = executor.submit(outer, executor, all_three, "one", lambda future: future.result())  # at one
    executor.submit(outer, executor, all_three, "two", lambda future: wait([future]))  # at two
    all_three.wait()
    here("waiter")
    ready()
    first.result()  # at waiter


def pool_computes():
    """A pool's thread works, while its queue has a Future for which another thread waits."""
    from concurrent.futures import ThreadPoolExecutor
    executor, begun = ThreadPoolExecutor(1, "few threads"), threading.Event()

    def works():
        here("worker")
        begun.set()
        sleep()  # at worker

    def waits(future):
        here("other")
        future.result()  # at other

    works_on = executor.submit(works)
    begun.wait()
    thread(lambda: waits(executor.submit(int)))
    until(lambda: "other" in roles)
    here("waiter")
    ready()
    works_on.result()  # at waiter


def mp_pool():
    """The only thread of a pool of multiprocessing waits for its own pool."""
    from multiprocessing.pool import ThreadPool
    both, few = threading.Barrier(2), ThreadPool(1)
    result = few.apply_async(outer, (few, both, "one", lambda inner: inner.get()))  # at one
    both.wait()
    here("waiter")
    ready()
    result.get()  # at waiter


def crowd_at_lock():
    """Threads that have nothing to do with the lock, its holder, then as many that wait for it."""
    count, there, lock = int(sys.argv[2]), threading.Semaphore(0), threading.Lock()

    def idles(event):
        there.release()
        event.wait()  # at idle

    def keeps():
        here("holder")
        with lock:
            there.release()
            sleep()  # at holder

    def waits():
        there.release()
        with lock:  # at waiter
            pass

    def many(function, number):
        for _ in range(number):
            threading.Thread(target=function, daemon=True).start()
        for _ in range(number):
            there.acquire()

    threading.stack_size(256 << 10)
    event = threading.Event()
    many(lambda: idles(event), count)
    many(keeps, 1)
    many(waits, count)
    here("main")
    ready()
    sleep()


def crowd():
    count, all_there = int(sys.argv[2]), threading.Semaphore(0)

    def one(depth):
        if depth:
            return one(depth - 1)
        all_there.release()
        return sleep()

    threading.stack_size(256 << 10)
    for _ in range(count):
        threading.Thread(target=one, args=(20,), daemon=True).start()
    for _ in range(count):
        all_there.acquire()
    here("waiter")
    ready()
    sleep()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
