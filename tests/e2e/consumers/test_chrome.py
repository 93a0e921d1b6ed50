# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The Chrome trace keeps its rules, and the check of each rule finds a violation."""

import copy

import chrome_invariants as chrome
import pytest

STEPS = 20
GPU_NS_PER_STEP = 305000


def processes(sample):
    return int((sample / "processes").read_text())


def test_every_rule_holds(sample):
    chrome.assert_valid(sample / "sample.json")


def test_gzip_holds_the_same(sample):
    assert chrome.read(sample / "sample.json.gz") == chrome.read(sample / "sample.json")


def test_all_gpu_time_is_there_once(sample):
    trace = chrome.load(sample / "sample.json")
    total = sum(chrome.ns(e["dur"]) for e in chrome.events(trace, *chrome.GPU))
    assert total == GPU_NS_PER_STEP * STEPS * processes(sample)


def test_gpu_work_hangs_on_the_call_of_its_own_process(sample):
    trace = chrome.load(sample / "sample.json")
    by_api = {}
    for api, gpu in chrome.correlations(trace).values():
        by_api.setdefault(api["name"], []).append([e["name"] for e in gpu])
        for event in gpu:
            assert event["args"].get("process", 41230) == api["pid"]
    gemm = "void gemm<128>(float const*, float*)"
    relu = "triton_poi_fused_relu_0"
    count = STEPS * processes(sample)
    assert by_api["cudaLaunchKernel"] == [[gemm]] * count
    assert by_api["cuLaunchKernel"] == [[gemm]] * count
    assert by_api["cudaMemcpyAsync"] == [["Memcpy HtoD (Pageable -> Device)"]] * count
    assert by_api["cudaMemsetAsync"] == [["Memset (Device)"]] * count
    assert by_api["cudaGraphLaunch"] == [[relu, relu, gemm]] * count
    assert by_api["cudaStreamSynchronize"] == [[]] * count


def test_launches_name_the_executing_lines_innermost_first(sample):
    trace = chrome.load(sample / "sample.json")
    stacks = {e["args"].get("Call stack") for e in chrome.events(trace, "cuda_runtime") if e["name"] == "cudaLaunchKernel"}
    assert stacks == {
        "/home/user/model.py(42): Block.forward;/home/user/train.py(23): train_step;/home/user/train.py(97): main"
    }


def test_overlapping_kernels_of_a_stream_keep_the_stream_and_get_a_row(sample):
    trace = chrome.load(sample / "sample.json")
    rows = {}
    for event in chrome.events(trace, *chrome.GPU):
        rows.setdefault(event["args"]["stream"], set()).add(event["tid"])
    assert len(rows) == processes(sample)
    assert all(len(tids) == 2 for tids in rows.values())


def test_python_functions_enclose_their_calls(sample):
    trace = chrome.load(sample / "sample.json")
    forward = [e for e in chrome.events(trace, "python_function") if e["name"].endswith("model.py(40): Block.forward")]
    assert len(forward) == STEPS * processes(sample)
    assert all(e["args"]["from"] == "snapshots" for e in forward)
    launches = [e for e in chrome.events(trace, "cuda_runtime") if e["name"] == "cudaLaunchKernel"]
    for launch in launches:
        assert any(f["tid"] == launch["tid"] and f["ts"] <= launch["ts"] and
                   launch["ts"] + launch["dur"] <= f["ts"] + f["dur"] + 1e-6 for f in forward)


def test_collections_and_imports_have_rows_of_their_own(sample):
    trace = chrome.load(sample / "sample.json")
    inside = chrome.events(trace, "python_gc", "python_import")
    assert sorted({e["name"] for e in inside}) == ["gc generation 1", "import layers", "import model"]
    assert len(inside) == (STEPS + 2) * processes(sample)
    assert {chrome.ns(e["dur"]) for e in inside} == {40000, 300000, 500000}
    others = {(e["pid"], e["tid"]) for e in chrome.events(trace) if e not in inside}
    assert not others & {(e["pid"], e["tid"]) for e in inside}


def broken(change):
    """The name of the test of one broken rule."""
    return pytest.param(change, id=change.__name__)


def first(trace, cat):
    return chrome.events(trace, cat)[0]


def name_missing(trace):
    del first(trace, "kernel")["name"]


def launch_as_first_event(trace):
    trace["traceEvents"].insert(0, first(trace, "cuda_runtime"))


