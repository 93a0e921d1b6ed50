# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches from every kind of frame that CPython makes, often enough for its specialising interpreter to rewrite them.

shapes.py LIBCUDART TRUTH.  CPython 3.6 to 3.15, standard library only.
"""

import asyncio
import functools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402

ROUNDS = 40


def launch():
    gpu.launch(gpu.at("tick_10us"), *gpu.SHAPE, None)


class Base:
    def __init__(self):
        gpu.launch(gpu.at("gemm_60us"), *gpu.SHAPE, None)


class Derived(Base):
    def __init__(self):
        super().__init__()
        self.value = 1
        launch()

    def __call__(self):
        launch()

    @property
    def attribute(self):
        launch()
        return 1

    def __getattr__(self, name):
        launch()
        return name

    def __getitem__(self, key):
        launch()
        return key

    def __eq__(self, other):
        launch()
        return True

    def __add__(self, other):
        launch()
        return self

    def __iter__(self):
        launch()
        yield from (launch() for _ in range(2))

    def __del__(self):
        launch()

    @classmethod
    def of_class(cls):
        launch()

    @staticmethod
    def of_none():
        launch()


class Meta(type):
    def __call__(cls):
        launch()
        return super().__call__()


class Made(metaclass=Meta):
    def __new__(cls):
        launch()
        return super().__new__(cls)


class Manager:
    def __enter__(self):
        launch()

    def __exit__(self, *error):
        launch()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@decorated
def keywords(*, a, b=2):
    launch()


def delegating():
    yield from generator()


def generator():
    got = yield launch()
    launch()
    yield got


async def coroutine(depth):
    launch()
    if depth:
        await asyncio.sleep(0)
        await coroutine(depth - 1)


def run_asyncio(coroutine):
    if hasattr(asyncio, "run"):  # since 3.7
        asyncio.run(coroutine)
    else:
        asyncio.get_event_loop().run_until_complete(coroutine)


async def asynchronous():
    async def values():
        for i in range(2):
            launch()
            yield i

    await asyncio.gather(coroutine(2), coroutine(1))
    return [launch() async for _ in values()]


def send():
    running = delegating()
    next(running)
    running.send(1)


def raising():
    try:
        launch()
        raise ValueError
    except ValueError:
        launch()
    finally:
        launch()


def attributes():
    thing = Derived()
    thing()
    thing.attribute
    thing.missing
    thing[0]
    thing == thing
    thing + thing
    list(thing)
    thing.of_class()
    thing.of_none()


def c_calls():
    sorted([2, 1], key=lambda value: launch() or value)
    list(map(lambda value: launch(), range(2)))
    functools.reduce(lambda a, b: launch(), range(3))
    functools.partial(keywords, a=1)()
    eval("launch()")
    exec("launch()\n\nlaunch()\n")


def comprehensions():
    [launch() for _ in range(2)]
    {launch() for _ in range(2)}
    {i: launch() for i in range(2)}
    [[launch() for _ in range(2)] for _ in range(2)]


def one_round():
    attributes()
    Made()
    keywords(a=1)
    with Manager():
        raising()
    send()
    c_calls()
    comprehensions()
    run_asyncio(asynchronous())

    class Local(Base):
        launch()

    Local()


def main():
    gpu.setup(sys.argv[1], record=True, fake_kernels=True)
    for _ in range(ROUNDS):
        one_round()
    gpu.write_truth(sys.argv[2])


if __name__ == "__main__":
    main()
