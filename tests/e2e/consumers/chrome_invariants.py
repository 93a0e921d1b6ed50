# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rules that must hold for every Chrome trace that gputrace writes, whatever was traced.

violations(path) returns one line per rule that is broken; assert_valid(path) fails with them.  Other tests use
load(path), events(trace, cat) and correlations(trace) to read a trace.
"""

import collections
import gzip
import json
import re

API = {"cuda_runtime", "cuda_driver"}
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
CPU = API | {"python_function", "python_gc", "python_import", "user_annotation", "overhead", "jit",
             "cpu_op", "off_cpu", "cpu_sample", "layer"}
SYNC = {"cuda_sync"}
EVENT_KEYS = {"ph", "name", "cat", "pid", "tid", "ts", "dur", "id", "bp", "s", "args"}
PHASES = {"X", "M", "s", "f", "i", "C"}
REPORTED = 20  # violations reported per rule

_number = (int, float)
_int3 = "three integers"
COMMON = {"External id": int, "correlation": int}
PLACE = {"device": int, "context": int, "stream": int}
ARGS = {
    "cuda_runtime": {**COMMON, "cbid": int},
    "cuda_driver": {**COMMON, "cbid": int},
    "kernel": {**COMMON, **PLACE, "queued": int, "registers per thread": int, "shared memory": int,
               "blocks per SM": _number, "warps per SM": _number, "grid": _int3, "block": _int3,
               "est. achieved occupancy %": int},
    "gpu_memcpy": {**COMMON, **PLACE, "bytes": int},
    "gpu_memset": {**COMMON, **PLACE, "bytes": int},
    "python_function": {"Python id": int},
    "layer": {},
    "python_gc": {"thread": int},
    "python_import": {"module": str, "thread": int},
    "user_annotation": {"External id": int},
    "cpu_op": {"External id": int, "Record function id": int, "Ev Idx": int},
    "overhead": {},
    "jit": {"cache bytes": int},
    "off_cpu": {"thread": int},
    "cpu_sample": {"thread": int, "period ns": int},
    "cuda_sync": {"cuda_sync_kind": str, "correlation": int, **PLACE},
}


MOST = 1 << 30  # bytes that are read: of the whole machine a test reads its own processes (tracing.export_process)


def read(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rb") as file:
        raw = file.read(MOST + 1)
    assert len(raw) <= MOST, f"{path} is larger than a test may read"
    return raw


def parse(raw):
    """Parses strictly: UTF-8, no NaN or Infinity, no key twice in one object."""

    def constant(name):
        raise ValueError(f"{name} is not JSON")

    def unique(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError(f"a key twice in {[key for key, _ in pairs]}")
        return found

    return json.loads(raw.decode("utf-8"), parse_constant=constant, object_pairs_hook=unique)


def load(path):
    return parse(read(path))


def events(trace, *cats):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and (not cats or e["cat"] in cats)]


def stream_waits(trace):
    """Waits on the row of a stream: HTA takes them for GPU rows."""
    return [e for e in events(trace, *SYNC) if e["args"]["stream"] > 0]


def correlations(trace):
    """{correlation: (API row, [GPU rows])}"""
    rows = {e["args"]["correlation"]: (e, []) for e in events(trace, *API)}
    for event in events(trace, *GPU):
        if event["args"]["correlation"] in rows:
            rows[event["args"]["correlation"]][1].append(event)
    return rows


def ns(microseconds):
    return round(microseconds * 1000)


def _is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _raw(text):
    if re.search(r"\\u[dD][89abAB]", text):
        yield "a surrogate escape: Perfetto rejects it"
    for match in re.finditer(r'"(?:ts|dur)":([^,}]*)', text):
        if not re.fullmatch(r"\d+\.\d{3}", match.group(1)):
            yield f"{match.group(0)} has not exactly three decimals"


def _file(trace):
    keys = list(trace)
    for key in ("schemaVersion", "deviceProperties", "displayTimeUnit", "baseTimeNanoseconds", "gputrace"):
        if key not in keys:
            yield f"no {key}"
    if set(keys[keys.index("traceEvents") + 1:]) - {"gputrace"}:  # allowed there, for long logs
        yield "something after traceEvents: streaming readers do not see it"
    if not trace["traceEvents"]:
        yield "traceEvents is empty"
    elif trace["traceEvents"][0]["ph"] != "M":
        yield "event 0 is not metadata"


def _shape(trace):
    for index, event in enumerate(trace["traceEvents"]):
        where = f"event {index} ({event.get('name')})"
        if not isinstance(event.get("name"), str) or not event["name"]:
            yield f"{where} has no name"
        if event.get("ph") not in PHASES:
            yield f"{where} has phase {event.get('ph')}"
        if set(event) - EVENT_KEYS:
            yield f"{where} has keys {sorted(set(event) - EVENT_KEYS)}"
        if not isinstance(event.get("ts"), _number) or event["ts"] < 0:
            yield f"{where} has ts {event.get('ts')!r}"
        if not _is_int(event.get("pid")) or not _is_int(event.get("tid")):
            yield f"{where} has pid {event.get('pid')!r}, tid {event.get('tid')!r}"
        if event.get("ph") != "X":
            continue
        if not isinstance(event.get("cat"), str) or event["cat"] not in CPU | GPU | SYNC:
            yield f"{where} has category {event.get('cat')!r}"
        if not isinstance(event.get("dur"), _number) or event["dur"] < 0:
            yield f"{where} has dur {event.get('dur')!r}"
        if not isinstance(event.get("args"), dict):
            yield f"{where} has args {event.get('args')!r}"


def _args(trace):
    for event in events(trace):
        cat, args = event["cat"], event["args"]
        for name, kind in ARGS[cat].items():
            value = args.get(name)
            if kind is _int3:
                good = isinstance(value, list) and len(value) == 3 and all(_is_int(v) for v in value)
            elif kind is int:
                good = _is_int(value)
            else:
                good = isinstance(value, kind) and not isinstance(value, bool)
            if not good:
                yield f"{cat} {event['name']}: {name} is {value!r}"
        if cat in CPU:
            if "stream" in args:
                yield f"{cat} {event['name']} has a stream: HTA takes it for a kernel"
            if event["pid"] <= 0 or event["tid"] <= 0:
                yield f"{cat} {event['name']}: pid {event['pid']}, tid {event['tid']} are not positive"
        if cat not in API | GPU | SYNC and "correlation" in args:
            yield f"{cat} {event['name']} has a correlation"
        if cat in GPU | SYNC and args.get("device") != event["pid"]:
            yield f"{cat} {event['name']}: device {args.get('device')} under pid {event['pid']}"
        if cat in GPU and not args.get("stream", 0) > 0:
            yield f"{cat} {event['name']}: stream {args.get('stream')}"
        if cat in {"gpu_memcpy", "gpu_memset"}:
            bandwidth = args.get("memory bandwidth (GB/s)")
            if (bandwidth is None) != (event["dur"] == 0):
                yield f"{cat} {event['name']}: bandwidth {bandwidth!r} for dur {event['dur']}"
        if cat == "kernel" and not 0 <= args.get("est. achieved occupancy %", -1) <= 100:
            yield f"kernel {event['name']}: occupancy {args.get('est. achieved occupancy %')}"


SYNC_OF_A_STREAM = {"Stream Sync": True, "Stream Wait Event": True, "Event Sync": False, "Context Sync": False}


def _syncs(trace):
    api = {e["args"]["correlation"]: e for e in events(trace, *API)}
    for event in events(trace, *SYNC):
        name, args = event["name"], event["args"]
        if name not in SYNC_OF_A_STREAM or args["cuda_sync_kind"] != name:
            yield f"{name}, kind {args['cuda_sync_kind']}: HTA ends its critical path there"
        elif (args["stream"] > 0) != SYNC_OF_A_STREAM[name]:
            yield f"{name} with stream {args['stream']}"
        if event["tid"] <= 0:
            yield f"{name}: tid {event['tid']}"
        if ("Event" in name) != ("wait_on_cuda_event_id" in args):
            yield f"{name} with {sorted(args)}"
        recorded = args.get("wait_on_cuda_event_record_corr_id", -1)
        if recorded != -1 and "EventRecord" not in api.get(recorded, {"name": ""})["name"]:
            yield f"{name} waits for {recorded}, which records no event"
        if (args["correlation"] in api) == ("call" in args):
            yield f"{name}: correlation {args['correlation']} and call {args.get('call', 'seen')}"


def _instant(event, *names):
    if event["name"] not in names or (event["cat"], event["s"]) != ("cpu_instant_event", "t") or event["tid"] <= 0:
        yield f"instant {event['name']}, {event['cat']}, {event['s']}, tid {event['tid']}"


def _torch_memory(event):
    """An event of one of PyTorch's allocators."""
    out = event["name"] == "[OutOfMemory]"
    wanted = {"Device Type", "Device Id", "Bytes", "Total Allocated", "Total Reserved"} | (set() if out else {"Addr"})
    if not all(_is_int(event["args"].get(name)) for name in wanted):
        yield f"{event['name']}: {event['args']}"
    if (event["args"]["Device Id"] == -1) != (event["args"]["Device Type"] == 0):
        yield f"{event['name']} on device {event['args']['Device Id']} of type {event['args']['Device Type']}"
    yield from _instant(event, "[memory]", "[OutOfMemory]")


