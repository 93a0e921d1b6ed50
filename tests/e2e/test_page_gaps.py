# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Gaps of a GPU in the page and in `gputrace view`: their row adds up to the report's idle time, by line; a click leads to
what ran or waited then; tables sort, filter and open a line's source; bars and tips cover nothing; idle threads are folded."""

import json
import pathlib
import re
import time

import machine
import pytest
import tracing
from viewed import Viewed

SLEEPS, SLEPT_S, IDLE_THREADS = 20, 0.09, 12  # a thread that runs for 1 % of the time is not idle, and one sample is 10 ms
WAIT = "end.wait(0.02)"  # in a library's line
PROGRAM = f'''import ctypes
import gc
import json
import sys
import threading
import time

import gpu

gpu.setup(record=True)
gc.disable()  # a collection would run in any thread, in an idle one too
end = threading.Event()


def idle(number):
    ctypes.CDLL(None).prctl(15, f"idler {{number}}".encode(), 0, 0, 0)  # PR_SET_NAME
    end.wait()


for number in range({IDLE_THREADS}):
    threading.Thread(target=idle, args=(number,), daemon=True).start()


def forward():
    gpu.launch(gpu.at("gemm_60us"), *gpu.SHAPE, None)


def rest():
    time.sleep({SLEPT_S})
    {WAIT}


def once():
    forward()
    begin = time.monotonic_ns()
    rest()
    return time.monotonic_ns() - begin


slept = [once() for _ in range({SLEEPS})]
forward()
end.set()
with open(sys.argv[1], "w") as out:
    json.dump(slept, out)
'''
GUTTER, AXIS, HEAD = 210, 22, 20  # sizes of the timeline in the page, in pixels
GAPS = 101  # the kind of a row
WAITED = 101  # the category of gaps in which a thread waited


def line_of(text):
    """"train.py:7 f" of a line of the program."""
    lines = PROGRAM.splitlines()
    number = next(i for i, line in enumerate(lines) if line.strip() == text)
    function = next(line.split()[1].split("(")[0] for line in reversed(lines[:number]) if line.startswith("def "))
    return f"train.py:{number + 1} {function}"


class Run:
    def __init__(self, folder, *options):
        self.folder = folder
        (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
        tracing.gputrace(folder, *options, "-o", "trace.gpt", "-o", "page.html", "--",
                         *tracing.on_simgpu(folder / "truth.json", machine.python("3.11"), folder / "train.py", folder / "slept.json"),
                         env={"PYTHONPATH": machine.ROOT / "tests/workloads"}).must_be(0)
        self.slept = json.loads((folder / "slept.json").read_text(encoding="ascii"))

    def idle(self):
        """{line: ns} of the report, of the time in gaps."""
        text = tracing.gputrace(self.folder, "report", "trace.gpt", "--table", "idle", "--format", "json").must_be(0).stdout
        sums = {}
        for row in json.loads(text)["tables"][0]["rows"]:
            if row["cause_id"]:
                line = "" if row["cause_id"] == "short" else row["line"]
                sums[line] = sums.get(line, 0) + row["idle_ns"]
        return sums


@pytest.fixture(scope="module", params=["calls", "samples"])
def run(request, tmp_path_factory):
    """A trace of calls alone, and one that knows what threads ran and waited for."""
    return Run(tmp_path_factory.mktemp("gaps"), *([] if request.param == "calls" else ["--cpu", "--off-cpu"]))


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("sampled"), "--cpu", "--off-cpu")


@pytest.fixture
def page(chromium, sampled):
    opened = chromium.open((sampled.folder / "page.html").as_uri(), width=1440)
    opened.until("verdict", "Complete")
    yield opened
    opened.close()
    assert not chromium.exceptions()


