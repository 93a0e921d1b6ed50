# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The page of `gputrace view` in a browser, as a user handles it: keys, mouse, search, a narrow window, a second tab;
it says what is not read yet, cut short, empty or gone."""

import contextlib
import http.server
import json
import socket
import threading
import urllib.parse

import machine
import pytest
import tracing
from viewed import Viewed

STEPS = 30
PROGRAM = f'''import gpu

gpu.setup(record=True)


def forward():
    gpu.launch(gpu.at("gemm_60us"), *gpu.SHAPE, None)


def plain():
    gpu.launch(gpu.at("gelu_25us"), *gpu.SHAPE, None)


for number in range({STEPS}):
    forward(), plain()
'''
GUTTER, AXIS, ROW = 210, 22, 22  # sizes of the timeline in the page, in pixels
GAPS = 101  # the kind of the row of a GPU's gaps


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    tracing.gputrace(folder, "-o", "trace.gpt", "--", *tracing.on_simgpu(folder / "truth.json", machine.python("3.11"), folder / "train.py"),
                     env={"PYTHONPATH": machine.ROOT / "tests/workloads"}).must_be(0)
    return folder / "trace.gpt"


@contextlib.contextmanager
def viewed(path):
    running = Viewed(path)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.end()


@pytest.fixture(scope="module")
def view(log):
    with viewed(log) as running:
        running.sums()
        yield running


@pytest.fixture
def page(chromium, view):
    opened = chromium.open(view.address)
    opened.until("verdict", "Complete")
    yield opened
    opened.close()
    assert not chromium.exceptions()


def shown(page):
    """(from, to) in nanoseconds, from the page's address."""
    given = urllib.parse.parse_qs(page.evaluate("location.hash.slice(1)"))
    return int(given["from"][0]), int(given["to"][0])


def picked(page):
    """The picked slice, from the page's address."""
    return urllib.parse.parse_qs(page.evaluate("location.hash.slice(1)")).get("at", [None])[0]


def length(period):
    return period[1] - period[0]


def shows_other(page, before):
    tracing.until(lambda: shown(page) != before)
    return shown(page)


def top_of_kernels(view):
    """Where their row is: if the GPU ever idled, the row of its gaps comes first."""
    return AXIS + 20 + ROW * any(track[4] == GAPS for track in view.tracks()["tracks"]) + 8


def at_kernels(page, view):
    """Lets the page show the kernels; returns left and top of the first in the window, and nanoseconds per pixel."""
    hit = view.fetch("find?text=gemm_60us")
    wide_ns = 20 * hit["length"]
    page.evaluate(f"location.hash = 'from={hit['start']}&to={hit['start'] + wide_ns}'")
    page.until("tl-about", " 1.200 ms")
    left, top, width, _ = page.box("tl-canvas")
    return left + GUTTER, top + top_of_kernels(view), wide_ns / (width - GUTTER)


def test_keys_zoom_and_move_wherever_the_focus_is(page):
    page.key("w")
    first = shown(page)
    page.key("w")
    closer = shows_other(page, first)
    assert length(closer) < length(first)
    page.key("d")
    later = shows_other(page, closer)
    assert later[0] > closer[0] and abs(length(later) - length(closer)) <= 1
    page.key("a")
    shows_other(page, later)
    page.key("s")
    assert length(shown(page)) >= length(first) - 2
    page.focus("tl-view")
    page.key("Home")
    tracing.until(lambda: shown(page)[0] == 0)


def test_letters_that_are_searched_for_do_not_move_the_picture(page):
    page.key("w")
    before = shown(page)
    for field in ("tl-search", "search"):
        page.focus(field)
        for letter in "wasd":
            page.key(letter)
    assert shown(page) == before
    assert page.evaluate("document.getElementById('tl-search').value") == "wasd"


def test_a_search_goes_from_slice_to_slice_round_the_log(page):
    page.focus("tl-search")
    for letter in "gemm":
        page.key(letter)
    found = [None]
    for _ in range(STEPS):
        page.key("Enter")
        tracing.until(lambda: picked(page) != found[-1])
        found.append(picked(page))
        page.until("tl-detail", "60.000 us, from")  # that slice alone, not the slices drawn as one box before
    assert len(set(found)) == STEPS + 1
    page.key("Enter")
    page.until("tl-about", "from the start on again")
    assert picked(page) == found[1]


def test_a_search_says_what_is_not_there(page):
    page.focus("tl-search")
    for letter in "nowhere":
        page.key(letter)
    page.key("Enter")
    page.until("tl-about", "nothing is called so")


