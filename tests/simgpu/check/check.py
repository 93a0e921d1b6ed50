"""Tests of the simulated GPU itself. Run by `make simgpu-check`; --build names its folder."""

import argparse
import collections
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SIM = os.path.dirname(HERE)
WORKLOADS = os.path.join(os.path.dirname(SIM), "workloads")
sys.path.insert(0, SIM)
import truth  # noqa: E402

build = None
CACHE = os.environ.get("GPUTRACE_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "gputrace")


def pythons():
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")) or [sys.executable]
    return [p for p in sorted(found) if not re.search(r"/3\.[0-7]\.", p)]


def torch_python():
    tool = os.path.join(os.path.dirname(os.path.dirname(SIM)), "tools", "get-torch")
    done = subprocess.run([tool, "installed"], stdout=subprocess.PIPE, universal_newlines=True)
    return done.stdout.strip() or None


def real_cudart():
    places = ["/usr/local/cuda/lib64/libcudart.so.13",
              os.path.join(CACHE, "torch-*", "lib*", "python*", "site-packages", "nvidia", "cu13",
                           "lib", "libcudart.so.13")]
    found = [path for place in places for path in glob.glob(place)]
    return found[0] if found else None


def run(*command, settings=None, sim=True, timeout=120):
    environment = dict(os.environ, SIMGPU_LIBRARIES=build, **(settings or {}))
    prefix = [os.path.join(SIM, "simgpu-run")] if sim else []
    done = subprocess.run(prefix + list(command), env=environment, timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        raise AssertionError("%s: %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done


def client(*arguments, **settings):
    """Runs cupti-client; returns the numbers it printed, by key."""
    out = run(os.path.join(build, "cupti-client"), *arguments, settings=settings).stdout
    return {key: int(value) for key, value in (line.split() for line in out.splitlines())}


def first_bytes(library, pattern):
    """The first 16 bytes of each exported function whose name matches."""
    symbols = subprocess.check_output(["nm", "-D", "--defined-only", library], text=True)
    headers = subprocess.check_output(["objdump", "-h", "-j", ".text", library], text=True)
    fields = re.search(r"\.text\s+(\w+)\s+(\w+)\s+\w+\s+(\w+)", headers)
    address, offset = int(fields.group(2), 16), int(fields.group(3), 16)
    with open(library, "rb") as file:
        data = file.read()
    found = {}
    for line in symbols.splitlines():
        at, kind, name = line.split()
        name = name.split("@")[0]
        if kind in "TW" and re.match(pattern, name):
            start = int(at, 16) - address + offset
            found[name] = data[start:start + 16]
    return found


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_with_truth(self, *command, **more):
        path = self.path("sim.json")
        done = run("--truth", path, *command, **more)
        return done, truth.load(path)


class Shapes(Case):
    @unittest.skipUnless(os.uname().machine == "x86_64", "x86-64 code")
    def test_libcuda_functions_are_thunks_like_the_real_ones(self):
        functions = first_bytes(os.path.join(build, "libcuda.so.1"), "cu[A-Z]")
        self.assertGreater(len(functions), 600)
        for name, code in functions.items():
            self.assertEqual(code[:2].hex(), "813d", name)
            self.assertEqual(code[6:14].hex(), "00ba1c32" + "740c" + "ff25", name)

    @unittest.skipUnless(os.uname().machine == "x86_64", "x86-64 code")
    def test_libcudart_functions_begin_with_a_push(self):
        functions = first_bytes(os.path.join(build, "libcudart.so.13"), "(__)?cuda")
        self.assertGreater(len(functions), 400)
        self.assertEqual([n for n, code in functions.items() if code[0] != 0x55], [])


class Truth(Case):
    def test_c_program_is_reported_completely(self):
        done, entries = self.run_with_truth(os.path.join(build, "launch"), "20")
        self.assertEqual(done.stdout, "rounds 20 kernels 60 copies 40 fills 20 graphs 20\n")
        kinds = collections.Counter((e["kind"], e["graph"] != 0) for e in truth.work(entries))
        self.assertEqual(kinds, {("kernel", False): 60, ("kernel", True): 60,
                                 ("memcpy", False): 40, ("memset", False): 20,
                                 ("memset", True): 20})
        made = collections.Counter(e["name"] for e in truth.calls(entries, "launch"))
        self.assertEqual(made["cudaGraphLaunch"], 20)
        self.assertEqual(made["cuLaunchKernel"], 20)
        self.assertEqual(made["cudaLaunchKernel"], 40 + 3)  # three are captured

    def test_streams_keep_their_order_and_events_hold(self):
        _, entries = self.run_with_truth(os.path.join(build, "launch"), "20")
        ends = collections.defaultdict(int)
        for e in truth.work(entries):
            self.assertGreaterEqual(e["start_mono"], ends[e["stream"]])
            ends[e["stream"]] = e["end_mono"]
        named = [e for e in truth.work(entries, "kernel") if not e["graph"]]
        for first, second in zip(named[0::3], named[1::3]):
            self.assertEqual((first["name"], second["name"]), ("first_20us", "second_35us"))
            self.assertGreaterEqual(second["start_mono"], first["end_mono"])
            self.assertEqual(first["end"] - first["start"], 20000)

    def test_graph_nodes_share_the_launch_and_name_their_source(self):
        _, entries = self.run_with_truth(os.path.join(build, "launch"), "5")
        nodes = collections.defaultdict(list)
        for e in truth.work(entries):
            if e["graph"]:
                nodes[e["corr"]].append(e)
        self.assertEqual(sorted(map(len, nodes.values())), [4] * 5)
        for group in nodes.values():
            self.assertEqual(len({e["node"] for e in group}), 4)
            self.assertTrue(all(e["source_node"] and e["source_graph"] for e in group))

    def test_a_line_whose_end_is_written_first_is_not_read(self):
        path = self.path("torn.json")
        with open(path, "wb") as file:
            file.write(b'{"is":"gpu","corr":1}\n{"is":"g' + bytes(9) + b'"corr":2}\n' + bytes(99))
        self.assertEqual([entry["corr"] for entry in truth.load(path)], [1])

    def test_a_killed_process_leaves_its_truth(self):
        path = self.path("killed.json")
        command = [os.path.join(SIM, "simgpu-run"), "--truth", path, sys.executable,
                   os.path.join(WORKLOADS, "train.py"), "--seconds", "600"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE,
                                   env=dict(os.environ, SIMGPU_LIBRARIES=build))
        process.stdout.readline()
        while len(truth.load(path)) <= 100:
            time.sleep(0.01)
        reached = time.monotonic_ns()
        while max(e["exit"] for e in truth.calls(truth.load(path))) < reached:  # what it does now is in the file at once
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        entries = truth.load(path)
        self.assertGreater(len(entries), 100)
        exits = max(e["exit"] for e in truth.calls(entries))
        self.assertGreater(exits, reached)

    def test_a_forked_child_has_a_file_of_its_own(self):
        program = ("import os, sys; sys.path.insert(0, %r)\nimport gpu; gpu.setup()\n"
                   "gpu.launch(gpu.at('tick_10us'), *gpu.SHAPE, None)\n"
                   "if os.fork() == 0:\n"
                   " [gpu.launch(gpu.at('tick_10us'), *gpu.SHAPE, None) for _ in range(3)]\n"
                   " sys.exit(0)\nos.wait()\n" % WORKLOADS)
        run("--truth", self.path("%p.json"), sys.executable, "-c", program)
        counts = sorted(len(truth.work(truth.load(path)))
                        for path in glob.glob(self.path("*.json")))
        self.assertEqual(counts, [1, 3])


class Cupti(Case):
    ROUNDS = 20

    def check_all(self, seen, threads=1):
        n = self.ROUNDS * threads
        self.assertEqual(seen["records_10"], n * 7)
        self.assertEqual(seen["graph_nodes"], n * 4)
        self.assertEqual((seen["records_1"], seen["records_2"]), (n, n))
        self.assertEqual(seen["kernel_ns"], n * (3 * 50000 + 4 * 20000))
        for key in ("wrong_name", "bytes_odd", "zeroed", "dropped", "nested_wrong",
                    "buffers_open"):
            self.assertEqual(seen[key], 0, key)

    def test_every_activity_arrives_and_in_no_order(self):
        seen = client(str(self.ROUNDS))
        self.check_all(seen)
        self.assertGreater(seen["unordered"], 50)
        self.assertEqual(seen["after_flush"], seen["records_10"])
        self.assertEqual(seen["own_thread"], 1)
        self.assertEqual((seen["records_8"], seen["records_9"]), (1, 1))
        self.assertGreaterEqual(seen["records_37"], 2)
        self.assertGreaterEqual(seen["records_17"], 1)

    def test_nothing_is_lost_with_many_threads(self):
        for _ in range(5):
            seen = client(str(self.ROUNDS), "8")
            self.check_all(seen, threads=8)
            self.assertEqual(seen["slot_kept"], 8 * (self.ROUNDS * 3 + 4))

    def test_only_outer_calls_are_recorded_and_after_their_external_ids(self):
        seen = client(str(self.ROUNDS))
        self.assertNotIn("records_4", seen)
        self.assertEqual(seen["late_external"], seen["records_5"] - seen["records_39"])
        self.assertEqual(seen["records_39"], self.ROUNDS * 6 + 1)

    def test_callbacks_pair_and_nest(self):
        seen = client(str(self.ROUNDS))
        launches = self.ROUNDS * 3 + 4
        for key in ("enters", "exits", "slot_kept", "symbols", "nested"):
            self.assertEqual(seen[key], launches, key)
        self.assertEqual((seen["created"], seen["cloned"]), (4, 4))

    def test_there_is_one_subscriber(self):
        self.assertEqual(client("1")["second_subscriber"], 39)

    def test_records_have_the_length_of_the_version_played(self):
        for name, number in (("11.8", 18), ("12.4", 22), ("13.0", 130001), ("13.2", 130200),
                             ("13.4", 130400)):
            with self.subTest(version=name):
                seen = client(str(self.ROUNDS), SIMGPU_CUPTI_VERSION=name)
                self.check_all(seen)
                self.assertEqual(seen["version"], number)

    def test_drops_are_counted(self):
        seen = client(str(self.ROUNDS), SIMGPU_DROP="10")
        arrived = seen["records_10"] + seen["records_1"] + seen["records_2"]
        self.assertEqual(seen["dropped"], self.ROUNDS * 9 // 10)
        self.assertEqual(arrived + seen["dropped"], self.ROUNDS * 9)

    def test_kernels_take_longer_at_a_lower_clock(self):
        at_full_clock = self.ROUNDS * (3 * 50000 + 4 * 20000)
        self.assertEqual(client(str(self.ROUNDS), SIMGPU_CLOCKS="0:990")["kernel_ns"], 2 * at_full_clock)
        self.assertEqual(client(str(self.ROUNDS), SIMGPU_CLOCKS="0:990,0.5:1980")["kernel_ns"], at_full_clock)
        self.assertEqual(client(str(self.ROUNDS), SIMGPU_CLOCKS="1e9:990")["kernel_ns"], at_full_clock)

    def test_zero_times_on_demand(self):
        seen = client(str(self.ROUNDS), SIMGPU_ZERO="7")
        self.assertEqual(seen["zeroed"], self.ROUNDS)
        self.assertEqual(seen["records_10"], self.ROUNDS * 7)

    def test_delayed_records_come_by_a_forced_flush(self):
        seen = client(str(self.ROUNDS), SIMGPU_DELAY_MS="60000")
        self.assertEqual(seen["after_flush"], 0)
        self.check_all(seen)

    def test_each_thread_has_a_buffer_unless_the_attribute_says_otherwise(self):
        """The default from 13.0 on. A round fits into half a buffer."""
        for arguments, settings, several in (((), {}, True), (("one-buffer",), {}, False),
                                             ((), {"SIMGPU_THREAD_BUFFERS": "0"}, False),
                                             ((), {"SIMGPU_CUPTI_VERSION": "12.4"}, False),
                                             ((), {"SIMGPU_CUPTI_VERSION": "12.4", "SIMGPU_THREAD_BUFFERS": "1"}, True)):
            with self.subTest(arguments=arguments, settings=settings):
                seen = client("1", "16", *arguments, **settings)
                self.assertEqual(seen["records_10"], 16 * 7)
                self.assertEqual(seen["buffers"] >= 16, several)

    def test_open_buffers_when_another_registers(self):
        """For each setting: the client that gets them back, and the records in them."""
        for buffers in ("0", "1"):
            seen = {way: client("4", "1", "take-over", SIMGPU_OPEN_BUFFERS=way, SIMGPU_THREAD_BUFFERS=buffers)
                    for way in ("forgotten", "given-old", "given-new", "kept-old", "kept-new")}
            done = {way: (got["at_once"], got["to_old"], got["to_new"]) for way, got in seen.items()}
            with self.subTest(buffers=buffers):
                self.assertEqual(done, {"forgotten": (0, 0, 0), "given-old": (1, 1, 0), "given-new": (1, 0, 1),
                                        "kept-old": (0, 1, 0), "kept-new": (0, 0, 1)})
                kernels = {way: (got["ours"], got["others"]) for way, got in seen.items()}
                for way in ("given-old", "kept-old"):
                    self.assertEqual(sum(kernels[way]), 2 * 4 * 7, way)
                for way in ("forgotten", "given-new", "given-old"):
                    self.assertGreaterEqual(kernels[way][1], 4 * 7, way)
                for way in ("kept-old", "kept-new"):
                    self.assertLess(kernels[way][1], 4 * 7, way)

    def test_the_injected_library_is_called_at_initialisation(self):
        library = os.path.join(build, "libinjected.so")
        done = run(os.path.join(build, "launch"), "1", settings={"CUDA_INJECTION64_PATH": library})
        self.assertEqual(done.stdout.splitlines()[0], "injected")
        done = run(os.path.join(build, "launch"), "1", settings={"CUDA_INJECTION64_PATH": "/none"})
        self.assertTrue(done.stdout.startswith("rounds 1"))


class Python(Case):
    def compare(self, program, entries):
        """The simulator saw what train.py counted, at each call site."""
        expected, seen = collections.Counter(), collections.Counter()
        for site in program["sites"]:
            if site["gpu_ns"]:
                label = "%s:%d %s" % (os.path.basename(site["file"]), site["line"],
                                      site["function"])
                expected[label] += site["gpu_ns"]
        for e in truth.work(entries):
            seen[e["label"]] += e["end"] - e["start"]
        self.assertEqual(expected, seen)
        calls = collections.Counter()
        for site in program["sites"]:
            calls[site["call"]] += site["count"]
        made = collections.Counter(e["name"] for e in truth.calls(entries))
        for call, count in calls.items():
            self.assertEqual(made[call], count, call)

    def test_train_py_knows_what_it_launches_on_every_python(self):
        for python in pythons():
            with self.subTest(python=python):
                path = self.path("train.json")
                done, entries = self.run_with_truth(
                    python, os.path.join(WORKLOADS, "train.py"), "--steps", "10", "--threads",
                    "2", "--graph", "--truth", path)
                self.assertEqual(done.stdout.splitlines()[-1], "steps 20")
                with open(path) as file:
                    self.compare(json.load(file), entries)

    def test_real_cudart_takes_the_calls(self):
        library = real_cudart()
        if not library:
            self.skipTest("no real libcudart.so.13 here")
        script = os.path.join(WORKLOADS, "real_cudart.py")
        for python in pythons():
            with self.subTest(python=python):
                done = run(python, script, library, "--steps", "3", "--truth",
                           self.path("real.json"), sim=False)
                self.assertEqual(done.stdout.splitlines()[-1], "steps 3")
        done = run(os.path.join(build, "hammer"), library, "1", "2", sim=False)
        counts = [int(n) for n in re.findall(r"\d+", done.stdout)]
        self.assertEqual(sum(counts[:2]), counts[2])


class Ranks(Case):
    """Kernels of the simulated NCCL wait for each other."""
    RANKS = 4
    PAIRED = ("Send", "Recv")

    def ranked(self, kinds, **settings):
        """Per rank, its collectives and its GPU work in order."""
        folder = tempfile.mkdtemp(dir=self.path(""))
        run(sys.executable, os.path.join(WORKLOADS, "nccl_ranks.py"), str(self.RANKS), folder, "--kinds", ",".join(kinds),
            settings=dict(settings, SIMGPU_NCCL="1", SIMGPU_TRUTH=os.path.join(folder, "truth-%p.json")))
        found = [truth.load(path) for path in glob.glob(os.path.join(folder, "truth-*.json"))]
        found = [entries for entries in found if any(e["is"] == "collective" for e in entries)]
        found.sort(key=lambda entries: next(e["rank"] for e in entries if e["is"] == "collective"))
        self.assertEqual(len(found), self.RANKS)
        return [([e for e in entries if e["is"] == "collective"], truth.work(entries)) for entries in found]

    def test_kernels_wait_for_the_last_rank_and_end_together(self):
        kinds = ["numbered", "grouped", "all_to_all", "replay", "by_name"]
        ranks = self.ranked(kinds)
        for turn in zip(*(collectives for collectives, _ in ranks)):
            last = max(e["begin"] for e in turn)
            for e in turn:
                self.assertEqual(e["last"], last)
                self.assertEqual(turn[e["last_rank"]]["begin"], last)
                self.assertGreaterEqual(e["end"], last + 8000)
            self.assertLess(max(e["end"] for e in turn) - min(e["end"] for e in turn), 1000)
        self.assertEqual(len(ranks[0][0]), 4 * len(kinds))

    def test_a_send_waits_for_its_receive_alone(self):
        ranks = self.ranked(["pair"])
        for turn in zip(*(collectives for collectives, _ in ranks)):
            for e in turn:
                self.assertEqual(e["last"], max(e["begin"], turn[e["rank"] ^ 1]["begin"]))
        # The ranks late in turn: the other pair does not wait for them.
        self.assertTrue(any(abs(turn[0]["last"] - turn[2]["last"]) > 5000000
                            for turn in zip(*(collectives for collectives, _ in ranks))))

    def test_work_behind_a_kernel_that_waits_follows_its_end(self):
        for collectives, work in self.ranked(["numbered", "ring"]):
            kernels = [e for e in work if e["kind"] == "kernel"]
            ends = {e["corr"]: e["end"] for e in collectives}
            self.assertEqual([e["end_mono"] for e in kernels if e["corr"] in ends], list(ends.values()))
            for before, after in zip(kernels, kernels[1:]):
                self.assertGreaterEqual(after["start_mono"], before["end_mono"])

    def test_a_group_may_have_a_kernel_for_each_collective(self):
        once, each = ([len(collectives) for collectives, _ in self.ranked(["grouped"], **settings)]
                      for settings in ({}, {"SIMGPU_NCCL_GROUPS": "each"}))
        self.assertEqual((once, each), ([4] * self.RANKS, [12] * self.RANKS))

    def test_kernels_have_the_names_of_each_version(self):
        for version, name in (("2.30", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
                              ("2.20", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"),
                              ("2.18", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)")):
            names = {e["name"] for _, work in self.ranked(["numbered"], SIMGPU_NCCL_NAMES=version) for e in work}
            self.assertIn(name, names)


@unittest.skipUnless(torch_python(), "PyTorch is not installed in %s" % CACHE)
class Torch(Case):
    # Kineto's lines on standard error that are no errors.
    FINE = re.compile(r"profiler_(start|stop|prepare)|^\s*$|STAGE:")

    def profiled(self, script, *arguments):
        profile = self.path("profile.json")
        done, entries = self.run_with_truth(
            torch_python(), os.path.join(WORKLOADS, script), "--labels", "--profile", profile,
            *arguments, timeout=300)
        complaints = [l for l in done.stderr.splitlines() if not self.FINE.search(l)]
        self.assertEqual(complaints, [])
        with open(profile) as file:
            return done, entries, json.load(file)

    def compare(self, entries, profile):
        """torch.profiler has each activity that was sent exactly once, with its duration."""
        sent = collections.Counter(
            (e["corr"], e["end"] - e["start"]) for e in truth.work(entries) if e["fate"] == "sent")
        seen = collections.Counter(
            (e["args"]["correlation"], round(e["dur"] * 1000)) for e in profile["traceEvents"]
            if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
        # Times pass through a fitted clock: a few ns may be lost.
        self.assertEqual(collections.Counter({c: sum(n for (d, _), n in sent.items() if d == c)
                                              for c, _ in sent}),
                         collections.Counter({c: sum(n for (d, _), n in seen.items() if d == c)
                                              for c, _ in seen}))
        self.assertLess(abs(sum(d * n for (_, d), n in sent.items()) -
                            sum(d * n for (_, d), n in seen.items())), 20 * sum(sent.values()))
        return sum(sent.values())

    def test_training_is_seen_whole_by_torch_profiler(self):
        done, entries, profile = self.profiled("torch_train.py", "--steps", "30")
        self.assertRegex(done.stdout, "steps 30 loss")
        count = self.compare(entries, profile)
        print("torch_train: %d of %d activities in torch.profiler" % (count, count))
        self.assertGreater(count, 1000)

    def test_a_graph_is_seen_whole_by_torch_profiler(self):
        done, entries, profile = self.profiled("torch_graph.py", "--replays", "30")
        self.assertRegex(done.stdout, "replays 30")
        count = self.compare(entries, profile)
        print("torch_graph: %d of %d activities in torch.profiler" % (count, count))
        self.assertEqual(count % 30, 0)
        self.assertGreater(count, 30 * 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/simgpu")
    options, rest = parser.parse_known_args()
    build = os.path.abspath(options.build)
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
