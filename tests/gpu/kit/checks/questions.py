# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Questions about CUPTI and the driver that no document answers: each gets yes or no, and what was seen."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import time

import place
import traces
from program import Torch, Trace, environment

KERNELS, EVERY_CALLBACK = 1, 16  # enum mode of cupti_probe.c
MULTIPLE_SUBSCRIBERS = 39  # CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
LAUNCH_IDS = {"runtime 211": "cudaLaunchKernel", "runtime 214": "cudaLaunchKernel_ptsz",
              "runtime 430": "cudaLaunchKernelExC", "runtime 505": "__cudaLaunchKernel",
              "runtime 506": "__cudaLaunchKernel_ptsz", "driver 307": "cuLaunchKernel", "driver 652": "cuLaunchKernelEx"}


def yes_or_no(answer):
    return "yes" if answer else "no"


def correlation(bench, torch, path):
    started = torch.probe("probe_start", path, str(KERNELS))
    torch.ask("idle", 5, "small")
    seen = torch.probe("probe_stop")
    answer = seen["kernels"] > 0 and seen["correlated"] == seen["kernels"] == seen["distinct"]
    bench.found_on_silicon("correlation ids by kernel records alone", f"{yes_or_no(answer)}: {seen['correlated']} of "
                           f"{seen['kernels']} records have one, {seen['distinct']} different", seen["kernels"] > 0,
                           started=started, seen=seen)


def launch_ids(bench, torch, path):
    started = torch.probe("probe_start", path, str(EVERY_CALLBACK))
    torch.ask("idle", 1, "training", "small")
    seen = torch.probe("probe_stop")
    found = {key: count for key, count in seen["callbacks"].items() if key in LAUNCH_IDS}
    bench.found_on_silicon("callback ids of PyTorch's launches", ", ".join(
        f"{key} ({LAUNCH_IDS[key]}) {count} times" for key, count in found.items()) or "none", bool(found),
        started=started, seen=seen)


def two_copies(bench, torch, path):
    copy = bench.folder / "another" / os.path.basename(path)
    copy.parent.mkdir()
    shutil.copy(path, copy)
    seen = torch.probe("probe_second", path, str(copy))
    refused = seen.get("second") == MULTIPLE_SUBSCRIBERS
    bench.found_on_silicon("a second copy of libcupti sees the first's", f"{yes_or_no(refused)}: it answers "
                           f"{seen.get('second')} to a subscriber", seen.get("second") is not None, seen=seen)


def major_of(path):
    found = re.search(r"libcupti\.so\.(\d+)", path)
    return found and found[1] if found and int(found[1]) < 1000 else None


def another_major(bench, torch, path):
    what = "a libcupti of another CUDA subscribes"
    others = [other for other in bench.facts["every_cupti"] if major_of(other) not in (None, major_of(path))]
    if not others:
        verdict = "needs silicon" if bench.simulated else "skipped"
        bench.found(what, "there is none on this machine", verdict, every=bench.facts["every_cupti"])
        return
    seen = torch.probe("probe_start", others[0], str(KERNELS))
    torch.ask("idle", 5, "small")
    records = torch.probe("probe_stop") if seen["result"] == 0 else {"kernels": 0}
    bench.found_on_silicon(what, f"{yes_or_no(seen['result'] == 0)}: {seen['result']}, {records['kernels']} records "
                           f"({others[0]})", True, seen=seen, records=records)


def first_record(bench, torch, path):
    seen = torch.probe("probe_first_record", path)
    bench.found_on_silicon("from subscribing to the first record", f"{seen.get('record_us', 0) / 1e3:.1f} ms, of them "
                           f"{seen.get('ready_us', 0) / 1e3:.1f} ms until it records", seen.get("records", 0) > 0, seen=seen)


def idle_subscriber(bench, torch, path):
    seconds = bench.size(20, 2)
    held = torch.probe("probe_hold", path)["result"]
    time.sleep(seconds)  # the question is about idle time
    released = torch.probe("probe_release")["result"]
    again = torch.probe("probe_hold", path)["result"]
    torch.probe("probe_release")
    good = held == released == again == 0
    bench.found_on_silicon("a subscriber leaves after idle time", f"{yes_or_no(good)}: after {seconds} s CUPTI answers "
                           f"{released}, and {again} to the next (half an hour was not tried)", good)


