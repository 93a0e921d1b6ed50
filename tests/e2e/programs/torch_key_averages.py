# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Feeds the ops, calls and kernels of gputrace's trace to PyTorch: usage: torch_key_averages.py TRACE.json.
Prints the rows of its key_averages() as JSON."""

import json
import sys

from torch.autograd import DeviceType
from torch.autograd.profiler_util import EventList, FunctionEvent

OPS = ("cpu_op", "user_annotation")
CALLS = ("cuda_runtime", "cuda_driver")
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
HIDDEN = ("profiler::_record_function_enter_new", "aten::is_leaf", "aten::output_nr", "aten::_version")


def times(event):
    """Times in ns; PyTorch only adds and subtracts them."""
    begin = round(float(event["ts"]) * 1000)
    return begin, begin + round(float(event["dur"]) * 1000)


def function_event(number, event, on_cpu):
    begin, end = times(event)
    return FunctionEvent(
        id=number, name=event["name"], thread=event["tid"], start_us=begin, end_us=end, use_device="cuda",
        device_type=DeviceType.CPU if on_cpu else DeviceType.CUDA, input_shapes=[], stack=[],
        is_user_annotation=event["cat"] == "user_annotation")


def is_op(event):
    """Excludes the steps that gputrace adds."""
    return event["cat"] in OPS and event["name"] not in HIDDEN and not event["name"].startswith("ProfilerStep#")


def main():
    with open(sys.argv[1]) as file:
        trace = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    found, by_id = [], {}
    for number, event in enumerate(trace):
        if is_op(event) or event["cat"] in CALLS:
            found.append(function_event(number, event, True))
        if is_op(event):
            by_id[event["args"]["External id"]] = found[-1]
    for number, event in enumerate(trace):
        if event["cat"] in GPU:
            found.append(function_event(number, event, False))
            op = by_id.get(event["args"].get("External id"))
            if op and not op.is_user_annotation:
                op.append_kernel(event["name"], 0, found[-1].time_range.elapsed_us())
    found.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    events = EventList(found, use_device="cuda")
    events._build_tree()
    json.dump([{"name": row.key, "count": row.count, "inside": row.cpu_parent is not None,
                "cpu": row.cpu_time_total, "cpu_self": row.self_cpu_time_total, "gpu": row.device_time_total,
                "gpu_self": row.self_device_time_total} for row in events.key_averages()], sys.stdout)


main()
