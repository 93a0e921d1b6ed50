# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The page (.html) in a browser, and the picture (.svg): boxes, timeline, search and zoom show what the program did; a
name is never HTML."""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import urllib.parse
import xml.dom.minidom

import machine
import pytest
import tracing

STEPS = 12
HOSTILE = "</script><img src=x onerror=alert(1)>&amp;\u202e"

PROGRAM = '''import types

import gpu

gpu.setup(record=True)
NAME = %r


def forward():
    gpu.launch(gpu.at("gemm_60us"), *gpu.SHAPE, None)


def plain():
    gpu.launch(gpu.at("gelu_25us"), *gpu.SHAPE, None)


code = plain.__code__
names = {"co_name": NAME, **({"co_qualname": NAME} if hasattr(code, "co_qualname") else {})}
named = types.FunctionType(code.replace(**names), globals())
for number in range(%d):
    forward()
    for _ in range(2):
        named()
''' % (HOSTILE, STEPS)
GPU_US = STEPS * (60 + 2 * 25)


class Page(html.parser.HTMLParser):
    """Boxes, tags and texts of the page as the browser rendered it."""

    def __init__(self, text):
        super().__init__()
        self.boxes, self.tags, self.texts, self.inside = [], set(), {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.add(tag)
        if "box" in given.get("class", "").split():
            self.boxes.append(given)
        if tag not in ("meta", "input", "img", "br"):
            self.inside.append(given.get("id"))

    def handle_endtag(self, tag):
        self.inside.pop()

    def handle_data(self, data):
        for name in self.inside:
            if name:
                self.texts[name] = self.texts.get(name, "") + data

    def box(self, begin):
        """The only box whose title begins with `begin`."""
        found = [box for box in self.boxes if box["title"].startswith(begin)]
        assert len(found) == 1, (begin, [box["title"] for box in self.boxes])
        return found[0]


class Run:
    def __init__(self, folder, name=None):
        """name: the process's name."""
        self.folder = folder
        done = subprocess.run([machine.ROOT / "tools/get-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        if done.returncode:
            pytest.skip(done.stderr.strip())
        self.browser = done.stdout.strip()
        tried = self.browse("about:blank")
        if tried.returncode:
            pytest.skip(f"{self.browser} does not run here: {(tried.stderr.strip() or b'?').splitlines()[-1]}")
        (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
        python = machine.python("3.11")
        if name:
            (folder / name).symlink_to(python)
            python = folder / name
        self.report = tracing.gputrace(
            folder, "-o", "trace.gpt", "-o", "page.html", "--",
            *tracing.on_simgpu(folder / "truth.json", python, folder / "train.py"),
            env={"PYTHONPATH": machine.ROOT / "tests/workloads"}).must_be(0).stdout

    def browse(self, address):
        """Runs the browser on an address; its output is the page's elements as HTML."""
        return subprocess.run(
            [self.browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom", address],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=tracing.PATIENCE_S,
            env={**os.environ, "HOME": str(self.folder)})

    def shown(self, **state):
        address = f"{(self.folder / 'page.html').as_uri()}#{urllib.parse.urlencode(state)}"
        done = self.browse(address)
        assert done.returncode == 0, done.stderr
        return Page(done.stdout.decode("utf-8"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("page"))


def test_boxes_are_the_gpu_time_of_the_program(run):
    page = run.shown()
    assert page.texts["detail"] == f"GPU time: {GPU_US / 1000:.2f} ms"
    assert page.box("gemm_60us")["title"].splitlines()[1] == f"{STEPS * 60}.0 us, {100 * STEPS * 60 / GPU_US:.1f} %"
    assert "forward (train.py:" in "".join(box["title"] for box in page.boxes)


def test_launches_are_counted(run):
    page = run.shown(value="launches")
    assert page.texts["detail"] == f"launches: {3 * STEPS} launches"


def test_a_search_marks_boxes_and_says_their_share(run):
    page = run.shown(search="GELU")
    assert "found" in page.box("gelu_25us")["class"].split()
    assert "found" not in page.box("gemm_60us")["class"].split()
    assert page.texts["detail"].endswith(f"; found: {STEPS * 50}.0 us, {100 * STEPS * 50 / GPU_US:.1f} %")


def test_a_zoom_gives_a_box_the_whole_width(run):
    page = run.shown()
    inner = page.box("forward")
    zoomed = run.shown(zoom=inner["data-node"])
    widths = {box["data-node"]: float(re.search(r"width: ([\d.]+)px", box["style"]).group(1)) for box in zoomed.boxes}
    assert widths[inner["data-node"]] == max(widths.values()) > \
        float(re.search(r"width: ([\d.]+)px", inner["style"]).group(1))
    assert not [box for box in zoomed.boxes if box["title"].startswith("gelu")]


def timeline_of(text):
    """[(label of the track, depth, start, length, name, where, count)] of the finest level in a page."""
    data = json.loads(re.search(r'<script id="timeline-data"[^>]*>(.*?)</script>', text, re.S).group(1))
    level, tracks = data["levels"][-1], {track[0]: track[1] for track in data["info"]["tracks"]}
    return [(track, tracks[track], depth, level["from"] + boxes[i], boxes[i + 1], *level["labels"][str(boxes[i + 2])][:2], boxes[i + 3])
            for track, depth, boxes in level["rows"] for i in range(0, len(boxes), 6)]


def launch_line(function):
    """The line in which a function of the program launches."""
    lines = PROGRAM.splitlines()
    return lines.index(f"def {function}():") + 2


def test_the_timeline_has_every_kernel_on_its_stream_with_the_line_that_launched_it(run):
    slices = timeline_of((run.folder / "page.html").read_text(encoding="utf-8"))
    kernels = [one for one in slices if one[1].startswith("stream")]
    assert sorted(one[4] for one in kernels) == [25000] * (2 * STEPS) + [60000] * STEPS
    for name, function in (("gemm_60us", "forward"), ("gelu_25us", "plain")):
        assert {(pathlib.Path(one[6]).name, one[7]) for one in kernels if one[5] == name} == {(f"train.py:{launch_line(function)}", 1)}
    rows = {one[2] for one in slices if one[5] == "forward"}
    assert len(rows) == 1, "a function is at one depth"


def test_a_slice_that_is_picked_is_known_by_name_time_and_line(run):
    slices = timeline_of((run.folder / "page.html").read_text(encoding="utf-8"))
    kernel = next(one for one in slices if one[5] == "gemm_60us")
    page = run.shown(at=f"{kernel[0]}.{kernel[2]}.{kernel[3]}")
    assert page.texts["tl-detail"].split()[:2] == ["gemm_60us", "kernel"]
    assert kernel[6] in page.texts["tl-detail"] and "60.000 us, from" in page.texts["tl-detail"]
    assert "launched by cudaLaunchKernel" in page.texts["tl-detail"]
    assert re.search(rf"stack forward \(\S*train.py:{launch_line('forward')}\) < <module>", page.texts["tl-detail"])
    call = next(one for one in slices if one[5] == "cudaLaunchKernel")
    page = run.shown(at=f"{call[0]}.{call[2]}.{call[3]}")
    assert re.search(r"GPU work gemm_60us, 60.000 us, began \S+ \S+ after the call", page.texts["tl-detail"])


def test_a_process_that_calls_itself_a_gpu_is_none(tmp_path):
    run = Run(tmp_path, "GPU 0")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    groups = {track[2] for track in json.loads(re.search(r'<script id="timeline-data"[^>]*>(.*?)</script>', text, re.S).group(1))["info"]["tracks"]}
    assert len([group for group in groups if group.startswith("GPU 0")]) == 2, groups
    for name, said in (("cudaLaunchKernel", "GPU work gemm_60us, "), ("gemm_60us", "launched by cudaLaunchKernel")):
        one = next(one for one in timeline_of(text) if one[5] == name)
        assert said in run.shown(at=f"{one[0]}.{one[2]}.{one[3]}").texts["tl-detail"]


def test_a_search_in_the_timeline_says_how_many_are_found(run):
    page = run.shown(find="GEMM_60")
    named = [one for one in timeline_of((run.folder / "page.html").read_text(encoding="utf-8")) if "gemm_60" in one[5].lower()]
    assert len(named) >= STEPS  # a gap is named, too, by a kernel whose code was loaded in it
    assert page.texts["tl-about"].endswith(f"; found: {len(named)} here")
    kernel = next(one for one in timeline_of((run.folder / "page.html").read_text(encoding="utf-8")) if one[5] == "gemm_60us")
    page = run.shown(**{"find": "gemm_60", "from": kernel[3] - 100, "to": kernel[3] + kernel[4] + 100})
    assert page.texts["tl-about"].endswith("; found: 1 here") and ": 60.200 us" in page.texts["tl-about"]


def test_names_of_the_program_are_text_and_nothing_else(run):
    page = run.shown()
    assert "img" not in page.tags
    assert page.box(HOSTILE.rstrip("\u202e"))


def test_the_page_has_what_the_report_and_why_say(run):
    page = run.shown()
    for table, name in (("GPU time by Python line", "table-gpu_lines"), ("GPU time by kernel", "table-kernels")):
        row = run.report.partition(table)[2].partition("\n\n")[0].splitlines()[2]
        assert table in page.texts[name]
        for cell in row.split()[:3]:
            assert cell in page.texts[name]
    verdict = tracing.gputrace(run.folder, "report", "trace.gpt").must_be(0).stdout.partition("The GPU was busy for")[2].split("\n\n")[0]
    assert len(verdict.splitlines()) > 3
    for line in verdict.splitlines():
        assert " ".join(line.split()[:4]) in page.texts["verdict"]
    losses = json.loads(tracing.gputrace(run.folder, "why", "trace.gpt", "--format", "json").must_be(0).stdout)["tables"]
    for row in next((table["rows"] for table in losses if table["id"] == "why_losses"), []):
        assert row["seen"] in page.texts["table-why_losses"] and row["try"] in page.texts["table-why_losses"]


def test_the_page_needs_nothing_but_itself(run):
    text = (run.folder / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", text)


def test_a_page_from_the_log_is_the_page_of_the_trace(run):
    tracing.gputrace(run.folder, "export", "trace.gpt", "-o", "again.html").must_be(0)
    assert (run.folder / "again.html").read_bytes() == (run.folder / "page.html").read_bytes()


def boxes_of(path):
    """{label: (value, x, width)} of the boxes of a picture."""
    found = {}
    for group in xml.dom.minidom.parse(str(path)).getElementsByTagName("g"):
        label, value = group.getElementsByTagName("title")[0].firstChild.data.split("\n")
        rect = group.getElementsByTagName("rect")[0]
        found[label.partition(" (")[0]] = (value, float(rect.getAttribute("x")), float(rect.getAttribute("width")))
    return found


def test_the_picture_has_a_box_for_each_stack_as_wide_as_its_share(run):
    tracing.gputrace(run.folder, "export", "trace.gpt", "-o", "gpu.svg").must_be(0)
    boxes = boxes_of(run.folder / "gpu.svg")
    kernel, other = boxes["gemm_60us"], boxes["gelu_25us"]
    whole = max(width for _, _, width in boxes.values()) + 0.3
    assert kernel[0] == f"{STEPS * 60}.0 us, {100 * STEPS * 60 / GPU_US:.1f} %"
    assert kernel[1] == 0 and abs(other[1] - whole * STEPS * 60 / GPU_US) < 0.2
    assert any(label.startswith("</script>") for label in boxes)
    tracing.gputrace(run.folder, "export", "trace.gpt", "-o", "launches.svg", "--metric", "launches").must_be(0)
    assert boxes_of(run.folder / "launches.svg")["gelu_25us"][0] == f"{2 * STEPS} launches, 66.7 %"


def test_the_picture_says_what_its_colors_mean(run):
    tracing.gputrace(run.folder, "export", "trace.gpt", "-o", "colors.svg").must_be(0)
    text = (run.folder / "colors.svg").read_text(encoding="utf-8")
    boxes = {color for color in re.findall(r'</title><rect [^>]*fill="(#\w+)"', text)}
    legend = dict(re.findall(r'^<rect x=[^>]*fill="(#\w+)"/><text [^>]*>([^<]*)</text>$', text, re.M))
    assert set(legend) == boxes and {"process", "Python", "CUDA call", "GPU work"} <= set(legend.values()), legend
    kernel = re.search(r'<title>gemm_60us\n[^<]*</title><rect [^>]*fill="(#\w+)"', text).group(1)
    assert legend[kernel] == "GPU work"


def test_a_picture_of_nothing_is_a_picture(run):
    tracing.gputrace(run.folder, "export", "trace.gpt", "-o", "none.svg", "-o", "none.html", "--to", "1ms").must_be(0)
    assert boxes_of(run.folder / "none.svg") == {}


def kernels_as_drawn(folder, times):
    """{kernel: text of its box} of a picture; times: {kernel: us}"""
    (folder / "k.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1000 * i, "dur": us,
         "args": {"device": 0, "stream": 7, "correlation": i + 1}} for i, (name, us) in enumerate(times.items())]}))
    tracing.gputrace(folder, "export", "k.json", "-o", "k.svg").must_be(0)
    found = re.findall(r"<g><title>([^\n]*)\n[^\n]*?(?:<text[^>]*>([^<]*)</text>)?</g>", (folder / "k.svg").read_text())
    return {html.unescape(title): html.unescape(text) for title, text in found}


def elementwise(functor):
    return (f"void at::native::vectorized_elementwise_kernel<4, {functor}, std::array<char*, 3ul>, "
            f"false>(int, {functor}, std::array<char*, 3ul>)")


def test_a_box_of_the_picture_shows_what_tells_kernels_apart_and_points_to_the_whole_name(tmp_path):
    name = elementwise("at::native::CUDAFunctor_add<float>")
    assert kernels_as_drawn(tmp_path, {name: 5})[name] == "vectorized_elementwise_kernel<CUDAFunctor_add>"


def test_narrow_boxes_of_kernels_of_one_template_differ(tmp_path):
    """Of 1,200 pixels each has 144, room for 20 letters."""
    names = [elementwise(f"at::native::{functor}<float>") for functor in ("CUDAFunctor_add", "FillFunctor", "AbsFunctor", "sin_functor")]
    drawn = kernels_as_drawn(tmp_path, {"sgemm": 520, **dict.fromkeys(names, 120)})
    assert len({drawn[name] for name in names}) == len(names), drawn
    assert all(drawn[name].startswith("vecto") and len(drawn[name]) <= 20 for name in names), drawn