def data_of(page):
    return json.loads(re.search(r'<script id="timeline-data"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"), re.S).group(1))


def gaps_of(info, answer):
    """[(start, length, name, line, category)] of an answer at full resolution."""
    rows = {track[0] for track in info["tracks"] if track[4] == GAPS}
    found = []
    for track, _, boxes in answer["rows"]:
        for i in range(0, len(boxes) if track in rows else 0, 6):
            name, where, category = answer["labels"][str(boxes[i + 2])][:3]
            found.append((answer["from"] + boxes[i], boxes[i + 1], name, where, category))
    return sorted(found)


def by_line(gaps):
    sums = {}
    for _, length, name, where, _ in gaps:
        line = re.sub(r"( <- .*)?( \(python3\S* \d+\))?$", "", where)
        assert "gaps like it" not in name, "time that other gaps divide belongs to several lines"
        sums[line] = sums.get(line, 0) + length
    return sums


def test_the_row_of_gaps_is_the_idle_time_of_the_report_line_by_line(run):
    data = data_of(run.folder / "page.html")
    gaps = gaps_of(data["info"], data["levels"][-1])
    assert len(data["levels"]) == 1, "each slice is in the page"
    assert sum(gap[1] for gap in gaps) == sum(run.idle().values()) > SLEEPS * SLEPT_S * 1e9 / 2
    assert by_line(gaps) == run.idle()
    waits = [where for *_, where, _ in gaps if where.startswith("threading.py:")]
    assert len(waits) >= SLEEPS and all(f" <- {line_of(WAIT)}" in where for where in waits), waits
    ends = [start + length for start, length, *_ in gaps]
    assert all(gap[0] >= end for gap, end in zip(gaps[1:], ends)), "parts of gaps overlap"


def test_view_has_the_same_row_once_it_has_read_the_log(run):
    running = Viewed(run.folder / "trace.gpt")
    running.sums()
    info = running.tracks()
    shown = running.slices(width=4000)
    assert sum(one[6] for one in shown if one[0] == "idle") == sum(run.idle().values())
    assert [track[1] for track in info["tracks"] if track[4] == GAPS] == ["idle"]
    assert running.end() == 0


def test_time_that_the_program_slept_is_that_of_its_line(sampled):
    data = data_of(sampled.folder / "page.html")
    gaps = gaps_of(data["info"], data["levels"][-1])
    long = [gap for gap in gaps if gap[3].startswith(line_of(f"time.sleep({SLEPT_S})")) and gap[4] == WAITED]
    assert len(long) == SLEEPS, gaps
    for (_, length, name, _, _), slept in zip(long, sampled.slept):
        assert name == "a sleep: slept; by the thread's waits off the CPU"
        assert 0.5 * SLEPT_S * 1e9 < length <= slept


def test_a_loss_of_the_verdict_leads_to_its_largest_gap_and_to_what_waited_then(page, sampled):
    data = data_of(sampled.folder / "page.html")
    line = line_of(f"time.sleep({SLEPT_S})")
    largest = max((gap for gap in gaps_of(data["info"], data["levels"][-1]) if gap[3].startswith(line)), key=lambda gap: gap[1])
    page.evaluate(f"[...document.querySelectorAll('.jump')].find((one) => one.parentElement.textContent.includes({json.dumps(line)})).click()")
    page.until("tl-detail", f"the GPU idle for {largest[1] / 1e6:.3f} ms")
    said = page.until("tl-detail", "meanwhile ")
    assert line in said
    assert re.search(r"meanwhile python3\S* \d+ waits: sleep", said)
    assert "stack rest (" in said and " < once (" in said
    given = dict(pair.split("=") for pair in page.evaluate("location.hash.slice(1)").split("&"))
    assert int(given["from"]) <= largest[0] and int(given["to"]) >= largest[0] + largest[1]


def at_largest_gap(page, sampled):
    """Lets the timeline show the largest gap in its middle; returns the gap, and where it is in the window."""
    data = data_of(sampled.folder / "page.html")
    gap = max((gap for gap in gaps_of(data["info"], data["levels"][-1]) if gap[3].startswith(line_of(f"time.sleep({SLEPT_S})"))), key=lambda gap: gap[1])
    page.evaluate(f"location.hash = 'from={gap[0] - gap[1]}&to={gap[0] + 2 * gap[1]}'")
    page.until("tl-about", f" {3 * gap[1] / 1e6:.3f} ms")
    page.evaluate("document.getElementById('timeline').scrollIntoView()")
    left, top, width, _ = page.box("tl-canvas")
    return gap, left + GUTTER + (width - GUTTER) / 2, top + AXIS + HEAD + 8


def test_a_click_on_a_gap_says_its_line_its_cause_and_its_length(page, sampled):
    gap, left, top = at_largest_gap(page, sampled)

    def picked():
        page.click(left, top)
        return f"the GPU idle for {gap[1] / 1e6:.3f} ms" in page.text("tl-detail")

    tracing.until(picked)
    page.until("tl-detail", "meanwhile ")


def cells(page, table, column):
    return page.evaluate(f"[...document.querySelectorAll('#table-{table} tbody tr:not(.below)')].map((row) => row.cells[{column}].textContent)")


def test_a_click_on_a_title_sorts_its_table(page):
    before = cells(page, "idle", 0)
    assert len(before) > 2
    page.evaluate("document.querySelector('#table-idle th button').click()")
    numbers = [float(one.replace(",", "")) for one in cells(page, "idle", 0)]
    assert numbers == sorted(numbers, reverse=True)
    page.evaluate("document.querySelector('#table-idle th button').click()")
    numbers = [float(one.replace(",", "")) for one in cells(page, "idle", 0)]
    assert numbers == sorted(numbers)


def test_a_filter_leaves_rows_and_tables_with_that_text(page):
    page.focus("filter")
    for letter in "GEMM_60":
        page.key(letter)
    tracing.until(lambda: page.evaluate("document.getElementById('table-gpus').hidden"))
    assert cells(page, "kernels", 4) == ["gemm_60us"] or "gemm_60us" in "".join(cells(page, "kernels", 0) + cells(page, "kernels", 4))
    assert not page.evaluate("document.getElementById('table-kernels').hidden")


def test_a_line_opens_its_source_with_its_costs(page):
    line = line_of(f"time.sleep({SLEPT_S})")
    page.evaluate(f"[...document.querySelectorAll('#table-idle button.line')].find((one) => one.textContent.startsWith({json.dumps(line)})).click()")
    assert page.evaluate("document.getElementById('source').open")
    assert page.evaluate("document.querySelector('#source tr.here .code').textContent").strip() == f"time.sleep({SLEPT_S})"
    page.evaluate("document.querySelector('#source .close').click()")
    assert not page.evaluate("document.getElementById('source').open")


def test_a_bar_stays_with_its_part_and_a_tip_goes_with_the_pointer(page, sampled):
    outside = """[...document.querySelectorAll(".bar")].filter((bar) =>
        bar.getBoundingClientRect().bottom > bar.parentElement.getBoundingClientRect().bottom + 1).length"""
    for part in (0.2, 0.5, 0.8, 1):
        page.evaluate(f"window.scrollTo(0, {part} * document.documentElement.scrollHeight)")
        assert page.evaluate(outside) == 0
    _, left, top = at_largest_gap(page, sampled)

    def shows_tip():
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=left, y=top)
        return not page.evaluate("document.getElementById('tl-tip').hidden")

    for leave in (lambda: page.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5),
                  lambda: page.evaluate("window.scrollBy(0, 60)")):
        tracing.until(shows_tip)
        leave()
        tracing.until(lambda: page.evaluate("document.getElementById('tl-tip').hidden"))
        page.evaluate("document.getElementById('timeline').scrollIntoView()")


