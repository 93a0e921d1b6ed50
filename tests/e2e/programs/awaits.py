# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keeps the simulated GPU idle in awaits of asyncio: `awaits.py TRUTH`.  A task launches, awaits for 100 ms, launches again,
five times for each kind of await, beside 20 tasks that await something else all the time.  By its own clock it writes TRUTH:
{KIND: {"line", "ms"}}."""

import asyncio
import json
import pathlib
import sys
import time

from sim_cuda import KERNEL, cudart

PAUSE = 0.1


def launch():
    cudart.cudaLaunchKernel(KERNEL, 1, 1, 1, 32, 1, 1, None, 0, None)  # launch


async def sleep():
    await asyncio.sleep(PAUSE)  # sleep


async def item():
    queue = asyncio.Queue()

    async def put_later():
        await asyncio.sleep(PAUSE)
        await queue.put(1)

    putter = asyncio.ensure_future(put_later())
    await queue.get()  # item
    await putter


async def future():
    """What the task awaits is another task, which launches next."""
    async def one():
        done = asyncio.get_event_loop().create_future()
        asyncio.get_event_loop().call_later(PAUSE, done.set_result, None)
        await done  # future
        launch()

    await asyncio.gather(one())


async def measure(kind):
    seconds = 0
    for _ in range(5):
        launch()
        begin = time.monotonic()
        await kind()
        seconds += time.monotonic() - begin
        launch()
    return seconds * 1e3


async def stand_by():
    await asyncio.sleep(1000)


async def main():
    others = [asyncio.ensure_future(stand_by()) for _ in range(20)]
    await asyncio.sleep(1)  # the loop is noticed meanwhile
    lines = pathlib.Path(__file__).read_text().splitlines()
    truth = {}
    for kind in (sleep, item, future):
        (line,) = (number for number, text in enumerate(lines, 1) if text.endswith(f"# {kind.__name__}"))
        truth[kind.__name__] = {"line": line, "ms": await measure(kind)}
    for other in others:
        other.cancel()
    pathlib.Path(sys.argv[1]).write_text(json.dumps(truth))


asyncio.run(main())