def _memory(trace):
    total = {}
    for event in trace["traceEvents"]:
        if event["ph"] != "i" or event["cat"] == "nvtx_mark":
            continue
        args = event["args"]
        place = args["Device Type"], args["Device Id"]
        if "kind" not in args:
            yield from _torch_memory(event)
            continue
        if not all(_is_int(args[name]) for name in ("Addr", "Bytes", "Total Allocated", "Total Reserved")):
            yield f"{event['name']}: {args}"
        elif args["Bytes"] >= 0 and total.get(place, 0) + args["Bytes"] != args["Total Allocated"]:
            yield f"{event['name']}: {args['Bytes']} make {total.get(place, 0)} {args['Total Allocated']}"
        yield from _instant(event, "[memory]", "[CUDA memory]")
        total[place] = args["Total Allocated"]


def _nesting(trace):
    rows = collections.defaultdict(list)
    for event in events(trace):
        start = ns(event["ts"])
        rows[event["pid"], event["tid"]].append((start, -ns(event["dur"]), event["name"], event["cat"]))
    for (pid, tid), slices in rows.items():
        open_until = []
        for start, minus_length, name, cat in sorted(slices):
            end = start - minus_length
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if open_until and end > open_until[-1]:
                yield f"pid {pid} tid {tid}: {name} at {start} ns overlaps what is open"
            if cat in GPU and open_until:
                yield f"pid {pid} tid {tid}: {name} at {start} ns lies inside another operation"
            open_until.append(end)