def test_a_click_says_what_a_slice_is_and_two_show_it_alone(page, view):
    left, top, _ = at_kernels(page, view)

    def picked():
        page.click(left + 10, top)
        return "60.000 us, from" in page.text("tl-detail")

    tracing.until(picked)
    assert "gemm_60us" in page.text("tl-detail") and "train.py" in page.text("tl-detail")
    _, detail_top, _, detail_height = page.box("tl-detail")
    assert detail_top + detail_height < page.box("tl-view")[1] + 1  # inside the visible view
    before = shown(page)
    page.click(left + 10, top, times=2)
    alone = shows_other(page, before)
    assert length(alone) == 72000


def test_a_click_leaves_the_page_where_it_is(chromium, view):
    """Also where the timeline is not all in the window: the slice that is pressed stays below the pointer."""
    low = chromium.open(view.address, height=650)
    low.until("verdict", "Complete")
    left, top, _ = at_kernels(low, view)
    assert low.box("tl-view")[1] + low.box("tl-view")[3] > 650 > top
    low.click(left + 10, top)
    low.until("tl-detail", "60.000 us, from")
    assert low.evaluate("scrollY") == 0
    low.close()


def test_a_click_says_the_launch_of_a_kernel_and_its_stack(page, view):
    left, top, _ = at_kernels(page, view)

    def picked():
        page.click(left + 10, top)
        return "60.000 us, from" in page.text("tl-detail")

    tracing.until(picked)
    # each click asks again, so none may come before the answers
    page.until("tl-detail", "launched by cudaLaunchKernel")
    page.until("tl-detail", "stack forward (")
    assert " < <module> (" in page.text("tl-detail")


def test_dragging_with_shift_measures(page, view):
    left, top, ns = at_kernels(page, view)
    before = shown(page)
    page.drag(left + 100, top, 200, shift=True)
    tracing.until(lambda: "measured: " in page.text("tl-detail"))
    number, unit = page.text("tl-detail").split("measured: ")[1].split(",")[0].split()
    assert abs(float(number) * {"ns": 1, "us": 1e3, "ms": 1e6}[unit] - 200 * ns) < 2 * ns
    assert shown(page) == before


def test_the_wheel_zooms_around_the_pointer_and_dragging_moves(page, view):
    left, top, ns = at_kernels(page, view)
    before = shown(page)
    page.wheel(left + 200, top, -120, ctrl=True)
    closer = shows_other(page, before)
    assert abs((before[0] + 200 * ns) - (closer[0] + 200 * ns * length(closer) / length(before))) < 2 * ns
    page.drag(left + 300, top, -100)
    moved = shows_other(page, closer)
    assert abs(length(moved) - length(closer)) <= 1
    assert abs(moved[0] - closer[0] - 100 * ns * length(closer) / length(before)) < 3 * ns


def test_arrows_walk_the_flame_graph(page):
    page.focus("graph")
    said = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"):
        page.key(key)
        said.append(page.text("detail"))
    assert [text.split(" (")[0] for text in said[1:]] == ["<module>", "forward", "plain", "<module>"]
    page.key("ArrowDown")
    page.key("Enter")
    assert "below forward" in page.text("detail")
    page.key("Escape")
    assert "below" not in page.text("detail")


def test_a_narrow_window_has_room_for_slices(chromium, view):
    narrow = chromium.open(view.address, width=360)
    narrow.until("verdict", "Complete")
    assert narrow.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    _, _, width, _ = narrow.box("tl-view")
    first_coloured = f"""(() => {{ const canvas = document.getElementById("tl-canvas"), pen = canvas.getContext("2d");
        const row = pen.getImageData(0, {top_of_kernels(view)}, {int(width)}, 1).data;
        let first = -1;
        for (let i = {int(0.3 * width)}; i < {int(width) - 2} && first < 0; i++)
            if (row[4 * i] > row[4 * i + 1] + 20) first = i; // the colour of kernels
        return first; }})()"""
    tracing.until(lambda: narrow.evaluate(first_coloured) >= 0)
    assert narrow.evaluate(first_coloured) > 0.35 * width - 2
    narrow.close()


