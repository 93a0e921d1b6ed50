# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs commands, such as launches, from lines of standard input; answers each with "done".

obedient.py [LIBCUDART]: uses a real libcudart, or (no argument) the one that the loader finds, which
is the simulated one.  With "late" as argument it loads nothing before "load LIBCUDART".
CPython 3.6 to 3.15, standard library only.
"""

import ctypes
import os
import pathlib
import resource
import struct
import subprocess
import sys
import time
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
        """All threads run their own steps at the same time."""
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
        """Prints whether CUDA is initialised in this process, without initialising it."""
        count = ctypes.c_int()
        print("started", ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(count)) == 0, flush=True)

    def limit(self, name):
        """Sets a limit under which this process can make no more threads."""
        if name == "RLIMIT_AS":
            pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
            room = pages * resource.getpagesize() + (6 << 20)  # for the agent's file and for Python
            resource.setrlimit(resource.RLIMIT_AS, (room, room))
        else:
            os.setgid(65534)
            os.setuid(65534)
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

    def clock(self):
        """Prints this process's wall clock."""
        print("clock", time.time(), flush=True)

    def forget(self):
        gpu._counts.clear()

    def finish(self):
        gpu.check(gpu.device_sync())

    def truth(self, path):
        gpu.write_truth(path)

    def launch(self, kernel):
        """On the simulated GPU, where a kernel runs as long as its name says."""
        driver = ctypes.CDLL("libcuda.so.1")
        driver.sim_kernel.restype = ctypes.c_void_p
        gpu.check(gpu.launch(driver.sim_kernel(kernel.encode()), *gpu.SHAPE, None))

    def native(self, extension, count):
        """Launches through native.c."""
        extension = ctypes.CDLL(extension)
        extension.extension_forward(ctypes.cast(gpu.launch, ctypes.c_void_p), int(count))

    def run(self, *command):
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)

    def pipe_child(self, *command):
        """Starts a child that takes commands from this process."""
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.child.stdout.readline()

    def fork_child(self):
        """Forks a child that takes commands from this process, without exec."""
        to_child, to_us = os.pipe(), os.pipe()
        if not os.fork():
            os.dup2(to_child[0], 0)
            os.dup2(to_us[1], 1)
            for fd in (*to_child, *to_us):
                os.close(fd)
            self.__init__()  # threads do not survive a fork
            print("ready", os.getpid(), flush=True)
            return
        os.close(to_child[0])
        os.close(to_us[1])
        self.child = self
        self.stdin, self.stdout = os.fdopen(to_child[1], "w"), os.fdopen(to_us[0])
        print("child", self.stdout.readline().split()[1], flush=True)

    def fork_and_end(self):
        """Forks a child that exits; its pid is free again."""
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        print("child", child, flush=True)

    def vforks(self, count):
        """Children that share this process's memory until exec, as subprocess and posix_spawn make them."""
        for _ in range(int(count)):
            subprocess.run(["/bin/true"], check=True, close_fds=True, stdin=subprocess.DEVNULL)
            os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)

    def ask_child(self, *words):
        self.child.stdin.write(" ".join(words) + "\n")
        self.child.stdin.flush()
        self.child.stdout.readline()

    def allow_only(self, *numbers):
        """A seccomp filter for all threads, also of other tools: any other system call kills the process."""
        load, equal, end = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
        code = [(load, 0, 0, 0)]
        for i, number in enumerate(numbers):
            code.append((equal, len(numbers) - i, 0, int(number)))
        code += [(end, 0, 0, 0x80000000), (end, 0, 0, 0x7fff0000)]  # SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW
        text = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in code))
        program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(text)))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
        # SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC; its number on x86-64
        assert libc.syscall(317, 1, 1, program) == 0, os.strerror(ctypes.get_errno())

    def sleeper(self, name):
        """Starts a thread with that name that does nothing (PR_SET_NAME is 15)."""
        named, prctl = threading.Event(), ctypes.CDLL(None).prctl

        def sleep():
            prctl(15, name.encode(), 0, 0, 0)
            named.set()
            threading.Event().wait()
        threading.Thread(target=sleep, daemon=True).start()
        named.wait()

    def set_clock(self, library, seconds):
        """Sets the wall clock that programs/set_clock.c shows this process."""
        ctypes.CDLL(library).set_clock(ctypes.c_long(int(seconds)))

    def title(self, text):
        """Overwrites the arguments of this process, as setproctitle does."""
        fields = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5)
        ctypes.memmove(start, text.encode().ljust(end - start, b"\0"), end - start)

    def become(self, *command):
        """Executes another program in this process."""
        os.execv(command[0], command)


    def leave(self):
        """Ends the first thread; another one takes the commands."""
        first = pathlib.Path("/proc/self/task", str(os.getpid()), "stat")

        def go_on():
            while first.read_text().rpartition(")")[2].split()[0] != "Z":
                pass
            print("done leave", flush=True)
            obey(self)
            os._exit(0)
        threading.Thread(target=go_on).start()
        ctypes.CDLL(None).pthread_exit(None)


def obey(work):
    for line in iter(sys.stdin.readline, ""):
        verb, *words = line.split()
        getattr(work, verb)(*words)
        print("done", verb, flush=True)


def main():
    if len(sys.argv) == 1:
        gpu.setup(record=True)
    elif sys.argv[1] != "late":
        gpu.setup(sys.argv[1], record=True, fake_kernels=True)
    work = Work()
    print("ready", os.getpid(), flush=True)
    obey(work)


if __name__ == "__main__":
    main()
