# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Holds objects that look like PyTorch's tensors in many ways, and says by which: "place<TAB>type<TAB>items<TAB>path<TAB>
address of the data...".  Their type, TensorImpl and StorageImpl are made with ctypes, so that any CPython runs this.
Arguments: which of PyTorch's layouts, "new" or "old" (two reference counts, a flag before the pointer, strings of before
C++11), other objects, tensors in the cache."""

import collections
import ctypes
import functools
import gc
import mmap
import sys
import threading

OLD = sys.argv[1] == "old"
FIRST = 3 if OLD else 2  # word after the reference counts
VTABLE = 0x7F0000000100
kept = []


class Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(Slot))]


spec = Spec(b"torch._C.TensorBase", 48, 0, 1 << 10 | 1 << 18, (Slot * 1)(Slot(0, None)))
ctypes.pythonapi.PyType_FromSpec.restype = ctypes.py_object
ctypes.pythonapi.PyType_FromSpec.argtypes = [ctypes.c_void_p]
TensorBase = ctypes.pythonapi.PyType_FromSpec(ctypes.byref(spec))


def words(count):
    memory = (ctypes.c_uint64 * count)()
    kept.append(memory)
    return memory, ctypes.addressof(memory)


def make_impl(data):
    storage, storage_at = words(24)
    impl, impl_at = words(24)
    for counted in storage, impl:
        counted[0], counted[1] = VTABLE, 1 if OLD else 1 | 1 << 32
        if OLD:
            counted[2] = 1
    storage[FIRST], storage[FIRST + 4] = data, 4096
    impl[FIRST] = storage_at
    return impl, impl_at


class Tensor(TensorBase):
    """data: the address of its memory; grad: that of its gradient's."""

    def __init__(self, data, grad=0, graph=False):
        impl, at = make_impl(data)
        impl[FIRST + 4] = id(self) | OLD
        if grad or graph:
            meta, meta_at = words(8)
            meta[1] = meta_at if OLD else meta_at + 24
            meta[2 if OLD else 5] = make_impl(grad)[1] if grad else 0
            meta[3 if OLD else 6] = graph
            impl[FIRST + 1] = meta_at
        ctypes.c_uint64.from_address(id(self) + (24 if OLD else 16)).value = at


numbers = iter(range(0x7E0000000000, 0x7F0000000000, 4096))
truth = []


def tensors(count, **more):
    """So many tensors, and the addresses of their data."""
    made = [Tensor(next(numbers), **more) for _ in range(count)]
    addresses = [words_of(one) for one in made]
    return made, addresses


def words_of(tensor):
    impl = ctypes.c_uint64.from_address(id(tensor) + (24 if OLD else 16)).value
    storage = ctypes.c_uint64.from_address(impl + 8 * FIRST).value
    return ctypes.c_uint64.from_address(storage + 8 * FIRST).value


def is_held(place, kind, items, path, addresses):
    truth.append("\t".join([place, kind, str(items), path] + [str(one) for one in addresses]))


class History:
    shared = {}

    def __init__(self):
        self.losses, self.seen, self.nested, self.by_set, self.queue = [], None, {}, set(), collections.deque(maxlen=200)


class Slotted:
    __slots__ = ("image", "label")


class Layer:
    def __init__(self, weight):
        self._parameters = {"weight": weight}
        self._modules = {}


class Node:
    pass


history = History()
made, at = tensors(1204)
history.losses = made[:]
is_held("History.losses", "list", 1204, "__main__.history.losses", at)
made, at = tensors(70)
history.queue.extend(made)
is_held("History.queue", "collections.deque", 70, "__main__.history.queue", at)
made, at = tensors(40)
history.by_set.update(made)
is_held("History.by_set", "set", 40, "__main__.history.by_set", at)
made, at = tensors(3)
history.seen = tuple(made)
is_held("History.seen", "tuple", 3, "__main__.history.seen", at)
made, at = tensors(9)
history.nested.update({"a": [made[:4], (made[4],)], "b": {"c": made[5:]}})
is_held("History.nested", "dict", 2, "__main__.history.nested", at)
made, at = tensors(30)
History.shared.update(enumerate(made))
is_held("History.shared", "dict", 30, "__main__.History.shared", at)

made, at = tensors(int(sys.argv[3]))
cache = dict(enumerate(made))
is_held("__main__.cache", "dict", len(made), "__main__.cache", at)
made, at = tensors(1)
alone = made[0]
is_held("__main__.alone", "", -1, "__main__.alone", at)

