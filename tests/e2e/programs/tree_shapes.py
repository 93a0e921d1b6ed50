# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every way in which CPython enters a function, each as shape(w); it calls w.next()(w) to continue the tree.

w.next() is another shape or the launch itself, so each of these lines launches, and is in the middle of stacks.
Code that some versions of CPython cannot parse is source in NEWER.  Lines matter here: calls over several lines are
written so on purpose.  CPython 3.6 and later, standard library only.
"""

import asyncio
import contextlib
import copy
import ctypes
import functools
import json
import re
import sys
import threading
import weakref

SHAPES = []


def shape(function):
    SHAPES.append(function)
    return function


# ---- functions ----------------------------------------------------------------------------------

@shape
def function(w):
    w.next()(w)


@shape
def two_calls(w):
    w.next()(w), w.next()(
        w)


@shape
def many_lines(w):
    keywords(
        w,
        first=w.next()(w),
        second=[
            w.next()(
                w
            ),
            (lambda w:
             w.next()(w))(w),
        ],
        third={
            "key": w.next()(w),
        }
    )


def keywords(w, *args, first=None, second=(), third=None, **more):
    w.next()(w)


@shape
def spread(w):
    keywords(*(w, 1, 2), **{"first": 1, "more": w.next()(w)})


@shape
def recursion(w, depth=0):
    if depth < w.random.randrange(1, 9):
        return recursion(w, depth + 1)
    w.next()(w)


@shape
def mutual(w, left=5):
    return lambda_of(w, left)


def lambda_of(w, left):
    return (lambda: mutual(w, left - 1))() if left else w.next()(w)


@shape
def closure(w):
    held = w

    def inner():
        nonlocal held

        def innermost():
            return held.next()(w)

        return innermost()

    inner()


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def decorate_with(w):
    w.next()(w)

    def decorator(function):
        w.next()(w)
        return decorate(function)

    return decorator


@shape
@decorate
@decorate
def decorated(w):
    w.next()(w)


@shape
def decorated_now(w):
    @decorate_with(w)
    @decorate_with(
        w
    )
    def local(argument=w.next()(w)):
        w.next()(w)

    local()


@shape
def default_and_annotation(w):
    def local(a: w.next()(w) = w.next()(w),
              b=w.next()(
                  w)) -> 1:
        return a

    local()


# ---- statements ---------------------------------------------------------------------------------

@shape
def loops(w):
    for i in range(3):
        if i == 1:
            continue
        w.next()(w)
    else:
        w.next()(w)
    i = 0
    while i < 2:
        i += 1
        w.next()(w)


@shape
def tries(w):
    try:
        w.next()(w)
        raise ValueError(
            w.next()(w)
        )
    except (KeyError,
            ValueError):
        w.next()(w)
    else:
        w.next()(w)
    finally:
        w.next()(w)
    w.next()(w)


@shape
def finally_returns(w):
    for _ in range(2):
        try:
            if w.random.random() < 0.5:
                return w.next()(w)
            break
        finally:
            w.next()(w)


@shape
def raises_through(w):
    def failing():
        try:
            raise KeyError(1)
        finally:
            w.next()(w)

    try:
        failing()
    except KeyError as error:
        try:
            raise OSError from error
        except OSError:
            w.next()(w)


class Context:
    def __init__(self, w):
        self.w = w

    def __enter__(self):
        self.w.next()(self.w)
        return self

    def __exit__(self, *error):
        self.w.next()(self.w)
        return True


@contextlib.contextmanager
def context(w):
    try:
        yield w.next()(w)
    finally:
        w.next()(w)


@shape
def withs(w):
    with Context(w), \
            context(w) as got:
        w.next()(w)
        with Context(
            w
        ):
            raise ValueError
        del got
    with contextlib.ExitStack() as stack:
        stack.callback(
            w.next(), w)
        stack.enter_context(
            Context(w))


@shape
def conditions(w):
    if (w.next()(w)
            or w.next()(w)
            and
            w.next()(w)):
        return
    assert not (
        w.next()(w) and None), (
        w.next()(w))


# ---- comprehensions and generators --------------------------------------------------------------

@shape
def comprehensions(w):
    [w.next()(w) for _ in range(2)]
    {
        w.next()(w)
        for _ in
        range(2)
        if not w.next()(w) or True
    }
    {i:
     w.next()(w) for i in range(2)}
    [[w.next()(w)
      for _ in range(1)]
     for _ in range(2)]
    [(lambda: w.next()(w))() for _ in range(1)]


def generator(w):
    got = yield w.next()(w)
    w.next()(w)
    try:
        yield got
    finally:
        w.next()(w)


def delegating(w):
    yield from generator(w)
    yield from (w.next()(w) for _ in range(2))
    w.next()(w)


@shape
def generators(w):
    for _ in delegating(w):
        w.next()(w)
    list(generator(w))
    sum(0 for _ in (w.next()(w) for _ in range(2)))
    "".join(str(w.next()(w)) for _ in range(2))


@shape
def sends(w):
    running = delegating(w)
    next(running)
    running.send(1)
    try:
        running.throw(ValueError)
    except ValueError:
        w.next()(w)
    another = generator(w)
    another.__next__()
    another.close()


# ---- classes ------------------------------------------------------------------------------------

class Describes:
    def __get__(self, instance, owner):
        w = instance.w
        w.next()(w)
        return instance

    def __set_name__(self, owner, name):
        self.name = name


class Base:
    described = Describes()

    def __init__(self, w):
        self.w = w
        w.next()(w)

    def __call__(self, w):
        w.next()(w)

    def __getattr__(self, name):
        w = self.__dict__["w"]
        w.next()(w)
        return name

    def __getitem__(self, key):
        self.w.next()(self.w)

    def __setitem__(self, key, value):
        self.w.next()(self.w)

    def __contains__(self, key):
        return bool(self.w.next()(self.w))

    def __eq__(self, other):
        self.w.next()(self.w)
        return True

    def __hash__(self):
        self.w.next()(self.w)
        return 1

    def __lt__(self, other):
        self.w.next()(self.w)
        return False

    def __add__(self, other):
        self.w.next()(self.w)
        return self

    def __iadd__(self, other):
        self.w.next()(self.w)
        return self

    def __bool__(self):
        self.w.next()(self.w)
        return True

    def __len__(self):
        self.w.next()(self.w)
        return 2

    def __format__(self, spec):
        self.w.next()(self.w)
        return spec

    def __deepcopy__(self, memo):
        self.w.next()(self.w)
        return self

    def method(self):
        self.w.next()(self.w)

    @property
    def attribute(self):
        self.w.next()(self.w)

    @attribute.setter
    def attribute(self, value):
        self.w.next()(self.w)

    @classmethod
    def of_class(cls, w):
        w.next()(w)

    @staticmethod
    def of_none(w):
        w.next()(w)

    class Inner:
        def method(self, w):
            w.next()(w)


class Derived(Base):
    def __init__(self, w):
        super().__init__(
            w
        )
        w.next()(w)

    def method(self):
        super().method()
        super(Derived, self).of_class(self.w)


class Slow:
    """Every kind of attribute access runs Python code."""

    def __init__(self, w):
        object.__setattr__(self, "w", w)

    def __getattribute__(self, name):
        w = object.__getattribute__(self, "w")
        w.next()(w)
        return w

    def __setattr__(self, name, value):
        value.next()(value)

    def __del__(self):
        w = object.__getattribute__(self, "w")
        w.next()(w)


@shape
def instances(w):
    thing = Derived(w)
    thing(w)
    thing.method()
    thing.of_class(w)
    Base.of_none(w)
    Base.Inner().method(w)


@shape
def attributes(w):
    thing = Base(w)
    thing.attribute
    thing.attribute = 1
    thing.described
    thing.missing
    Slow(w).x = w
    Slow(w).x


@shape
def operators(w):
    thing = Base(w)
    thing[0]
    thing[1] = thing
    thing + \
        thing
    thing += 1
    thing == thing < thing
    1 in thing
    {thing: 1}[thing]
    len(thing)
    sorted([thing, thing])
    "{:4} {}".format(thing, f"{thing:5}")
    copy.deepcopy([thing])
    if thing and not thing:
        pass


class Meta(type):
    def __new__(mcs, name, bases, names, w):
        w.next()(w)
        return super().__new__(mcs, name, bases, names)

    def __init__(cls, name, bases, names, w):
        w.next()(w)
        super().__init__(name, bases, names)

    def __call__(cls, w):
        w.next()(w)
        return super().__call__(w)


class Subclassed:
    def __init_subclass__(cls, w, **more):
        w.next()(w)
        super().__init_subclass__(**more)


@shape
def class_bodies(w):
    class Local(Base):
        w.next()(w)
        value = [
            w.next()(w) for _ in range(2)]

        class Nested:
            w.next()(w)

    class Sub(Subclassed, w=w):
        pass

    class Made(metaclass=Meta, w=w):
        def __new__(cls, w):
            w.next()(w)
            return super().__new__(cls)

        def __init__(self, w):
            w.next()(w)

    Local(w)
    Made(w)


@shape
def deaths(w):
    thing = Slow(w)
    del thing
    held = Context(w)
    weakref.finalize(held, w.next(), w)
    reference = weakref.ref(held, lambda gone: w.next()(w))
    held = None
    assert reference() is None


class Knot:
    """Freed by the garbage collector, wherever that happens to run."""

    def __init__(self, w):
        self.me = self
        self.of_thread = w.of_thread

    def __del__(self):
        w = self.of_thread()  # the collector may run on any thread
        w and w.launch()(w)


@shape
def knots(w):
    for _ in range(20):
        Knot(w)


# ---- through C ----------------------------------------------------------------------------------

@shape
def c_callers(w):
    sorted([2, 1], key=lambda value: w.next()(w) or value)
    list(map(
        lambda value: w.next()(w),
        range(2)))
    list(map(w.next(), [w, w]))
    list(filter(lambda value: w.next()(w), range(2)))
    functools.reduce(lambda a, b: w.next()(w), range(3))
    max([1, 2],
        key=lambda value:
        w.next()(w) or 1)


@shape
def more_c_callers(w):
    functools.partial(keywords, w, first=2)(second=3)
    functools.partial(w.next(), w)()
    functools.lru_cache(maxsize=None)(lambda: w.next()(w))()
    re.sub("[ab]", lambda match: w.next()(w) and "x", "ab")
    json.dumps([object()], default=lambda thing: w.next()(w) and 1)
    w.sort_by_libc(w)


@shape
def compiled(w):
    number = w.random.randrange(1000)
    lines = "\n" * (number % 5)
    source = "def made_%d(w):\n%s    w.next()(w)\n%smade_%d(\nw)\nw.next()(w)\n" % (number, lines, lines, number)
    exec(compile(source, "<made %d>" % number, "exec"), {"w": w})
    eval("[w.next()(w) for _ in\n range(2)]", {"w": w})
    exec("class Made:\n\n  def __init__(self):\n    w.next()(w)\nMade()", {"w": w})


@shape
def in_thread(w):
    if w.random.random() < 0.2:
        thread = threading.Thread(target=w.next(), args=(w,))
        thread.start()
        thread.join()


# ---- coroutines ---------------------------------------------------------------------------------

class Awaited:
    def __init__(self, w):
        self.w = w

    def __await__(self):
        self.w.next()(self.w)
        yield  # what asyncio.sleep(0) does
        self.w.next()(self.w)


async def coroutine(w, depth):
    w.next()(w)
    if depth:
        await asyncio.sleep(0)
        await coroutine(
            w,
            depth - 1)
        w.next()(w)


async def values(w):
    for i in range(2):
        w.next()(w)
        yield i


class AsyncContext:
    def __init__(self, w):
        self.w = w

    async def __aenter__(self):
        self.w.next()(self.w)

    async def __aexit__(self, *error):
        await coroutine(self.w, 0)


async def asynchronous(w):
    async with AsyncContext(w):
        async for _ in values(w):
            w.next()(w)
    await Awaited(w)
    [w.next()(w) async for _ in values(w)]
    await asyncio.gather(coroutine(w, 2), coroutine(w, 1))
    asyncio.get_event_loop().call_soon(w.next(), w)
    await asyncio.sleep(0)


@shape
def driven_by_hand(w):
    running = coroutine(w, 2)
    try:
        while True:
            running.send(None)
    except StopIteration:
        w.next()(w)


@shape
def under_asyncio(w):
    """A thread runs one event loop at a time."""
    if asyncio._get_running_loop() is None:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(asynchronous(w))
        finally:
            loop.close()


# ---- added by newer versions --------------------------------------------------------------------

NEWER = {
    (3, 8): """