ROWS = """JSON.stringify(gputraceRows(JSON.parse(document.getElementById("timeline-data").textContent).info, () => 20, new Set(%s), {axis: 0, head: 20}).rows
    .map((row) => [row.fold ? 1 : 0, row.head || row.label]))"""


def test_idle_threads_are_folded_together_and_named(page):
    rows = json.loads(page.evaluate(ROWS % "[]"))
    assert not [label for _, label in rows if "idler" in label]
    fold = next(label for folds, label in rows if folds and "idle thread" in label)
    assert int(re.search(r"\d+", fold).group()) >= IDLE_THREADS
    group = next(label for folds, label in rows if not folds and re.match(r"python3\S* \(pid", label))
    opened = json.loads(page.evaluate(ROWS % json.dumps([group])))
    named = [int(re.match(r"idler (\d+) \d+", label).group(1)) for _, label in opened if label.startswith("idler")]
    assert sorted(set(named)) == list(range(IDLE_THREADS)) and named == sorted(named), "by name"


def kineto(path, launches, steps=()):
    """A file of torch.profiler: [(GPU, microseconds)] launched by train.py(2): step <- train.py(1): main, and [(start, length)] of steps."""
    def slice_of(category, name, start, length, thread, **args):
        return {"ph": "X", "cat": category, "name": name, "pid": 11, "tid": thread, "ts": start, "dur": length, "args": args}

    end = max(at for _, at in launches) + 100
    events = [slice_of("python_function", "/own/train.py(1): main", 1, end, 11, **{"Python id": 1})]
    events += [slice_of("user_annotation", f"ProfilerStep#{i}", *span, 11) for i, span in enumerate(steps)]
    for i, (gpu, at) in enumerate(launches):
        events += [slice_of("python_function", "/own/train.py(2): step", at, 20, 11, **{"Python id": 2 + i, "Python parent id": 1}),
                   slice_of("cuda_runtime", "cudaLaunchKernel", at + 2, 5, 11, correlation=1 + i),
                   {**slice_of("kernel", "gemm", at + 9, 30, 7, correlation=1 + i, device=gpu, stream=7), "pid": gpu}]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


