#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The agent in a whole process, on the simulated GPU, against the simulator's ground truth.

    tests/unit/agent_simgpu.py AGENT RECORDER SIMGPU_FOLDER

Needs no root and no BPF: agent_recorder.c takes the place of the probes.
"""
import glob
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "simgpu"))
import truth as ground_truth  # noqa: E402

HELLO, NAME, API, KERNEL, MEMCPY, MEMSET, OVERHEAD, DEVICE, CONTEXT, STREAM, CLOCK, STATS, SYNC, EVENT, MEMORY, GRAPH_NODE = range(64, 80)
SIZES = 81
LOADED, READY, STOPPED, FAILED = 1, 2, 3, 4
OK, NO_CUPTI, UNUSABLE, OCCUPIED, NO_CUDA = range(5)

AGENT = RECORDER = SIMGPU = None

PATIENCE_S = 300  # for programs that hang; a busy machine may need a minute


def read(path, mode="r"):
    with open(path, mode) as file:
        return file.read()


AGENT_H = os.path.join(HERE, "..", "..", "include/gputrace/agent.h")
ABI = int(re.search(r"^#define GPT_AGENT_ABI (\d+)$", read(AGENT_H), re.M)[1])

# Names of the threads of the process; a thread may end while they are read.
THREADS = ("def name(thread):\n"
           "    try: return open(f'/proc/self/task/{thread}/comm').read().strip()\n"
           "    except OSError: return ''\n"
           "def threads(): return sorted(filter(None, map(name, os.listdir('/proc/self/task'))))\n"
           # how often the agent's thread has begun to wait, which it does after each look at its counters
           "def looks(): return sum(int(open(f'/proc/self/task/{thread}/status').read().split()[-3])\n"
           "                        for thread in os.listdir('/proc/self/task') if name(thread) == 'gputrace-agent')\n"
           "def looked():\n"
           "    before = looks()\n"
           "    while looks() < before + 3: time.sleep(0.001)\n")


class Record:
    """What the agent reported: calls, states, and the records of its batches in order."""

    def __init__(self, path):
        self.calls, self.states, self.records, self.batches, self.names = [], [], [], [], {}
        data = read(path, "rb")
        at = 0
        while at < len(data):
            what, size = struct.unpack_from("<II", data, at)
            body = data[at + 8 : at + 8 + size]
            at += 8 + size
            if what == 1:
                self.calls.append(struct.unpack("<III", body))
            elif what == 3:
                self.states.append(struct.unpack("<II", body)[0])
            else:
                self.batch(body)

    def batch(self, body):
        assert 0 < len(body) <= 32768, len(body)
        self.batches.append(len(body))
        at = 0
        while at < len(body):
            size, kind, _ = struct.unpack_from("<IHH", body, at)
            assert size >= 8 and size % 8 == 0 and at + size <= len(body), (size, kind)
            data = body[at : at + size]
            if kind == NAME:
                number, length = struct.unpack_from("<II", data, 8)
                assert number not in self.names, "a name sent twice"
                self.names[number] = data[16 : 16 + length].decode()
            elif kind == KERNEL:
                name = struct.unpack_from("<I", data, 40)[0]
                assert name == 0 or name in self.names, "a kernel before its name"
            self.records.append((kind, data))
            at += size

    def of(self, kind):
        return [data for k, data in self.records if k == kind]

    def work(self):
        """(kind, corr, name or bytes, start, end, device, context, stream, graph, node) of GPU records."""
        out = []
        for d in self.of(KERNEL):
            start, end, corr, device, context, stream, name, graph, node = struct.unpack_from("<QQIIIIIIQ", d, 8)
            out.append(("kernel", corr, self.names.get(name, ""), start, end, device, context, stream, graph, node))
        for d in self.of(MEMCPY):
            start, end, corr, device, context, stream, size, node, graph = struct.unpack_from("<QQIIIIQQI", d, 8)
            out.append(("memcpy", corr, size, start, end, device, context, stream, graph, node))
        for d in self.of(MEMSET):
            start, end, corr, device, context, stream, size, node, graph = struct.unpack_from("<QQIIIIQQI", d, 8)
            out.append(("memset", corr, size, start, end, device, context, stream, graph, node))
        return sorted(out)

    def returns(self):
        """(corr, api, start, end, result, tid)"""
        return [(c, a, s, e, r, t) for s, e, c, a, _, r, t in
                (struct.unpack_from("<QQIHHiI", d, 8) for d in self.of(API))]

    def hellos(self):
        out = []
        for d in self.of(HELLO):
            abi, state, failure, result, cupti, driver, runtime, size = struct.unpack_from("<8I", d, 8)
            out.append((abi, state, failure, result, cupti, driver, runtime, d[40 : 40 + size].split(b"\0")[:3]))
        return out

    def stats(self):
        names = "calls kernels memcpys memsets others cupti_dropped buffers_refused api_dropped names_dropped untimed malformed misdirected dropped_unknown places_lost functions_before callbacks_timed callbacks_timed_ns callbacks_long callbacks_long_ns"
        return dict(zip(names.split(), struct.unpack_from("<19Q", self.of(STATS)[-1], 8)))


def expected_work(entries, fates=("sent",)):
    out = []
    for e in ground_truth.work(entries):
        if e["fate"] in fates:
            times = (0, 0) if e["fate"] == "zeroed" else (e["start"], e["end"])
            out.append((e["kind"], e["corr"], e["name"] if e["kind"] == "kernel" else e["bytes"], *times,
                        e["device"], e["context"], e["stream"], e["graph"], e["node"]))
    return sorted(out)


def followed(entries, apis):
    """The calls of the ground truth that cuda_api.h lists."""
    return [e for e in ground_truth.calls(entries) if (e["domain"] << 12 | e["cbid"]) in apis]


def api_table():
    """GPT_API of every row and twin of cuda_api.h."""
    text = read(os.path.join(HERE, "..", "..", "include", "gputrace", "cuda_api.h"))
    rows = re.findall(r"X\((RUNTIME|DRIVER),\s*\w+,\s*\w+,\s*\w+,\s*\w+,\s*(\d+),\s*(\d+)\)", text)
    return {{"DRIVER": 1, "RUNTIME": 2}[d] << 12 | int(n) for d, *both in rows for n in both if n != "0"}


class AgentOnSimulatedGpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.apis = api_table()

    def tearDown(self):
        self.folder.cleanup()

    def start(self, command, preload_cupti=True, recorder=True, folder=None, stdin=None, preload=True, **env):
        names = (["libcuda.so.1", "libcudart.so.13"] + ["libcupti.so.13"] * preload_cupti) if preload else []
        libraries = [RECORDER] * recorder + [os.path.join(folder or SIMGPU, n) for n in names]
        environment = dict(os.environ, LD_PRELOAD=":".join(libraries), CUDA_INJECTION64_PATH=AGENT,
                           AGENT_RECORD=self.folder.name + "/record", SIMGPU_TRUTH=self.folder.name + "/truth.%p")
        environment.update(env)
        process = subprocess.Popen(command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)  # it may wait forever in a test that fails
        return process

    def run_to_end(self, command, status=0, **options):
        process = self.start(command, **options)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, status, err)
        self.assertEqual(err, "")
        return out, Record(f"{self.folder.name}/record.{process.pid}"), self.truth(process.pid)

    def truth(self, pid):
        return ground_truth.load(f"{self.folder.name}/truth.{pid}")

    def launch(self, rounds):
        return [os.path.join(SIMGPU, "launch"), str(rounds)]

    def check_exact(self, record, entries, fates=("sent",)):
        self.assertEqual(record.work(), expected_work(entries, fates))
        calls = followed(entries, self.apis)
        self.assertEqual([(e["corr"], e["domain"] << 12 | e["cbid"], e["tid"]) for e in calls],
                         [c for c in record.calls])
        got = {c: (a, r, t) for c, a, _, _, r, t in record.returns()}
        self.assertEqual(got, {e["corr"]: (e["domain"] << 12 | e["cbid"], e["status"], e["tid"]) for e in calls})
        times = {e["corr"]: e for e in calls}
        for corr, _, start, end, _, _ in record.returns():
            self.assertLessEqual(times[corr]["enter"], start)
            self.assertLessEqual(start, end)
            self.assertLessEqual(end, times[corr]["exit"] + 1000000)

    def test_every_call_and_every_gpu_record_of_a_whole_program_arrives_once(self):
        _, record, entries = self.run_to_end(self.launch(200))
        self.check_exact(record, entries)
        self.assertEqual(record.states, [LOADED, READY, STOPPED])
        self.assertEqual(record.records[0][0], HELLO)
        self.assertEqual([h[1] for h in record.hellos()], [READY, STOPPED])
        self.assertEqual(record.records[-1][0], HELLO)
        stats = record.stats()
        self.assertEqual(stats["calls"], len(record.calls))
        timed = sum(corr * 2654435769 % 2**32 < (2**32 - 1) // 16 for corr, *_ in record.calls)
        self.assertEqual(stats["callbacks_timed"], timed)
        self.assertGreater(stats["callbacks_timed_ns"] + stats["callbacks_long_ns"], 0)
        self.assertEqual(stats["kernels"], sum(e["kind"] == "kernel" for e in ground_truth.work(entries)))
        for loss in ("cupti_dropped", "buffers_refused", "api_dropped", "names_dropped", "untimed", "malformed"):
            self.assertEqual(stats[loss], 0, loss)

    def test_the_hello_names_cupti_and_the_versions(self):
        _, record, _ = self.run_to_end(self.launch(1))
        abi, state, failure, result, cupti, driver, runtime, (path, detail, _) = record.hellos()[0]
        self.assertEqual((abi, state, failure, result, cupti), (ABI, READY, OK, 0, 130001))
        self.assertEqual((driver // 1000, runtime // 1000), (13, 13))
        self.assertEqual(os.path.realpath(path), os.path.realpath(os.path.join(SIMGPU, "libcupti.so.13")).encode())
        self.assertEqual(detail, b"")

    def test_device_context_and_streams_are_described(self):
        _, record, entries = self.run_to_end(self.launch(2))
        device = record.of(DEVICE)[0]
        self.assertGreater(struct.unpack_from("<Q", device, 8)[0], 1 << 30)
        self.assertGreater(struct.unpack_from("<I", device, 84)[0], 0)
        contexts = {struct.unpack_from("<I", d, 8)[0] for d in record.of(CONTEXT)}
        streams = {struct.unpack_from("<I", d, 12)[0] for d in record.of(STREAM)}
        self.assertLessEqual({e["context"] for e in ground_truth.work(entries)}, contexts)
        null_streams = {struct.unpack_from("<I", d, 16)[0] for d in record.of(CONTEXT)}
        self.assertLessEqual({e["stream"] for e in ground_truth.work(entries)}, streams | null_streams)

    def test_clock_samples_convert_gpu_times_to_a_microsecond(self):
        _, record, entries = self.run_to_end(self.launch(300))
        samples = [struct.unpack_from("<QqQ", d, 8) for d in record.of(CLOCK)]
        self.assertGreaterEqual(len(samples), 2)
        for _, offset, error in samples:
            self.assertLess(error, 20000)
            for e in ground_truth.work(entries)[:50]:
                self.assertLess(abs(e["start"] - offset - e["start_mono"]), error + 1000)

    def test_records_of_every_cupti_version_are_read(self):
        for version in ("11.8", "12.4", "13.0", "13.2", "13.4"):
            with self.subTest(version):
                _, record, entries = self.run_to_end(self.launch(20), SIMGPU_CUPTI_VERSION=version)
                self.check_exact(record, entries)
                self.assertEqual(record.stats()["malformed"], 0)

    WAITS = {131: 3, 137: 1, 147: 2, 165: 4}  # runtime callback id: kind of synchronisation

    def test_every_wait_arrives_with_what_was_waited_for(self):
        script = ("import ctypes\n"
                  "rt = ctypes.CDLL('libcudart.so.13'); cu = ctypes.CDLL('libcuda.so.1')\n"
                  "p, s, e = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()\n"
                  "rt.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(1 << 20)); rt.cudaStreamCreate(ctypes.byref(s))\n"
                  "rt.cudaEventCreate(ctypes.byref(e))\n"
                  "for _ in range(3):\n"
                  "    rt.cudaMemsetAsync(p, 0, ctypes.c_size_t(1 << 20), s); rt.cudaEventRecord(e, s)\n"
                  "    rt.cudaStreamWaitEvent(None, e, 0); rt.cudaEventSynchronize(e); rt.cudaStreamSynchronize(s)\n"
                  "rt.cudaDeviceSynchronize()\n")
        for version in ("11.8", "12.4", "13.0", "13.4"):
            with self.subTest(version):
                _, record, entries = self.run_to_end([sys.executable, "-c", script], SIMGPU_CUPTI_VERSION=version)
                calls = followed(entries, self.apis)
                syncs = [struct.unpack_from("<QQIIIIIiQ", d, 8) for d in record.of(SYNC)]
                events = [struct.unpack_from("<IIIIQ", d, 8) for d in record.of(EVENT)]
                expected = sorted((e["corr"], self.WAITS[e["cbid"]]) for e in calls if e["cbid"] in self.WAITS)
                self.assertEqual(len(expected), 10)
                self.assertEqual(sorted((s[2], s[3]) for s in syncs), expected)
                stream = {w[7] for w in record.work()}.pop()
                recorded = [e["corr"] for e in calls if e["cbid"] == 135]
                self.assertEqual([(e[0], e[2]) for e in events],
                                 [] if version == "11.8" else [(corr, stream) for corr in recorded])
                self.assertEqual({s[5] for s in syncs if s[3] == 3}, {stream})
                self.assertEqual({s[5] for s in syncs if s[3] == 4}, {0xFFFFFFFF})
                if version >= "13":
                    numbers = {e[4]: e[0] for e in events}
                    for s in (s for s in syncs if s[3] in (1, 2)):
                        self.assertEqual(numbers[s[8]], max(corr for corr in recorded if corr < s[2]))
                self.assertEqual(record.stats()["malformed"], 0)

    def test_every_node_of_a_graph_leads_to_the_call_that_was_captured(self):
        for version in ("11.8", "13.4"):
            with self.subTest(version):
                _, record, entries = self.run_to_end(self.launch(5), SIMGPU_CUPTI_VERSION=version)
                nodes = [struct.unpack_from("<QQI", d, 8) for d in record.of(GRAPH_NODE)]
                made = {node: corr for node, source, corr in nodes if not source}
                cloned = {node: source for node, source, corr in nodes if source}
                work = [w for w in record.work() if w[8]]
                self.assertEqual(len(work), 5 * 4)
                captured = [made[cloned[w[9]]] for w in work]
                launches = [e["corr"] for e in ground_truth.calls(entries, "launch", "set")][:4]
                self.assertEqual(sorted(captured), sorted(launches * 5))

    def test_every_allocation_arrives_and_goes(self):
        script = ("import ctypes\n"
                  "rt = ctypes.CDLL('libcudart.so.13'); p = [ctypes.c_void_p() for _ in range(3)]\n"
                  "rt.cudaMalloc(ctypes.byref(p[0]), ctypes.c_size_t(1 << 20))\n"
                  "rt.cudaMallocHost(ctypes.byref(p[1]), ctypes.c_size_t(4096))\n"
                  "rt.cudaMallocManaged(ctypes.byref(p[2]), ctypes.c_size_t(8192), 1)\n"
                  "print([q.value for q in p])\n"
                  "rt.cudaFreeHost(p[1]); rt.cudaFree(p[0])\n")
        for version in ("11.8", "12.4", "13.0", "13.4"):
            with self.subTest(version):
                out, record, entries = self.run_to_end([sys.executable, "-c", script], SIMGPU_CUPTI_VERSION=version)
                device, pinned, managed = eval(out)
                got = [struct.unpack_from("<QQQIII", d, 8) for d in record.of(MEMORY)]
                corrs = [e["corr"] for e in followed(entries, self.apis) if e["class"] in ("alloc", "free")]
                self.assertEqual([(a, op, kind) for _, a, _, _, op, kind in got],
                                 [(device, 1, 3), (pinned, 1, 2), (managed, 1, 5), (pinned, 2, 2), (device, 2, 3)])
                self.assertEqual([b for _, _, b, *_ in got[:3]], [1 << 20, 4096, 8192])
                self.assertEqual([g[3] for g in got], corrs)
                self.assertEqual(sorted(g[0] for g in got), [g[0] for g in got])

    def test_only_what_is_wanted_is_recorded(self):
        apis = {"kernels": {2 << 12 | 211, 2 << 12 | 311, 1 << 12 | 307}}
        apis["sync"] = apis["kernels"] | {2 << 12 | n for n in (131, 135, 137, 147, 165)}
        apis["memory"] = apis["kernels"] | {2 << 12 | n for n in (20, 22, 25, 26)}
        apis["cuda"] = self.apis
        for sets in ("", "sync", "cuda", "memory", "cuda,sync,memory"):
            with self.subTest(sets):
                _, record, entries = self.run_to_end(self.launch(20), AGENT_RECORD_SETS=sets)
                names = ["kernels", *sets.split(",")] if sets else ["kernels"]
                self.assertEqual(record.hellos()[0][7][2], ",".join(names).encode())
                kinds = {"kernel"} | ({"memcpy", "memset"} if "cuda" in names else set())
                self.assertEqual(record.work(), [w for w in expected_work(entries) if w[0] in kinds])
                self.assertEqual(bool(record.of(SYNC)) and bool(record.of(EVENT)), "sync" in names)
                self.assertEqual(bool(record.of(MEMORY)), "memory" in names)
                wanted = set().union(*(apis[name] for name in names))
                self.assertEqual([c[0] for c in record.calls], [e["corr"] for e in followed(entries, wanted)])

    def test_dropped_records_are_counted_and_the_rest_is_whole(self):
        _, record, entries = self.run_to_end(self.launch(100), SIMGPU_DROP="7")
        self.check_exact(record, entries)
        dropped = sum(e["fate"] == "dropped" for e in ground_truth.work(entries))
        self.assertGreater(dropped, 10)
        self.assertEqual(record.stats()["cupti_dropped"], dropped)

    def test_records_without_times_are_counted_and_keep_their_identity(self):
        _, record, entries = self.run_to_end(self.launch(50), SIMGPU_ZERO="5")
        self.check_exact(record, entries, ("sent", "zeroed"))
        zeroed = sum(e["fate"] == "zeroed" for e in ground_truth.work(entries))
        self.assertGreater(zeroed, 5)
        self.assertEqual(record.stats()["untimed"], zeroed)

    def test_records_that_come_late_are_waited_for(self):
        _, record, entries = self.run_to_end(self.launch(50), SIMGPU_DELAY_MS="40")
        self.check_exact(record, entries)

    def test_cupti_is_found_beside_cudart_when_it_is_not_mapped(self):
        _, record, entries = self.run_to_end(self.launch(5), preload_cupti=False)
        self.assertEqual(record.states, [LOADED, READY, STOPPED])
        self.check_exact(record, entries)

    def test_nothing_happens_when_no_one_listens(self):
        process = self.start(self.launch(5), recorder=False, SIMGPU_VERBOSE="1")
        _, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0)
        self.assertIn("InitializeInjection() = 1", err)
        self.assertEqual({e["fate"] for e in ground_truth.work(self.truth(process.pid))}, {"unseen"})

    def test_the_end_of_a_trace_sends_everything_up_to_it_and_leaves_cupti(self):
        _, record, entries = self.run_to_end(self.launch(6000), AGENT_RECORD_STOP_CALLS="1000")
        self.assertEqual([h[1] for h in record.hellos()], [READY, STOPPED])
        self.assertEqual(record.records[-1][0], HELLO)
        reported = {c for c, _, _ in record.calls}
        self.assertGreater(len(reported), 100)
        # all GPU work of the reported calls, and of no other call
        untimed = {w[1] for w in record.work() if not w[3]}  # was still running when the trace ended
        self.assertEqual([w for w in record.work() if w[3]],
                         [w for w in expected_work(entries) if w[1] in reported and w[1] not in untimed])
        self.assertEqual({w[1] for w in record.work()},
                         {e["corr"] for e in ground_truth.work(entries) if e["corr"] in reported})
        # the last call may still be waiting for the GPU
        self.assertLessEqual(reported - {r[0] for r in record.returns()}, {max(reported)})
        self.assertGreater(max(e["corr"] for e in followed(entries, self.apis)), max(reported) + 1000)
        self.assertEqual(ground_truth.work(entries)[-1]["fate"], "unseen", "the target is on its own again")

    def test_a_killed_collector_ends_the_session_too(self):
        _, record, entries = self.run_to_end([sys.executable, "-c", self.COUNTERS % "" + "fill(20)\n"
                                              "while not idle(): time.sleep(0.01)\n"
                                              "fill(30)\n"], RECORDER=RECORDER, AGENT_RECORD_KILL_CALLS="10")
        fates = {size: {e["fate"] for e in ground_truth.work(entries) if e["bytes"] == size} for size in (20, 30)}
        self.assertIn("sent", fates[20])
        self.assertEqual(fates[30], {"unseen"})

    def test_nothing_is_left_in_a_process_when_the_trace_has_ended(self):
        script = ("import ctypes, os, time\n"
                  "rt = ctypes.CDLL('libcudart.so.13'); cupti = ctypes.CDLL('libcupti.so.13'); p = ctypes.c_void_p()\n"
                  + THREADS +
                  "rt.cudaMalloc(ctypes.byref(p), 64); rt.cudaMemset(p, 0, ctypes.c_size_t(64))\n"
                  "if 'RECORDER' in os.environ:\n"
                  "    while 'gputrace-agent' not in threads(): time.sleep(0.01)\n"
                  "    recorder = ctypes.CDLL(os.environ['RECORDER'])\n"
                  "    ctypes.c_ushort.in_dll(recorder, 'gputrace_agent_semaphore').value = 0\n"
                  "    agent = ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH'])\n"
                  "    while (ctypes.c_uint * 3).in_dll(agent, 'gputrace_agent_status')[1]: time.sleep(0.01)\n"
                  "rt.cudaMemset(p, 0, ctypes.c_size_t(64))\n"
                  "s, kind, size, value = ctypes.c_void_p(), ctypes.c_int(9), ctypes.c_size_t(1), ctypes.c_ubyte()\n"
                  "called = ctypes.CFUNCTYPE(None)(lambda: None)\n"
                  "print('subscribe', cupti.cuptiSubscribe(ctypes.byref(s), called, None))\n"
                  "print('thread ids', cupti.cuptiGetThreadIdType(ctypes.byref(kind)), kind.value)\n"
                  "for a in (5, 9):\n"
                  "    cupti.cuptiActivityGetAttribute(a, ctypes.byref(size), ctypes.byref(value)); print('attribute', a, value.value)\n"
                  "files = [os.readlink(f'/proc/self/fd/{f}') for f in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{f}')]\n"
                  "print('files', sorted(f for f in files if 'pipe' not in f and 'record' not in f and 'truth' not in f))\n")
        out = {}
        for alone in (1, 0):
            environment = {} if alone else {"RECORDER": RECORDER}
            process = self.start([sys.executable, "-c", script], recorder=not alone, **environment)
            out[alone], err = process.communicate(timeout=PATIENCE_S)
            self.assertEqual((process.returncode, err), (0, ""))
        self.assertIn("subscribe 0\n", out[0])
        self.assertEqual(out[0], out[1], "as in a process that has never had anyone listen")
        record = Record(f"{self.folder.name}/record.{process.pid}")
        self.assertEqual(record.stats()["memsets"], 1)

    # The program sets the counters itself, in place of the kernel; fill(n) makes n pieces of GPU work.
    COUNTERS = ("import ctypes, os, time\n"
                "rt = ctypes.CDLL('libcudart.so.13'); cupti = ctypes.CDLL('libcupti.so.13'); p = ctypes.c_void_p()\n"
                "recorder, agent = ctypes.CDLL(os.environ['RECORDER']), ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH'])\n"
                "def counter(library, name): return ctypes.c_ushort.in_dll(library, f'gputrace_agent_{name}semaphore')\n"
                "listening, batches = counter(recorder, ''), counter(recorder, 'batch_')\n"
                "yield_, resume = counter(agent, 'yield_'), counter(agent, 'resume_')\n"
                # struct gpt_agent_status: its size, life (0: no session, the thread is gone), sessions
                "status = (ctypes.c_uint * 3).in_dll(agent, 'gputrace_agent_status')\n"
                "def idle(): return status[1] == 0\n"
                + THREADS +
                "def fill(n):\n"
                "    for _ in range(n): rt.cudaMemsetAsync(p, 0, ctypes.c_size_t(n), None)\n"
                "    rt.cudaDeviceSynchronize()\n"
                "def end():\n"
                "    while 'gputrace-agent' not in threads(): time.sleep(0.01)\n"
                "    listening.value = 0\n"
                "    while not idle(): time.sleep(0.01)\n"
                "def recorder_count(name): return ctypes.c_uint.in_dll(recorder, f'agent_recorder_{name}').value\n"
                # three batches: half a second on the agent's own clock, however busy the machine is
                "def tick():\n"
                "    before = recorder_count('batches')\n"
                "    while recorder_count('batches') < before + 3: time.sleep(0.01)\n"
                "def life(): return (ctypes.c_uint32 * 3).in_dll(agent, 'gputrace_agent_status')[1]\n"
                "def begin():\n"  # another session: the agent starts it on its own thread
                "    listening.value = 2; agent.InitializeInjection()\n"
                "    while life() != 2: time.sleep(0.01)\n"
                "%s"
                "rt.cudaMalloc(ctypes.byref(p), 4096)\n")

    def run_counters(self, before, script):
        _, record, entries = self.run_to_end([sys.executable, "-c", self.COUNTERS % before + script], RECORDER=RECORDER)
        fills = [struct.unpack_from("<Q", d, 40)[0] for d in record.of(MEMSET)]  # the size identifies a fill
        return record, entries, {size: fills.count(size) for size in set(fills)}

    def test_it_comes_and_goes_as_often_as_somebody_listens(self):
        record, entries, fills = self.run_counters("", "fill(10); end(); fill(20)\n"
                                                   "for n in (30, 50):\n"
                                                   "    begin(); fill(n); end(); fill(n + 10)\n")
        self.assertEqual(record.states, [LOADED, READY] * 3)
        self.assertEqual([h[1] for h in record.hellos()], [READY, STOPPED] * 3)
        self.assertEqual(fills, {10: 10, 30: 30, 50: 50})
        unseen = [e["bytes"] for e in ground_truth.work(entries) if e["fate"] == "unseen"]
        self.assertEqual(sorted(set(unseen)), [20, 40, 60])

    def test_a_listener_that_comes_while_the_session_of_another_ends_has_one_of_its_own(self):
        """As gputrace finds the agent at work, it does not wake it."""
        script = ("fill(10)\n"
                  "while life() != 2: time.sleep(0.01)\n"
                  "listening.value = 0\n"
                  "while status[2] < 2 or life() != 2: time.sleep(0.01)\n"
                  "fill(20); end(); fill(30)\n")
        _, record, entries = self.run_to_end([sys.executable, "-c", self.COUNTERS % "" + script], RECORDER=RECORDER,
                                             AGENT_RECORD_COMES_AT_STOP="1")
        self.assertEqual([h[1] for h in record.hellos()], [READY, STOPPED] * 2)
        fates = {size: {e["fate"] for e in ground_truth.work(entries) if e["bytes"] == size} for size in (10, 20, 30)}
        self.assertEqual(fates, {10: {"sent"}, 20: {"sent"}, 30: {"unseen"}})

    def test_a_listener_that_comes_later_gets_the_counts_so_far_before_the_first_hello(self):
        """What was lost before it came is not its loss."""
        script = ("restart, again = counter(agent, 'restart_'), 0.0\n"
                  "for pause in (0.13, 0.31, 0.47, 0.59):\n"  # any moment must do; the counts come by themselves, too
                  "    again = time.monotonic() + pause\n"
                  "    while time.monotonic() < again: fill(1)\n"
                  "    restart.value = 1; tick(); restart.value = 0\n"
                  "end()\n")
        record, _, _ = self.run_counters("", script)
        kinds = [kind for kind, _ in record.records]
        again = [at for at, kind in enumerate(kinds) if kind == HELLO][1:-1]
        self.assertGreater(len(again), 0)
        self.assertEqual({kinds[at - 1] for at in again}, {STATS})

    def test_a_driver_that_no_one_has_started_can_be_unloaded_while_the_agent_waits_for_it(self):
        script = ("import ctypes, os, time\n"
                  "def mapped(): return 'libcuda.so.1' in open('/proc/self/maps').read()\n"
                  "def load(): return ctypes.CDLL('libcuda.so.1')\n"
                  + THREADS +
                  "driver, agent = load(), ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH'])\n"
                  "agent.gputrace_agent_start(None)\n"
                  "while 'gputrace-agent' not in threads(): time.sleep(0.001)\n"
                  "looked(); print(mapped())\n"  # the agent queries the driver at each look
                  "ctypes.CDLL(None).dlclose(ctypes.c_void_p(driver._handle))\n"
                  "end = time.monotonic() + 60\n"
                  "while mapped() and time.monotonic() < end: time.sleep(0.01)\n"
                  "print(mapped()); load().cuInit(0)\n"
                  "rt = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p(); rt.cudaMalloc(ctypes.byref(p), 64)\n"
                  "while (ctypes.c_uint32 * 3).in_dll(agent, 'gputrace_agent_status')[1] != 2: time.sleep(0.01)\n"
                  "rt.cudaMemset(p, 0, ctypes.c_size_t(64))\n")
        out, record, _ = self.run_to_end([sys.executable, "-c", script], preload=False, LD_LIBRARY_PATH=SIMGPU)
        self.assertEqual(out, "True\nFalse\n")
        self.assertEqual(record.states, [LOADED, READY, STOPPED])
        self.assertEqual(record.stats()["memsets"], 1)

    # ---- problems that other tools have met (SIMGPU_...: tests/simgpu/README.md) ----

    def test_enabling_kernel_records_late_holds_up_no_thread_of_the_program(self):
        gate = self.folder.name + "/gate"
        out, record, entries = self.run_to_end(
            [sys.executable, "-c", self.COUNTERS % "" + "fill(10); end()\n"
             "listening.value = 2; agent.InitializeInjection(); fill(20); print(life())\n"
             f"open('{gate}', 'w').close()\n"
             "while life() != 2: time.sleep(0.01)\n"
             "fill(30)\n"], RECORDER=RECORDER, SIMGPU_ENABLE_GATE=gate)
        self.assertEqual(out, "1\n", "it was still starting")
        fates = {size: {e["fate"] for e in ground_truth.work(entries) if e["bytes"] == size} for size in (10, 20, 30)}
        self.assertEqual(fates, {10: {"sent"}, 20: {"unseen"}, 30: {"sent"}})

    def test_a_count_of_dropped_records_that_is_not_to_be_had_is_reported_as_such(self):
        _, record, entries = self.run_to_end(self.launch(20), SIMGPU_DROPPED_FAILS="1")
        self.check_exact(record, entries)
        self.assertEqual(record.stats()["cupti_dropped"], 0)
        self.assertGreater(record.stats()["dropped_unknown"], 0)

    POOL = 300  # kernel records; a real pool takes some 900,000

    def test_the_agent_limits_no_pool_of_cupti_and_keeps_what_another_has_limited(self):
        limit = ("import ctypes, os\n"
                 "size, value = ctypes.c_size_t(8), ctypes.c_size_t(8)\n"
                 "ctypes.CDLL('libcupti.so.13').cuptiActivitySetAttribute(2, ctypes.byref(size), ctypes.byref(value))\n")
        work = ("import ctypes\n"
                "rt, cu = ctypes.CDLL('libcudart.so.13'), ctypes.CDLL('libcuda.so.1')\n"
                "cu.sim_kernel.restype = ctypes.c_void_p; kernel = ctypes.c_void_p(cu.sim_kernel(b'k_1us'))\n"
                "class Dim3(ctypes.Structure): _fields_ = [(n, ctypes.c_uint) for n in 'xyz']\n"
                "one = Dim3(1, 1, 1)\n"
                f"for _ in range({2 * self.POOL}): rt.cudaLaunchKernel(kernel, one, one, None, ctypes.c_size_t(0), None)\n"
                "rt.cudaDeviceSynchronize()\n")
        for script, untimed in ((work, 0), (limit + work, self.POOL)):
            with self.subTest(untimed=untimed):
                _, record, entries = self.run_to_end([sys.executable, "-c", script], SIMGPU_POOL=str(self.POOL))
                self.assertEqual(len(ground_truth.work(entries)), 2 * self.POOL)
                self.assertEqual([w[1] for w in record.work()], [e["corr"] for e in ground_truth.work(entries)])
                self.assertEqual([sum(not w[4] for w in record.work()), record.stats()["untimed"]], [untimed] * 2)
                self.assertEqual(record.stats()["malformed"], 0)

    # A profiler that registers its own clock, once, before the agent comes.
    CLOCK = ("class Time(ctypes.Structure): _fields_ = [('s', ctypes.c_long), ('ns', ctypes.c_long)]\n"
             "@ctypes.CFUNCTYPE(ctypes.c_uint64)\n"
             "def clock(): return time.monotonic_ns()\n"
             "cupti.cuptiActivityRegisterTimestampCallback(clock)\n")

    def test_no_clock_is_registered_again_in_each_session(self):
        """Each registration would give more records times of another clock: the agent registers one clock, or none."""
        for clock, registered in (("", 0), (self.CLOCK, 2)):
            with self.subTest(registered=registered):
                out, record, entries = self.run_to_end(
                    [sys.executable, "-c", self.COUNTERS % clock + "fill(10); end()\n"
                     "for n in range(20, 50, 10): begin(); fill(n); end()\n"
                     "ctypes.CDLL('libcuda.so.1')\n"
                     "print(ctypes.c_uint.in_dll(cupti, 'sim_clocks_registered').value)\n"],
                    RECORDER=RECORDER, SIMGPU_CLOCK_FALLS="1")
                self.assertEqual(out, f"{registered}\n")
                truth = {e["corr"]: e for e in ground_truth.work(entries)}
                self.assertEqual(len(record.work()), 10 + 20 + 30 + 40)
                for _, corr, _, start, end, *_ in record.work():
                    self.assertLess(abs(start - truth[corr]["start"]), 1000000)
                    self.assertLess(abs(end - truth[corr]["end"]), 1000000)

    def test_while_another_records_only_calls_are_reported_and_then_gpu_work_again(self):
        _, entries, fills = self.run_counters("", "fill(10); tick(); yield_.value = 1; tick(); fill(20)\n"
                                              "for kind in (1, 2, 10, 17): cupti.cuptiActivityDisable(kind)\n"  # as it does
                                              "resume.value = 1; tick(); yield_.value = 0; resume.value = 0; tick(); fill(30)\n")
        self.assertEqual((fills[10], fills[30]), (10, 30))
        self.assertEqual({e["fate"] for e in ground_truth.work(entries) if e["bytes"] == 30}, {"sent"})

    def test_a_session_that_begins_beside_anothers_waits_for_its_end(self):
        record, entries, fills = self.run_counters(
            "def system_threads(): n = ctypes.c_int(); cupti.cuptiGetThreadIdType(ctypes.byref(n)); return n.value\n"
            "yield_.value = 1\n",
            "fill(10); tick(); assert not system_threads(); fill(20)\n"
            "resume.value = 1\n"
            "while not system_threads(): time.sleep(0.01)\n"
            "tick(); yield_.value = 0; resume.value = 0; fill(30)\n")
        self.assertEqual(record.states, [LOADED, READY, STOPPED])
        self.assertEqual([b"kernels" in h[7][2] for h in record.hellos() if h[1] == READY], [False, True])
        sizes = struct.unpack_from("<64H", record.of(SIZES)[0], 8)
        self.assertEqual((sizes[10], sizes[5], sizes[39], sizes[0], sizes[63]), (216, 40, 24, 0, 0), "of 13.0")
        self.assertEqual(fills, {30: 30})
        self.assertGreater(len(record.calls), 60, "calls are reported all the time")
        self.assertEqual({e["fate"] for e in ground_truth.work(entries) if e["bytes"] < 30}, {"unseen"})

    def test_who_ends_beside_another_leaves_it_its_kinds(self):
        for killed in (0, 1):  # when a collector is killed, all its counters drop at once
            with self.subTest(killed=killed):
                _, entries, fills = self.run_counters(
                    "", "fill(10); tick(); yield_.value = 1; tick()\n"
                    f"if {killed}: yield_.value = batches.value = 0\n"
                    "end(); fill(20)\n")
                after = {e["fate"] for e in ground_truth.work(entries) if e["bytes"] == 20}
                self.assertNotIn("unseen", after, "the kind is as much the other's")

    def test_a_collector_killed_when_the_other_has_just_ended_leaves_nothing_on(self):
        """Its counters drop one after the other, so YIELD alone is not a request then."""
        _, entries, fills = self.run_counters(
            "yield_.value = 1\n",
            "fill(10); resume.value = 1\n"
            "n = ctypes.c_int()\n"
            "while cupti.cuptiGetThreadIdType(ctypes.byref(n)) or not n.value: time.sleep(0.01)\n"
            "tick(); fill(20); tick()\n"
            "resume.value = 0; looked(); yield_.value = batches.value = 0; end(); fill(30)\n")
        self.assertEqual(fills, {20: 20})
        self.assertEqual({e["fate"] for e in ground_truth.work(entries) if e["bytes"] == 30}, {"unseen"})

    # The kinds of records that CUPTI delivers when no gputrace is there.
    RECORDED = ("def recorded():\n"
                "    store, kinds = (ctypes.c_uint8 * 65536)(), set()\n"
                "    size, pointer = ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_void_p)\n"
                "    @ctypes.CFUNCTYPE(None, pointer, size, size)\n"
                "    def request(buffer, room, most): buffer[0], room[0], most[0] = ctypes.addressof(store), 65536, 0\n"
                "    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)\n"
                "    def done(context, stream, buffer, room, valid):\n"
                "        record = ctypes.c_void_p()\n"
                "        while not cupti.cuptiActivityGetNextRecord(ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record)):\n"
                "            kinds.add(ctypes.c_uint32.from_address(record.value).value)\n"
                "    cupti.cuptiActivityRegisterCallbacks(request, done)\n"
                "    fill(5); cupti.cuptiActivityFlushAll(1)\n"
                "    cupti.cuptiActivityRegisterCallbacks(None, None)\n"
                "    return kinds\n")

    def test_kinds_that_only_we_wanted_go_with_us_beside_another(self):
        memset, waits = 2, 38
        ends = {"asks for them": ("share.value = 1; tick()", True), "does not": ("tick()", False),
                "has just begun": ("", False), "is not known": ("yield_.value = 0; tick()", True)}
        for other, (script, stays) in ends.items():
            with self.subTest(other=other):
                out, _, _ = self.run_to_end([sys.executable, "-c", self.COUNTERS % self.RECORDED +
                                             "share = counter(agent, 'share_')\n"
                                             "fill(10); tick(); yield_.value = 1; looked()\n"
                                             f"{script}\nend(); print(*recorded())\n"], RECORDER=RECORDER)
                kinds = {int(kind) for kind in out.split()}
                self.assertIn(memset, kinds, "is as much the other's")
                self.assertEqual(waits in kinds, stays)

    def cupti_client(self, *flags):
        """Builds cupti_client.c as a library."""
        library = os.path.join(self.folder.name, "libclient.so")
        subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-g", *flags, "-o", library,
                        os.path.join(HERE, "cupti_client.c"), os.path.join(SIMGPU, "libcupti.so.13")], check=True)
        return library

    WAYS = [(way, buffers) for way in ("forgotten", "given-old", "given-new", "kept-old", "kept-new") for buffers in "01"]

    def on_each_way(self, script, library, **env):
        """{way: (words that the script printed, record, truth)}; all ways run at once, as they mostly wait."""
        command = [sys.executable, "-c", self.COUNTERS % "other = ctypes.CDLL(os.environ['CUPTI_CLIENT'])\n" + script]
        running = {way: self.start(command, RECORDER=RECORDER, CUPTI_CLIENT=library, SIMGPU_OPEN_BUFFERS=way[0],
                                   SIMGPU_THREAD_BUFFERS=way[1], **env) for way in self.WAYS}
        results = {}
        for way, process in running.items():
            out, err = process.communicate(timeout=PATIENCE_S)
            self.assertEqual((process.returncode, err), (0, ""), way)
            results[way] = out.split(), Record(f"{self.folder.name}/record.{process.pid}"), self.truth(process.pid)
        return results

    # The client's session: 20 fills before the collector knows of it, 30 later, and 40 after it.
    SESSION = ("fill(10); other.client_begin(); fill(20); yield_.value = 1; tick(); fill(30)\n"
               "other.client_end(); resume.value = 1; tick(); yield_.value = resume.value = 0; fill(40)\n"
               "print(other.client_fills(20), other.client_fills(30), other.client_unknown())\n")

    def test_another_client_misses_nothing_whatever_cupti_does_with_open_buffers(self):
        """The client gets all records of its own work: the agent flushes its buffers before the client registers."""
        for way, (seen, record, entries) in self.on_each_way(self.SESSION, self.cupti_client()).items():
            with self.subTest(way=way):
                self.assertEqual(seen, ["20", "30", "0"])
                fills = [w for w in record.work() if w[0] == "memset" and w[2] in (10, 40)]
                truth = [w for w in expected_work(entries) if w[0] == "memset" and w[2] in (10, 40)]
                # the last of the first ten may still be on its way, and go to the other client
                self.assertLessEqual({w[1] for w in fills}, {w[1] for w in truth})
                self.assertEqual(sum(w[2] == 40 for w in fills), 40)
                self.assertEqual([record.stats()[loss] for loss in ("misdirected", "malformed", "cupti_dropped")], [0] * 3)

    def test_what_another_client_misses_that_is_not_linked_with_cupti_is_bounded_and_counted(self):
        """The agent learns of a client that asks the loader only when it registers, and flushes its buffers then."""
        most = (16 << 10) // 88  # fills in one buffer
        lost = {}
        for way, (seen, record, entries) in self.on_each_way(self.SESSION, self.cupti_client("-DUNLINKED")).items():
            with self.subTest(way=way):
                got = [int(n) for n in seen]
                lost[way] = 50 - got[0] - got[1]
                self.assertEqual(got[1], 30, "from when it is known nothing is")
                self.assertLessEqual(lost[way], most)
                self.assertLessEqual(lost[way], record.stats()["misdirected"])
        # Where CUPTI keeps open buffers, they have records or not, depending on when the client registers.
        for way, missing in lost.items():
            if not way[0].startswith("kept"):
                self.assertEqual(missing, 0, way)

    def test_a_client_that_only_sets_a_clock_does_not_stop_us(self):
        script = "fill(10); other.client_clock(); fill(20); tick(); tick(); fill(30)\n"
        for way, (_, record, entries) in self.on_each_way(script, self.cupti_client()).items():
            with self.subTest(way=way):
                self.assertEqual(len([w for w in record.work() if w[2] == 30]), 30)

    def test_a_client_finds_cupti_as_it_was_when_we_have_left(self):
        """The client calls CUPTI directly again, also after the collector was killed."""
        script = ("fill(10); tick(); other.client_begin(); other.client_end()\n"
                  "batches.value = 0; end()\n"
                  "other.client_begin(); fill(20); other.client_end(); print(other.client_fills(20))\n")
        for way, (seen, _, _) in self.on_each_way(script, self.cupti_client()).items():
            with self.subTest(way=way):
                self.assertEqual(seen, ["20"])

    def until(self, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), end, "waited for something that did not happen")
            time.sleep(0.01)

    @staticmethod
    def fills_so_far(path):
        try:
            return len(Record(path).of(MEMSET))
        except (AssertionError, struct.error):  # the last batch is still being written
            return 0

    def test_what_was_complete_is_not_lost_when_the_process_dies_without_a_word(self):
        """Only a call of _exit is seen: all that is complete is sent then."""
        for end in ("os.kill(os.getpid(), signal.SIGKILL)", "os._exit(9)", "os.abort()", "os.execv('/bin/false', ['false'])"):
            with self.subTest(end):
                script = ("import ctypes, os, signal, sys\n"
                          "rt = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p(); rt.cudaMalloc(ctypes.byref(p), 64)\n"
                          "for _ in range(500): rt.cudaMemsetAsync(p, 0, ctypes.c_size_t(64), None)\n"
                          "rt.cudaDeviceSynchronize(); print('done', flush=True); sys.stdin.readline()\n" + end + "\n")
                process = self.start([sys.executable, "-c", script], stdin=subprocess.PIPE)
                path = f"{self.folder.name}/record.{process.pid}"
                self.assertEqual(process.stdout.readline(), "done\n")
                self.until(lambda: self.fills_so_far(path) == 500)
                process.communicate("\n", timeout=PATIENCE_S)
                self.assertNotEqual(process.returncode, 0)
                record = Record(path)
                self.assertEqual(record.work(), expected_work(self.truth(process.pid)))
                self.assertEqual(STOPPED in record.states, "_exit" in end)

    def test_the_agents_thread_takes_no_signals(self):
        process = self.start([os.path.join(SIMGPU, "threads"), "one-by-one", "1", "1"], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "done\n")  # it waits for the end of its input now
        status = {}

        def is_there():
            for path in glob.glob(f"/proc/{process.pid}/task/*/status"):
                try:
                    lines = dict(line.split(":\t", 1) for line in read(path).splitlines() if ":\t" in line)
                except OSError:  # the thread has ended
                    continue
                status[lines["Name"]] = int(lines["SigBlk"], 16)
            return "gputrace-agent" in status

        self.until(is_there)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        # all but SIGKILL, SIGSTOP and the two that glibc reserves (32, 33)
        self.assertEqual(status["gputrace-agent"] | 0x1_8004_0100, 0xFFFF_FFFF_FFFF_FFFF)

    def holder(self, subscribe):
        """Builds a library that is injected before the agent and takes the subscriber."""
        client = os.path.join(self.folder.name, "libholder.so")
        source = os.path.join(self.folder.name, "holder.c")
        with open(source, "w") as f:
            f.write("#include <stddef.h>\n"
                    "unsigned cuptiSubscribe(void **, void *, void *);\n"
                    "unsigned cuptiSubscribe_v2(void **, void *, void *, void *);\n"
                    "struct params { size_t size; const char *name; char *old; size_t old_size; };\n"
                    "static void cb(void) {}\n"
                    "int InitializeInjection(void) { void *s; return " + subscribe + " ? 0 : 7; }\n")
        subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", client, source], check=True)
        return client

    def test_the_holder_of_cupti_is_named_when_it_has_given_a_name(self):
        client = self.holder('cuptiSubscribe_v2(&s, (void *)cb, 0, &(struct params){sizeof(struct params), "some tool"})')
        process = self.start(self.launch(5), GPUTRACE_CHAINED_INJECTION=client)
        process.communicate(timeout=PATIENCE_S)
        record = Record(f"{self.folder.name}/record.{process.pid}")
        self.assertEqual([(h[1], h[2], h[7][1]) for h in record.hellos()], [(FAILED, OCCUPIED, b"some tool")])

    def test_an_occupied_cupti_is_left_to_its_owner(self):
        client = self.holder("cuptiSubscribe(&s, (void *)cb, 0)")
        process = self.start(self.launch(5), GPUTRACE_CHAINED_INJECTION=client, SIMGPU_VERBOSE="1")
        _, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0)
        self.assertIn("InitializeInjection() = 7", err, "the user's own library is loaded, and its answer passed on")
        record = Record(f"{self.folder.name}/record.{process.pid}")
        self.assertEqual(record.states, [LOADED, FAILED])
        self.assertEqual([(h[1], h[2], h[3]) for h in record.hellos()], [(FAILED, OCCUPIED, 39)])
        self.assertEqual(record.calls, [])

    def test_a_process_without_cupti_says_where_it_looked(self):
        folder = os.path.join(self.folder.name, "alone")
        os.mkdir(folder)
        for name in ("libcuda.so.1", "libcudart.so.13"):
            with open(os.path.join(SIMGPU, name), "rb") as a, open(os.path.join(folder, name), "wb") as b:
                b.write(a.read())
        process = self.start(self.launch(3), preload_cupti=False, folder=folder, GPUTRACE_CUPTI="")
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0)
        record = Record(f"{self.folder.name}/record.{process.pid}")
        failure = record.hellos()[0]
        if failure[2] == NO_CUPTI:
            self.assertIn(folder.encode(), failure[7][1])
        else:  # a toolkit is installed: the agent finds its CUPTI, which finds no real driver
            self.assertEqual(failure[2], NO_CUDA, failure)
        self.assertEqual(record.states, [LOADED, FAILED])

    def test_a_forked_child_reports_nothing(self):
        script = ("import ctypes, os\n"
                  "rt = ctypes.CDLL('libcudart.so.13'); cu = ctypes.CDLL('libcuda.so.1')\n"
                  "p = ctypes.c_void_p(); rt.cudaMalloc(ctypes.byref(p), 64)\n"
                  "pid = os.fork()\n"
                  "rt.cudaMalloc(ctypes.byref(p), 64)\n"
                  "if pid == 0: raise SystemExit(0)\n"
                  "assert os.waitpid(pid, 0)[1] == 0\n")
        process = self.start([sys.executable, "-c", script])
        _, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, err), (0, ""))
        record = Record(f"{self.folder.name}/record.{process.pid}")
        self.assertEqual([a for _, a, _ in record.calls].count(2 << 12 | 20), 2)
        self.assertEqual({t for _, _, t in record.calls}, {process.pid})
        self.assertEqual(record.states, [LOADED, READY, STOPPED])

    def cupti_of_13_2(self):
        """Builds a stand-in that looks like CUPTI 13.2, which crashes when it is called without a usable driver."""
        source, library = self.folder.name + "/fragile.c", self.folder.name + "/libcupti-fragile.so.13"
        with open(source, "w") as f:
            f.write("#include <stdlib.h>\n"
                    "int cuDeviceGetCount(int *); unsigned cuptiActivityEnable_v2(void) { return 0; }\n"
                    "unsigned cuptiGetVersion(unsigned *v) {\n"
                    "    int n; if (cuDeviceGetCount(&n) || !n) abort();\n"
                    "    *v = 130202; return 0;\n}\n")
        subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", library, source, "-Wl,--no-as-needed",
                        os.path.join(SIMGPU, "libcupti.so.13"), "-Wl,-rpath," + SIMGPU], check=True)
        return library

    def test_a_cupti_that_crashes_without_a_driver_is_not_called_before_there_is_one(self):
        script = ("import ctypes, os, time\n"
                  "cu = ctypes.CDLL('libcuda.so.1'); rt = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p()\n"
                  "state = ctypes.c_uint.in_dll(ctypes.CDLL(os.environ['RECORDER']), 'agent_recorder_state')\n"
                  "print(cu.cuInit(0))\n"
                  f"while state.value not in ({READY}, {FAILED}): time.sleep(0.01)\n"
                  "rt.cudaMalloc(ctypes.byref(p), 64)\n")
        for devices, states, failure in ((1, [LOADED, READY, STOPPED], OK), (0, [LOADED, FAILED], NO_CUDA)):
            with self.subTest(devices=devices):
                out, record, _ = self.run_to_end([sys.executable, "-c", script], preload_cupti=False, RECORDER=RECORDER,
                                                 GPUTRACE_CUPTI=self.cupti_of_13_2(), SIMGPU_DEVICES=str(devices),
                                                 SIMGPU_CUPTI_VERSION="13.2")
                self.assertEqual(out, "0\n" if devices else "100\n")
                self.assertEqual(record.states, states)
                self.assertEqual((record.hellos()[-1][2], record.hellos()[-1][4]), (failure, 130202 if devices else 130200))
                self.assertEqual(len(record.calls), devices)

    def test_many_threads_lose_nothing(self):
        script = ("import ctypes, threading\n"
                  "rt = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p(); rt.cudaMalloc(ctypes.byref(p), 4096)\n"
                  "def work():\n"
                  "    for _ in range(2000): rt.cudaMemsetAsync(p, 0, ctypes.c_size_t(64), None)\n"
                  "    rt.cudaDeviceSynchronize()\n"
                  "ts = [threading.Thread(target=work) for _ in range(8)]\n"
                  "[t.start() for t in ts]; [t.join() for t in ts]\n")
        _, record, entries = self.run_to_end([sys.executable, "-c", script])
        self.assertEqual(record.work(), expected_work(entries))
        self.assertEqual(record.stats()["memsets"], 16000)
        self.assertEqual(sorted(c for c, _, _ in record.calls), sorted(e["corr"] for e in followed(entries, self.apis)))
        self.assertEqual(len(record.returns()), len(record.calls))

    POOL_KB = 64 << 10  # BUFFERS_MAX buffers of BUFFER_BYTES, plus one

    def pool_memory(self, pid):
        """The resident memory of the agent's buffers, in KB."""
        size = None
        for line in read(f"/proc/{pid}/smaps").splitlines():
            words = line.split()
            if words[0] == "Size:":
                size = int(words[1])
            elif words[0] == "Rss:" and self.POOL_KB < size <= self.POOL_KB + 64:
                return int(words[1])
        return None

    def run_threads(self, how, threads, launches):
        """Many threads, each with a buffer of its own, lose no launch within 64 MB."""
        process = self.start([os.path.join(SIMGPU, "threads"), how, str(threads), str(launches)], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "done\n")
        # memory that was needed briefly is returned while the program runs
        self.until(lambda: (self.pool_memory(process.pid) or 0) < 2048)
        _, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, err), (0, ""))
        record, entries = Record(f"{self.folder.name}/record.{process.pid}"), self.truth(process.pid)
        stats = record.stats()
        self.assertEqual([stats[loss] for loss in ("buffers_refused", "cupti_dropped", "malformed", "untimed")], [0] * 4)
        self.assertEqual(stats["kernels"], threads * launches)
        self.assertEqual(record.work(), expected_work(entries))

    def test_a_thousand_threads_at_once_lose_nothing(self):
        self.run_threads("at-once", 1000, 30)

    def test_ten_thousand_short_threads_lose_nothing(self):
        self.run_threads("one-by-one", 10000, 2)


if __name__ == "__main__":
    AGENT, RECORDER, SIMGPU = (os.path.abspath(p) for p in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
