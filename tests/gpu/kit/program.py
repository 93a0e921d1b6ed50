# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that run beside a check: a PyTorch program that runs commands, and gputrace.  Interprets no trace.

Nothing here has a time-out of its own: the runner kills a check that takes too long, with its processes.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import logged
import place

DONE = "done "
PATIENCE_S = 20  # GPU times begin within a second or two

ENVIRONMENT = {
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # makes cuBLAS deterministic (its documentation)
    "PYTHONHASHSEED": "0",
}
DROPPED = ("CUDA_INJECTION64_PATH", "GPUTRACE_AGENT")


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    return {**kept, **ENVIRONMENT, **more}


def torch_words():
    return [sys.executable, "-B", str(place.PROGRAMS / "obedient_torch.py")]


class Torch:
    """programs/obedient_torch.py, started directly or by a command such as gputrace."""

    def __init__(self, *before, **environment_more):
        words = [str(word) for word in before] + torch_words()
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None,
                                        universal_newlines=True, bufsize=1, env=environment(**environment_more))
        self.missing = {}
        self.pid = self.answer()["pid"]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def send(self, *words):
        """Sends a command and does not wait for the answer."""
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()

    def answer(self):
        for text in self.process.stdout:
            if text.startswith(DONE):
                return json.loads(text[len(DONE):])
            print(text, end="", flush=True)
        raise RuntimeError(f"the program ended ({self.process.wait()}) and should have answered")

    def ask(self, *words):
        self.send(*words)
        return self.answer()

    def make(self, *kinds):
        """Prepares kinds of work; returns the available ones."""
        self.missing.update(self.ask("make", *kinds))
        return [kind for kind in kinds if kind not in self.missing]

    def probe(self, function, *arguments):
        return self.ask("probe", place.CUPTI_PROBE, function, *arguments)

    def end(self):
        """Lets it exit; returns (exit status of it or of the command that started it, rest of the output)."""
        self.process.stdin.close()
        rest = self.process.stdout.read()
        print(rest, end="", flush=True)
        return self.process.wait(), rest


class Trace:
    """A gputrace in the background; the constructor waits for its probes.  Writes trace.gpt and trace.json."""

    def __init__(self, folder, *arguments):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.messages = []
        words = [place.GPUTRACE, "-v", "-o", self.folder / "trace.gpt", "-o", self.folder / "trace.json", *arguments]
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                        stdout=open(self.folder / "report", "wb"), stderr=subprocess.PIPE,
                                        universal_newlines=True, env=environment())
        for text in self.process.stderr:
            self.messages.append(text)
            if "gputrace: tracing" in text:
                return
        raise RuntimeError(f"gputrace ended ({self.process.wait()}): {''.join(self.messages)}")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.stop()
        self.process.stderr.close()

    def logged(self, condition):
        """Whether the condition holds for the log so far."""
        return any(condition(log) for log in self.folder.glob("trace.gpt.part-*"))

    def work_until(self, condition, torch, kind, most_s=PATIENCE_S):
        """Makes the program work, without a mark, until the condition holds for the log.  False: it never did."""
        end = time.monotonic() + most_s
        while time.monotonic() < end:
            torch.ask("run-for", 0.3, kind)
            if self.logged(condition):
                return True
        return False

    def wait_looks(self, looks=4, most_s=PATIENCE_S):
        """Waits until the agent has reported its totals `looks` more times: 4 take a second.  False: it never did."""
        end, before = time.monotonic() + most_s, sum(map(logged.totals_reported, self.folder.glob("trace.gpt.part-*")))
        while time.monotonic() < end:
            if self.logged(lambda log: logged.totals_reported(log) >= before + looks):
                return True
            time.sleep(0.05)
        return False

    def wait_for_gpu_times(self, torch, kind, most_s=PATIENCE_S):
        return self.work_until(logged.has_kernel, torch, kind, most_s)

    def stop(self):
        """Ends gputrace; returns its exit status."""
        self.process.send_signal(signal.SIGINT)
        self.messages += self.process.stderr.readlines()
        status = self.process.wait()
        print("".join(self.messages), self.report(), flush=True)
        return status

    def report(self):
        return (self.folder / "report").read_text(encoding="utf-8", errors="replace")


def traced_command(folder):
    """The words that start a command under gputrace, with the same outputs."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    return [place.GPUTRACE, "-o", folder / "trace.gpt", "-o", folder / "trace.json", "--"]
