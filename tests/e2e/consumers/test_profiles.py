# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The sample log's profiles, in the programs they are for: pprof, pstats, snakeviz, speedscope's schema."""

import json
import subprocess
import sys

import profiles
import pytest
from fetching import fetched

STEPS = 20
GPU_NS = 305000  # per step, tests/unit/test_export_log.h
WORK = 5  # calls per step that give the GPU work


@pytest.fixture(scope="session")
def pprof():
    return fetched("get-pprof")


def steps_of(sample):
    return STEPS * int((sample / "processes").read_text())


def folded(path):
    """{stack as in the profiles, but files without folders: value}"""
    found = {}
    for line in path.read_text().splitlines():
        stack, _, value = line.rpartition(" ")
        found[stack] = int(value)
    return found


def as_folded(stacks):
    return {";".join(f"{name} ({file.rpartition('/')[2]}:{line})" if file else name for name, file, line in stack): value
            for stack, value in stacks.items()}


def assert_follows_the_schema(path):
    sys.path.insert(0, fetched("get-pypi", sys.executable, "jsonschema==4.26.0"))
    try:
        import jsonschema
    finally:
        sys.path.pop(0)
    jsonschema.validate(json.loads(path.read_bytes().decode("utf-8", "strict")), profiles.SPEEDSCOPE_SCHEMA)


def test_speedscope_files_follow_their_schema(sample):
    assert_follows_the_schema(sample / "sample.speedscope.json")


def test_speedscope_and_pprof_have_the_stacks_of_the_folded_file(sample, pprof):
    wanted = folded(sample / "sample.folded")
    assert as_folded(profiles.speedscope(sample / "sample.speedscope.json")["GPU time"]) == wanted
    assert as_folded(profiles.pprof(pprof, sample / "sample.pb.gz")["gpu_time"]) == wanted


def test_launches_are_counted_once_each(sample, pprof):
    wanted = WORK * steps_of(sample)
    launches = profiles.speedscope(sample / "sample.speedscope.json")["launches"]
    assert sum(launches.values()) == wanted
    assert profiles.pprof(pprof, sample / "sample.pb.gz")["launches"] == launches


def test_pprofs_top_names_kernels_with_their_gpu_time(sample, pprof):
    done = subprocess.run([pprof, "-top", "-unit=ns", "-nodecount=1000", "-nodefraction=0", sample / "sample.pb.gz"],
                          check=True, capture_output=True, text=True)
    rows = {line.split(None, 5)[5]: line.split()[0] for line in done.stdout.splitlines() if "%" in line and "ns" in line.split()[0]}
    assert rows["triton_poi_fused_relu_0"] == f"{60000 * steps_of(sample)}ns"
    assert rows["Memcpy HtoD (Pageable -> Device)"] == f"{50000 * steps_of(sample)}ns"


def test_pstats_and_snakeviz_take_the_file_and_every_caller_is_in_it(sample):
    found = profiles.pstats(sample / "sample.prof")
    keys = {tuple(row[:3]) for row in found["functions"]}
    assert found["rows"] == len(found["tree"]) == len(keys)
    for file, line, name, cc, nc, tt, ct, callers in found["functions"]:
        assert tt <= ct and cc <= nc
        assert {tuple(caller[:3]) for caller in callers} <= keys
        if callers:
            assert sum(caller[3] for caller in callers) == nc, name
            assert sum(caller[5] for caller in callers) == pytest.approx(tt, abs=1e-12), name
            assert sum(caller[6] for caller in callers) == pytest.approx(ct, abs=1e-12), name
    root = [row for row in found["functions"] if not row[7]]
    if (sample / "cpu").exists():  # of samples
        sampled = profiles.speedscope(sample / "sample.speedscope.json")["CPU time (samples)"]
        assert sum(row[6] for row in root) == pytest.approx(sum(sampled.values()) / 1e9)
        return
    assert sum(row[6] for row in root) == pytest.approx(GPU_NS * steps_of(sample) / 1e9)
    assert sum(row[4] for row in root) == WORK * steps_of(sample)


def test_files_of_odd_logs_are_taken_as_well(odd, pprof):
    folder, steps = odd
    assert_follows_the_schema(folder / "sample.speedscope.json")
    assert sum(profiles.speedscope(folder / "sample.speedscope.json").get("GPU time", {}).values()) == steps * GPU_NS
    assert sum(profiles.pprof(pprof, folder / "sample.pb.gz")["gpu_time"].values()) == steps * GPU_NS
    assert sum(row[5] for row in profiles.pstats(folder / "sample.prof")["functions"]) == pytest.approx(steps * GPU_NS / 1e9)