def _joins(trace):
    slack = trace["gputrace"]["receipt"]["clock_error_ns"]
    api = collections.Counter(e["args"]["correlation"] for e in events(trace, *API))
    starts = {e["args"]["correlation"]: ns(e["ts"]) for e in events(trace, *API)}
    early = 0
    for correlation, count in api.items():
        if count > 1:
            yield f"{count} API rows with correlation {correlation}"
    for event in events(trace, *GPU):
        captured = event["args"].get("captured by")
        if captured is not None and (captured not in api or "graph id" not in event["args"]):
            yield f"{event['name']}: captured by {captured}, which is no call, or not in a graph"
        correlation = event["args"]["correlation"]
        if event["args"].get("launch") in ("not seen", "before the trace", "before the slice"):
            if correlation in api:
                yield f"{event['name']}: launch not in the file, yet correlation {correlation} has an API row"
        elif correlation not in api:
            yield f"{event['name']}: no API row with correlation {correlation}"
        elif ns(event["ts"]) + slack < starts[correlation]:
            early += 1
    if early > trace["gputrace"]["receipt"]["early"]:
        yield f"{early} GPU rows begin before their API row, the receipt says {trace['gputrace']['receipt']['early']}"


def _flows(trace):
    ends = collections.defaultdict(list)
    starts = collections.defaultdict(set)  # (pid, tid): slices' starts so far; Perfetto needs slices before arrows
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] != "python_function":
            starts[event["pid"], event["tid"]].add(ns(event["ts"]))
        elif event["ph"] in "sf":
            ends[event["cat"], event["id"]].append((event["ph"], ns(event["ts"])))
            forward = (event["ph"], event["cat"]) == ("s", "fwdbwd")  # written next to their other end
            if not forward and ns(event["ts"]) not in starts[event["pid"], event["tid"]]:
                yield f"flow {event['id']} {event['ph']}: not after the slice it belongs to"
            if event["ph"] == "f" and event.get("bp") != "e":
                yield f"flow {event['id']} would bind to the next slice"
    for flow, found in ends.items():
        if sorted(phase for phase, _ in found) != ["f", "s"]:
            yield f"flow {flow} has ends {[phase for phase, _ in found]}"
        elif dict(found)["s"] > dict(found)["f"]:
            yield f"flow {flow} ends before it starts"


def _ops(trace):
    """Each op and annotation has a unique External id, and calls and GPU rows within one have the id of one."""
    numbered = collections.Counter(e["args"]["External id"] for e in events(trace, "cpu_op", "user_annotation"))
    for number, count in numbered.items():
        if count > 1:
            yield f"External id {number} {count} times"
    for event in events(trace, *API, *GPU):
        if event["args"]["External id"] and event["args"]["External id"] not in numbered:
            yield f"{event['name']}: External id {event['args']['External id']} is no op's"


def _python(trace):
    ids = {}
    for event in events(trace, "python_function"):
        if event["args"]["Python id"] in ids:
            yield f"Python id {event['args']['Python id']} twice"
        ids[event["args"]["Python id"]] = event
    for event in ids.values():
        if "Python parent id" not in event["args"]:
            continue
        parent = ids.get(event["args"]["Python parent id"])
        if not parent:
            yield f"{event['name']}: no parent {event['args']['Python parent id']}"
        elif (parent["pid"], parent["tid"]) != (event["pid"], event["tid"]) or parent["ts"] > event["ts"]:
            yield f"{event['name']} is not inside its parent {parent['name']}"


def _text(raw):
    for match in re.finditer(r'"rank":(\s*)', raw):
        if not match.group(1):
            yield "HTA does not find a rank without a blank before it"


def violations(path):
    raw = read(path)
    return violations_of(parse(raw), raw.decode("utf-8"))


def violations_of(trace, raw=""):
    found = []
    for rule, subject in ((_raw, raw), (_text, raw), (_file, trace), (_shape, trace)):
        found += list(rule(subject))[:REPORTED]
    if found:  # the other rules rely on the shape
        return found
    for rule in (_args, _syncs, _memory, _nesting, _joins, _flows, _ops, _python):
        found += list(rule(trace))[:REPORTED]
    return found


def assert_valid(path):
    """Returns the trace."""
    raw = read(path)
    trace = parse(raw)
    found = violations_of(trace, raw.decode("utf-8"))
    assert not found, "\n".join(found)
    return trace