@shape
def walrus(w, /):
    if (got := w.next()(w)) or (
            got := w.next()(w)):
        got = f'''{
            w.next()(w)
        }'''

@shape
def cached(w):
    class Cached:  # of its own: before 3.12 a cached property has a lock, and below it we wait for other threads
        @functools.cached_property
        def value(self):
            return w.next()(w)

        @functools.singledispatchmethod
        def method(self, w):
            w.next()(w)

    Cached().value
    Cached().method(w)
""",
    (3, 10): """
@shape
def matching(w):
    match w.next()(w), [1, Base(w)]:
        case 1, _:
            w.next()(w)
        case _, [x, Base() as y] if w.next()(w) is None:
            pass
        case _, [x, *_] if (
                w.next()(w) or True):
            w.next()(w)

@shape
def parenthesised(w):
    with (
        Context(w),
        Context(w) as got,
    ):
        w.next()(w)
""",
    (3, 11): """
@shape
def exception_groups(w):
    try:
        raise ExceptionGroup("", [ValueError(), KeyError()])
    except* ValueError:
        w.next()(w)
    except* (
            KeyError):
        w.next()(w)
    finally:
        w.next()(w)
""",
    (3, 12): """
@shape
def type_parameters(w):
    def generic[T: (int, w.next()(w))](a: T = w.next()(w)):
        w.next()(w)

    generic()
    generic.__type_params__[0].__constraints__

    class Generic[T]:
        w.next()(w)

        def method[U](self, w):
            w.next()(w)

    Generic().method(w)
    type Lazy = [
        w.next()(w)]
    Lazy.__value__
""",
    (3, 14): """
@shape
def lazy_annotations(w):
    def annotated(a: w.next()(w)):
        pass

    annotated.__annotations__
    t'{w.next()(w)}'
    try:
        w.next()(w)
    finally:
        w.next()(w)
""",
}

for version, source in sorted(NEWER.items()):
    if sys.version_info >= version:
        exec(compile(source, "newer_%d_%d.py" % version, "exec"), globals())


def sorter(prototype, library):
    """sort(w): C's qsort, whose comparison calls Python."""
    compare_type = prototype(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def sort(w):
        def compare(a, b):
            w.next()(w)
            return 0

        library.qsort((ctypes.c_int * 2)(2, 1), ctypes.c_size_t(2), ctypes.c_size_t(4), compare_type(compare))

    return sort