@pytest.fixture(scope="module")
def of_two_gpus(chromium, tmp_path_factory):
    folder = tmp_path_factory.mktemp("two-gpus")
    kineto(folder / "k.json", [(1 - i % 2, 1000 + 2000 * i) for i in range(12)], [(500 + 2000 * i, 1999) for i in range(12)])
    tracing.gputrace(folder, "export", "k.json", "-o", "k.html").must_be(0)
    opened = chromium.open((folder / "k.html").as_uri(), width=1440)
    opened.until("report", "GPU time by kernel")
    yield opened
    opened.close()


def titles(page, table):
    return page.evaluate(f"[...document.querySelectorAll('#table-{table} th')].map((one) => one.textContent)")


def test_gpus_stand_by_their_number_whichever_worked_first(of_two_gpus):
    heads = [label for _, label in json.loads(of_two_gpus.evaluate(ROWS % "[]")) if label.startswith("GPU")]
    assert [re.match(r"GPU \d", head).group() for head in heads] == ["GPU 0", "GPU 1"]


def test_a_table_has_no_empty_columns_and_no_rows_that_are_parts_of_others(of_two_gpus):
    assert titles(of_two_gpus, "processes") == ["pid", "calls", "GPU operations", "process"]
    where = cells(of_two_gpus, "step_idle", 3)
    assert where and set(where) <= {"in steps", "outside of them"}, where
    assert not of_two_gpus.evaluate("!!document.getElementById('table-breakdown_lines')"), "nothing was communicated"


def test_who_called_a_line_is_below_the_line(of_two_gpus):
    at = titles(of_two_gpus, "why_lines").index("where")
    found = of_two_gpus.evaluate("[...document.querySelectorAll('#table-why_lines td')].map((one, i) => [one.cellIndex, one.querySelector('.beside')])"
                                 ".filter(([, beside]) => beside).map(([at, beside]) => [at, beside.textContent])")
    assert found and {tuple(one) for one in found} == {(at, "\u2190 train.py:1 main")}


def test_the_legend_has_causes_and_slices_apart(of_two_gpus):
    tracing.until(lambda: "kernel" in of_two_gpus.text("tl-legend"))
    lines = of_two_gpus.evaluate("[...document.querySelectorAll('#tl-legend > div')].map((one) => one.textContent)")
    assert lines[0].startswith("The GPU idle, by cause:") and "kernel" not in lines[0]
    assert lines[1].startswith("Slices:") and "kernel" in lines[1] and len(lines) == 2


def test_a_long_name_of_native_code_breaks_no_table(chromium, tmp_path):
    name = "void at::native::" + "vectorized_elementwise_kernel<at::native::CUDAFunctor_add<float>, " * 9 + "4>(int)"
    (tmp_path / "k.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": name + "x" * 300, "pid": 0, "tid": 7, "ts": 10 + 20 * i, "dur": 5,
         "args": {"device": 0, "stream": 7, "correlation": 1 + i}} for i in range(3)]}))
    tracing.gputrace(tmp_path, "export", "k.json", "-o", "k.html").must_be(0)
    for width in (390, 1440):
        page = chromium.open((tmp_path / "k.html").as_uri(), width=width, height=844)
        page.until("report", "GPU time by kernel")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate("document.querySelector('#table-kernels td.name').getBoundingClientRect().width <= 760")
        page.close()
    assert not chromium.exceptions()