def test_other_tabs_and_a_file_that_was_removed_do_not_matter(chromium, log, tmp_path):
    copy = tmp_path / "copy.gpt"
    copy.write_bytes(log.read_bytes())
    with viewed(copy) as running:
        running.sums()
        tabs = [chromium.open(running.address), chromium.open(running.address)]
        for tab in tabs:
            tab.until("verdict", "Complete")
        tabs[0].close()
        copy.unlink()
        tabs[1].key("w")
        assert running.tracks()["tracks"] and "does not answer" not in tabs[1].text("tl-about")
        assert running.end() == 0
        tabs[1].key("w")
        tabs[1].until("tl-about", "gputrace does not answer any more")
        tabs[1].close()


def test_a_log_without_events_and_one_that_is_cut_say_so(chromium, log, tmp_path):
    tracing.gputrace(tmp_path, "-q", "--no-cpu", "--no-off-cpu", "-o", "empty.gpt", "--", "true").must_be(0)
    (tmp_path / "cut.gpt").write_bytes(log.read_bytes()[:log.stat().st_size * 2 // 3])
    for name, receipt, words in (("empty.gpt", "0 launches recorded, 0 lost", "nothing was recorded that could be drawn"),
                                 ("cut.gpt", "Incomplete: ", "cut short: the log ends before")):
        with viewed(tmp_path / name) as running:
            running.sums()
            page = chromium.open(running.address)
            page.until("verdict", receipt)
            page.until("tl-about", words)
            page.close()
    assert not chromium.exceptions()


def test_a_port_that_is_taken_is_named(log, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        done = tracing.gputrace(tmp_path, "view", log, "--port", str(port))
    assert done.code == 1 and f"port {port}: " in done.stderr and "in use" in done.stderr


# ---- a log that is half read ----------------------------------------------------------------------------------------

SPAN = 1000000000
HALF_READ = {"span": SPAN, "read": SPAN // 2, "done": False, "slices": 1, "places": 3, "sampled": 0.0625,
             "tracks": [[0, "stream 7", "GPU 0 a GPU", 1, 6], [1, "stream 8", "GPU 0 a GPU", 1, 6]]}
# Stream 7 has an estimate from 0.6 to 0.8 s; stream 8 is idle as far as it has been read.
HALF_DRAWN = {"from": 0, "to": SPAN, "least": 1, "rows": [[0, 0, [SPAN // 10, SPAN // 10, 0, 1, SPAN // 10]]],
              "estimates": [[0, 0, [SPAN * 6 // 10, SPAN * 2 // 10, 0, 500, SPAN // 10]]], "labels": {"0": ["gemm_60us", "", 2]}, "left_out": 0}


@pytest.fixture
def half_read(view):
    """The address of a server that always answers like a gputrace that has read half of its log."""
    _, body = view.ask("")
    answers = {"/": ("text/html; charset=utf-8", body), "/tracks": ("application/json", json.dumps(HALF_READ).encode("ascii")),
               "/slices": ("application/json", json.dumps(HALF_DRAWN).encode("ascii"))}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, text = answers.get(self.path.split("?")[0], (None, b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind or "text/plain")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    # with a thread for each connection, as a browser may open one long before it asks
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


COLOURS = """(() => {
    const canvas = document.getElementById("tl-canvas"), pen = canvas.getContext("2d"), wide = canvas.width - %d;
    const colours = (from, to, top) => {
        const left = %d + Math.round(wide * from), data = pen.getImageData(left, top, Math.round(wide * (to - from)), 14).data, found = new Set();
        for (let i = 0; i < data.length; i += 4)
            found.add(data[i] + "," + data[i + 1] + "," + data[i + 2] + "," + data[i + 3]);
        return found.size;
    };
    return {idle: colours(0.32, 0.38, %d), unread: colours(0.82, 0.88, %d), estimate: colours(0.62, 0.68, %d), blank: colours(0.62, 0.68, %d)};
})()"""


def test_what_is_not_read_yet_does_not_look_idle(chromium, half_read):
    page = chromium.open(half_read)
    page.until("tl-about", "read so far: 500.000 ms, after that estimates from 3 places, 6.3 % of the log")
    first, second = AXIS + 20 + 2, AXIS + 20 + 22 + 2
    tracing.until(lambda: page.evaluate(COLOURS % (GUTTER, GUTTER, first, first, first, second))["estimate"] > 2)
    colours = page.evaluate(COLOURS % (GUTTER, GUTTER, first, first, first, second))
    assert colours["idle"] == 1  # a range without grid has the background colour only
    assert colours["unread"] > 1 and colours["blank"] > 1  # hatched, whatever is drawn on it
    page.focus("tl-search")
    for letter in "gemm":
        page.key(letter)
    page.until("tl-about", "found: 1 here")  # the search skips estimates
    page.close()
    assert not chromium.exceptions()
