# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`gputrace view`: a browser shows the log; slices of a period are what the program did; requests without the token get
nothing; sudo's rights are given up."""

import json
import os
import pathlib
import subprocess
import urllib.parse

import machine
import pytest
import tracing
from viewed import Viewed

STEPS = 40
PROGRAM = f'''import gpu

gpu.setup(record=True)


def forward():
    gpu.launch(gpu.at("gemm_60us"), *gpu.SHAPE, None)


def plain():
    gpu.launch(gpu.at("gelu_25us"), *gpu.SHAPE, None)


for number in range({STEPS}):
    forward()
    plain()
'''
NOBODY = 65534


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("view")
    (made / "train.py").write_text(PROGRAM, encoding="utf-8")
    tracing.gputrace(made, "-o", "trace.gpt", "--", *tracing.on_simgpu(made / "truth.json", machine.python("3.11"), made / "train.py"),
                     env={"PYTHONPATH": machine.ROOT / "tests/workloads"}).must_be(0)
    return made


@pytest.fixture(scope="module")
def viewed(folder):
    running = Viewed(folder / "trace.gpt")
    yield running
    assert running.end() == 0


def kernels(slices):
    return [one for one in slices if one[0].startswith("stream")]


def each_alone(viewed, start, end):
    """{start: box} of the kernels that begin in a period, at a resolution at which each has its own box."""
    found = {}
    for one in kernels(viewed.slices(**{"from": start, "to": end})):
        if one[5] == 1:
            found[one[1]] = one
        elif one[1] > start or one[1] + one[2] < end:
            found.update(each_alone(viewed, one[1], one[1] + max(one[2], 1)))
        else:  # as wide as the period
            middle = (start + end) // 2
            found.update(each_alone(viewed, start, middle))
            found.update(each_alone(viewed, middle, end))
    return found


def test_every_kernel_of_a_period_is_reported_as_it_ran(viewed):
    """However long the program paused between two kernels."""
    boxes = kernels(viewed.slices())
    alone = each_alone(viewed, min(one[1] for one in boxes), max(one[1] + one[2] for one in boxes) + 1)
    assert sorted(one[2] for one in alone.values()) == [25000] * STEPS + [60000] * STEPS
    for one in alone.values():
        function = "forward" if one[3] == "gemm_60us" else "plain"
        assert pathlib.Path(one[4]).name == f"train.py:{PROGRAM.splitlines().index(f'def {function}():') + 2}"


def test_at_a_coarse_resolution_boxes_stand_for_all_kernels_and_their_time(viewed):
    coarse = kernels(viewed.slices(width=3))
    assert len(coarse) <= 8
    assert (sum(one[5] for one in coarse), sum(one[6] for one in coarse)) == (2 * STEPS, STEPS * 85000)


def test_the_next_slice_of_a_name_is_found(viewed):
    viewed.tracks()
    hit = viewed.fetch("find?text=GEMM_60&after=0")
    assert hit["length"] == 60000
    assert viewed.fetch(f"find?text=gemm_60&after={hit['start']}")["start"] > hit["start"]
    assert viewed.fetch("find?text=nowhere&after=0") is None


def test_the_sums_are_those_of_why_and_of_the_report(viewed, folder):
    sums = viewed.sums()
    report = tracing.gputrace(folder, "report", "trace.gpt", "--format", "json").must_be(0).stdout
    ids = [table["id"] for table in json.loads(report)["tables"] if table["id"] != "breakdown_lines"]  # no communication
    tables = sums["answer"]["tables"]
    assert [table["id"] for table in tables["report"]] == ids
    assert {"why", "why_lost"} <= {table["id"] for table in tables["why"]}
    assert sums["profile"]["values"][0]["id"] == "gpu"


def totals(slices):
    """(number of slices, their time)"""
    return sum(one[5] for one in slices), sum(one[6] for one in slices)


@pytest.mark.parametrize("name", ("trace.json.gz", "trace.sqlite"))
def test_a_file_of_another_form_shows_the_kernels_of_the_log(viewed, folder, tmp_path, name):
    tracing.gputrace(folder, "export", "-q", "trace.gpt", "-o", tmp_path / name).must_be(0)
    running = Viewed(tmp_path / name)
    shown, wanted = (totals(kernels(one.slices(width=50))) for one in (running, viewed))
    assert shown == wanted and wanted[0] == 2 * STEPS
    assert running.sums()
    assert running.end() == 0


def test_who_has_no_token_or_comes_by_another_name_gets_nothing(viewed):
    assert viewed.ask("/tracks")[0] == 404
    assert viewed.ask("/" + "0" * 32 + "/tracks")[0] == 404
    assert viewed.ask("tracks", host=f"rebound.example:{viewed.at.port}")[0] == 403
    assert viewed.ask("../../../../etc/passwd")[0] == 404
    assert viewed.ask("slices?from=9&to=1&width=5")[0] == 404
    assert viewed.ask("tracks", host=f"localhost:{viewed.at.port}")[0] == 200


def test_a_browser_shows_the_log_and_the_kernel_that_is_asked_for(viewed, folder):
    found = subprocess.run([machine.ROOT / "tools/get-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if found.returncode:
        pytest.skip(found.stderr.strip())
    browse = [found.stdout.strip(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]
    environment = {**os.environ, "HOME": str(folder)}
    tried = subprocess.run([*browse, "about:blank"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=tracing.PATIENCE_S, env=environment)
    if tried.returncode:
        pytest.skip(f"{browse[0]} does not run here: {(tried.stderr.strip() or b'?').splitlines()[-1]}")
    viewed.sums()
    hit = viewed.fetch("find?text=gemm_60us&after=0")
    state = urllib.parse.urlencode({"from": hit["start"] - 1000, "to": hit["start"] + 61000, "find": "gemm_60us",
                                    "at": f"{hit['track']}.{hit['depth']}.{hit['start']}"})
    shown = subprocess.run([*browse, "--virtual-time-budget=20000", f"{viewed.address}#{state}"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=tracing.PATIENCE_S, env=environment).stdout.decode("utf-8")
    assert "gemm_60us   kernel" in shown and "60.000 us, from" in shown and "; found: 1 here" in shown
    assert "GPU time: 3.40 ms" in shown  # the flame graph is shown, too


def test_with_sudo_it_is_the_user_who_called_that(folder, tmp_path):
    log = tmp_path / "trace.gpt"
    log.write_bytes((folder / "trace.gpt").read_bytes())
    log.chmod(0o600)  # root opens it, the user reads it
    running = Viewed(log, env={"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)})
    running.tracks()
    status = pathlib.Path(f"/proc/{running.process.pid}/status").read_text(encoding="ascii")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert fields["Uid"].split() == fields["Gid"].split() == [str(NOBODY)] * 4
    assert fields["Groups"].split() == [] and int(fields["CapEff"], 16) == 0
    assert running.end() == 0


def test_what_is_no_log_ends_it_with_a_message(tmp_path):
    (tmp_path / "no.gpt").write_text("no log", encoding="ascii")
    done = tracing.gputrace(tmp_path, "view", "no.gpt")
    assert done.code == 1 and "no.gpt: " in done.stderr
    assert "--port 0" in tracing.gputrace(tmp_path, "view", "no.gpt", "--port", "0").must_be(2).stderr