def cupti(bench):
    path = bench.facts["cupti"]
    with Torch() as torch:
        torch.make("small", "training")
        for question in (correlation, launch_ids, first_record, idle_subscriber, two_copies, another_major):
            question(bench, torch, path)
        torch.end()


def driver_entry(bench):
    """gputrace probes libcuda's functions ten bytes in, at a jump that is cheap to probe."""
    library = ctypes.CDLL("libcuda.so.1")
    heads = {name: ctypes.string_at(ctypes.cast(getattr(library, name), ctypes.c_void_p).value, 16)
             for name in ("cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch", "cuMemcpyHtoDAsync_v2")
             if hasattr(library, name)}
    known = [name for name, head in heads.items() if head[:2] == b"\x81\x3d" and head[10] == 0x74]  # cmpl, je
    bench.found_on_silicon("libcuda begins with cmpl and je", f"{yes_or_no(len(known) == len(heads))}: {len(known)} of "
                           f"{len(heads)} functions ({heads['cuLaunchKernel'].hex()})", True,
                           heads={name: head.hex() for name, head in heads.items()})
    program = "import ctypes, sys; [ctypes.CDLL(path) for path in sys.argv[1:]]; print('ready', flush=True); input()"
    words = [sys.executable, "-c", program, "libcuda.so.1", bench.facts["cudart"]]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True,
                          env=environment()) as loaded:
        loaded.stdout.readline()
        said = subprocess.run([place.GPUTRACE, "doctor", "-p", str(loaded.pid)], stdout=subprocess.PIPE,
                              universal_newlines=True, check=False).stdout
        loaded.stdin.close()
    sites = [tuple(map(int, found)) for found in re.findall(r"(\d+) probe sites, (\d+) launch, (\d+) slow", said)]
    bench.found("probe sites of this driver and runtime", ", ".join(f"{all_sites} sites, {launch} launch, {slow} slow"
                                                                    for all_sites, launch, slow in sites),
                len(sites) == 2 and all(launch for _, launch, _ in sites), doctor=said)


def wait_for_daemon(control, env):
    """Waits until it answers, or 10 s. If it never does, the program that uses it fails."""
    end = time.monotonic() + 10
    while time.monotonic() < end and subprocess.run(control, input="get_server_list\n", universal_newlines=True, env=env,
                                                    stdout=subprocess.DEVNULL, check=False, timeout=15).returncode:
        time.sleep(0.1)


def mps(bench):
    """Uses a separate daemon with its own folders, so that other users of the GPU are not affected."""
    what = "attach to a client of MPS"
    if not bench.facts["mps_control"]:
        bench.found(what, "no nvidia-cuda-mps-control on this machine", "skipped")
        return
    variables = {}
    for name in ("PIPE", "LOG"):
        folder = bench.folder / f"mps-{name.lower()}"
        folder.mkdir()
        variables[f"CUDA_MPS_{name}_DIRECTORY"] = str(folder)
    control = [bench.facts["mps_control"]]
    daemon = subprocess.Popen([*control, "-f"], stdin=subprocess.DEVNULL, env=environment(**variables))
    try:
        wait_for_daemon(control, environment(**variables))
        with Torch(**variables) as torch:
            torch.make("small")
            with Trace(bench.folder / "trace", "-p", torch.pid) as trace:
                came = trace.wait_for_gpu_times(torch, "small")
                torch.ask("run", 5, "small")
                trace.stop()
            torch.end()
    finally:
        subprocess.run(control, input="quit -t 5\n", universal_newlines=True, env=environment(**variables), check=False,
                       timeout=15)
        daemon.kill()
        daemon.wait()
    launches, timed = traces.launches_under(traces.load(bench.folder / "trace/trace.json"), "marked_steps")
    bench.found(what, f"{yes_or_no(came)}: {timed} of {launches} launches have GPU times", came and timed == launches > 0,
                messages=trace.messages)