def stream_on_a_cpu_row(trace):
    first(trace, "cuda_runtime")["args"]["stream"] = 7


def two_calls_with_one_correlation(trace):
    calls = chrome.events(trace, "cuda_runtime")
    calls[1]["args"]["correlation"] = calls[0]["args"]["correlation"]


def kernel_without_its_call(trace):
    call = first(trace, "cuda_driver")
    trace["traceEvents"].remove(call)


def kernels_overlap_on_a_row(trace):
    kernels = [e for e in chrome.events(trace, *chrome.GPU) if e["tid"] == first(trace, "kernel")["tid"]]
    kernels[0]["dur"] = kernels[1]["ts"] - kernels[0]["ts"] + 1


def slices_overlap_partially(trace):
    forward = [e for e in chrome.events(trace, "python_function") if "Block.forward" in e["name"]][0]
    forward["ts"] += 0.5


def kernel_before_its_launch(trace):
    kernel = first(trace, "kernel")
    kernel["ts"] = 0.0
    for event in trace["traceEvents"]:
        if event["ph"] == "f" and event["id"] == kernel["args"]["correlation"]:
            event["ts"] = 0.0


def flow_without_end(trace):
    trace["traceEvents"].remove(next(e for e in trace["traceEvents"] if e["ph"] == "f"))


def flow_in_front_of_its_slice(trace):
    events = trace["traceEvents"]
    end = next(e for e in events if e["ph"] == "f")
    events.remove(end)
    events.insert(next(i for i, e in enumerate(events) if e["ph"] == "X" and all(e[k] == end[k] for k in ("pid", "tid", "ts"))), end)


def bandwidth_as_text(trace):
    first(trace, "gpu_memcpy")["args"]["bytes"] = "1000"


def occupancy_beyond_full(trace):
    first(trace, "kernel")["args"]["est. achieved occupancy %"] = 101


def negative_duration(trace):
    first(trace, "kernel")["dur"] = -1


def key_that_hta_takes_for_a_column(trace):
    first(trace, "kernel")["iteration"] = 1


def parent_that_is_not_there(trace):
    chrome.events(trace, "python_function")[1]["args"]["Python parent id"] = 10**9


def thread_zero(trace):
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] == "cuda_driver":
            event["tid"] = 0


def wait_of_a_kind_that_hta_does_not_know(trace):
    first(trace, "cuda_sync")["name"] = "Device Sync"


def wait_for_everything_on_a_stream(trace):
    first(trace, "cuda_sync").update(name="Context Sync")
    first(trace, "cuda_sync")["args"]["cuda_sync_kind"] = "Context Sync"


def wait_without_its_call(trace):
    first(trace, "cuda_sync")["args"]["correlation"] = 10**8


def memory_that_does_not_add_up(trace):
    next(e for e in trace["traceEvents"] if e["ph"] == "i")["args"]["Bytes"] += 1


CHANGES = [name_missing, launch_as_first_event, stream_on_a_cpu_row, two_calls_with_one_correlation,
           kernel_without_its_call, kernels_overlap_on_a_row, slices_overlap_partially, kernel_before_its_launch,
           flow_without_end, flow_in_front_of_its_slice, bandwidth_as_text, occupancy_beyond_full, negative_duration,
           key_that_hta_takes_for_a_column, parent_that_is_not_there, thread_zero,
           wait_of_a_kind_that_hta_does_not_know, wait_for_everything_on_a_stream, wait_without_its_call,
           memory_that_does_not_add_up]


@pytest.mark.parametrize("change", [broken(change) for change in CHANGES])
def test_a_broken_rule_is_seen(sample, change):
    trace = copy.deepcopy(chrome.load(sample / "sample.json"))
    assert not chrome.violations_of(trace)
    change(trace)
    assert chrome.violations_of(trace)


@pytest.mark.parametrize("launch", ["not seen", "before the trace", "before the slice"])
def test_work_whose_launch_is_not_in_the_file_has_a_number_of_its_own(sample, launch):
    trace = chrome.load(sample / "sample.json")
    args = first(trace, "kernel")["args"]
    args["launch"] = launch
    assert chrome.violations_of(trace)
    args["correlation"] = 10**9
    assert not chrome.violations_of(trace)


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1, "a": 2}', '{"a": "\x01"}', '{"a": 1,}'])
def test_json_that_is_not_strict_is_refused(text):
    with pytest.raises(ValueError):
        chrome.parse(text.encode())