made, at = tensors(5)
slotted = [Slotted() for _ in made]
for one, image in zip(slotted, made):
    one.image = image
is_held("Slotted.image", "", -1, "__main__.slotted[...].image", at)

gradient = next(numbers)
weight = Tensor(next(numbers), grad=gradient)
outer = Layer(weight)
is_held("Layer.weight", "", -1, "__main__.outer._parameters[weight]", [words_of(weight)])
is_held("Layer.weight.grad", "", -1, "__main__.outer._parameters[weight].grad", [gradient])
del weight
made, at = tensors(2, graph=True)
graphs = made[:]
is_held("__main__.graphs", "list", 2, "__main__.graphs", at)

made, at = tensors(2)
ring = Node()
ring.next, ring.value = ring, made  # a cycle
ring.itself = [ring]
ring.itself.append(ring.itself)
is_held("Node.value", "list", 2, "__main__.ring.value", at)

made, at = tensors(1)
setattr(ring, "\x1b[31m;" + "x" * 10000, made[0])
is_held("Node.\ufffd[31m;" + "x" * 58 + "...", "", -1, "__main__.ring.\ufffd[31m;" + "x" * 58 + "...", at)


class Lost:
    pass


gc.disable()
lost, (made, at) = Lost(), tensors(8)
lost.me, lost.value = lost, made  # a cycle that no variable reaches
del lost
is_held("Lost.value", "list", 8, "no variable: Lost.value", at)
made, at = tensors(3)
made.append(made)
is_held("list", "list", 4, "no variable: list", at)


@functools.lru_cache(None)
def cached(number):
    return made[number]


made, at = tensors(6)
for number in range(6):
    cached(number)
is_held("__main__.cached", "functools._lru_cache_wrapper", -1, "__main__.cached", at)


def make():
    inside, at = tensors(7)

    def closes():
        return inside

    if sys.version_info >= (3, 11):
        is_held("closure inside of make.<locals>.closes", "list", 7,
                "__main__.closes: closure inside of make.<locals>.closes", at)
    elif sys.version_info >= (3, 10):
        is_held("closure of closes", "list", 7, "__main__.closes: closure of closes", at)
    else:
        is_held("__main__.closes", "function", -1, "__main__.closes", at)
    return closes


def generate():
    waits, at = tensors(2)
    is_held("local waits of generate", "list", 2, "__main__.generator in generate: local waits of generate", at)
    del at
    yield
    print(waits)


def fail():
    inside, at = tensors(4)
    is_held("local inside of fail", "list", 4, "__main__.failure.tb_frame in fail: local inside of fail", at)
    raise ValueError


closes = make()
generator = generate()
next(generator)
failure = None
try:
    fail()
except ValueError as error:
    failure = error
    failure_frame = None
made = at = image = one = number = None


def run():
    batch, at = tensors(11)
    is_held("local batch of run", "list", 11, "local batch of run", at)
    del at
    sys.stdout.buffer.write(("\n".join(truth) + "\n\n").encode())
    sys.stdout.flush()
    for line in sys.stdin:
        if line == "names\n":
            hold_by_many_names()
        elif line == "holes\n":
            hold_holes()
        else:
            churn(batch)


def hold_by_many_names():
    """Each tensor has a place of its own."""
    for number, one in enumerate(tensors(5000)[0]):
        setattr(ring, f"name_{number}", one)
    print("named", flush=True)


def hold_holes():
    """200 dicts of 8,388,608 entries without a key, in pages that take no memory (3.11 and later)."""
    room = mmap.mmap(-1, 1 << 28, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    keys = ctypes.addressof(ctypes.c_char.from_buffer(room))
    ctypes.c_int64.from_address(keys + 24).value = 1 << 23
    kept.append(room)
    items = ctypes.c_uint64.from_address(id(holes) + 24).value
    for number in range(len(holes)):
        fake, at = words(6)
        fake[0], fake[1], fake[4], fake[5] = 1 << 30, id(dict), keys, keys + 4096
        ctypes.c_uint64.from_address(items + 8 * number).value = at
    print("held", flush=True)


def churn(batch):
    """Changes objects for as long as the process lives."""
    changing = {}
    for number in range(1 << 62):
        changing[number % 1000] = [[number] * (number % 50), {"key": History()}, (number, batch)]
        if number % 7 == 0:
            changing.clear()
        changing["box"] = [number] * len(history.losses)  # the next line's copy has its memory
        del changing["box"]
        len(history.losses[:])


holes = [None] * 200
many = [[number] for number in range(int(sys.argv[2]))]
threading.current_thread()
run()
