# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Common programs read the files: HTA and its validator, flamegraph.pl."""

import json
import os
import pathlib
import re
import subprocess

import chrome_invariants as chrome

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 20


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr[-4000:]
    return done


def test_hta_loads_the_trace_and_runs_its_analyses(sample, hta_python):
    # No rounding to microseconds, so that sums can be compared exactly.
    done = run(hta_python, HERE / "run_hta.py", sample / "sample.json",
               env={**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"})
    found = json.loads(done.stdout.splitlines()[-1])
    trace = chrome.load(sample / "sample.json")
    processes = int((sample / "processes").read_text())
    assert found["gpu_rows"] == found["gpu_rows_joined"] == len(chrome.events(trace, *chrome.GPU)) + len(chrome.stream_waits(trace))
    assert found["launches"] == 3 * STEPS * processes  # cudaLaunchKernel, cudaMemcpyAsync, cudaMemsetAsync
    assert found["streams_with_queue"] == processes
    assert found["bandwidth_series"] == ["Memcpy HtoD", "Memset"]
    assert found["idle_categories"] == ["host_wait", "kernel_wait", "other"]
    assert found["critical_path"]
    assert round(found["kernel_us"]["triton_poi_fused_relu_0"], 3) == 60 * STEPS * processes


def test_htas_validator_finds_nothing_to_complain_about(sample, hta_python):
    for name in ("sample.json", "sample.json.gz"):
        done = run(hta_python, "-m", "hta.utils.validate_trace", sample / name, "--level", "complete")
        assert "Validation result: True" in done.stdout + done.stderr


def test_htas_validator_does_complain_about_a_trace_that_is_wrong(sample, hta_python, tmp_path):
    trace = chrome.load(sample / "sample.json")
    for event in chrome.events(trace, "kernel"):
        event["args"]["correlation"] = "one"
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(trace))
    done = subprocess.run([hta_python, "-m", "hta.utils.validate_trace", path, "--level", "complete"],
                          capture_output=True, text=True)
    assert "Validation result: True" not in done.stdout + done.stderr


def test_flamegraph_draws_every_frame(sample, flamegraph):
    done = run("perl", flamegraph, "--countname", "ns", sample / "sample.folded")
    assert "Ignored" not in done.stderr
    titles = re.findall(r"<title>(.*?) \(([\d,]+) ns, ", done.stdout)
    drawn = {name for name, _ in titles}
    total = sum(int(line.rsplit(" ", 1)[1]) for line in (sample / "sample.folded").read_text().splitlines())
    assert {"python3", "main (train.py:97)", "Block.forward (model.py:42)", "cudaGraphLaunch",
            "Memcpy HtoD (Pageable -) Device)"} <= drawn  # it writes < and > as parentheses
    assert max(int(count.replace(",", "")) for _, count in titles) == total


def test_the_report_names_the_lines(sample):
    report = (sample / "report.txt").read_text()
    # Of several processes on one GPU all that is late is so after a wait.
    waited = (sample / "cpu").exists() or report.count(" calls, ") > 1
    late = "after cudaStreamSynchronize" if waited else "launched late"
    for text in ("model.py:42", "train_step", "gemm<128>",
                 "Host to Device", "waited in cudaStreamSynchronize", late, "Complete: "):
        assert text in report
