# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Calls modules of a small PyTorch (torch_shaped/) that launch, in every shape that a tree of modules can have; usage:
modules.py FOLDER [WHAT].  WHAT: `shapes` (default); `changed`: the same, where one
of two models is not called; `reused`: the address of a module becomes another one's; `replaced`:
Module.__call__ is replaced; `wrong`: by a function whose `self` is no module, until FOLDER/again is there.

At first a module WarmUp launches until FOLDER/go is there, so that the tracer knows what a module is; after all others a
module Last launches until FOLDER/end is there, so that all have been named.  CPython 3.6 to 3.15.
"""

import json
import os
import pathlib
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "torch_shaped"), str(HERE.parents[1] / "workloads")]

import gpu  # noqa: E402
import module_truth  # noqa: E402
from torch.nn.modules import module as library  # noqa: E402

Module = library.Module
FOLDER = pathlib.Path(sys.argv[1])
LONG = "n" * 10000
STEPS, LOSSES = 3, 3
ROOTS_BEFORE = 2  # the number of the first root that is not WarmUp


def launch(kernel="bias_6us"):
    gpu.launch(gpu.at(kernel), *gpu.SHAPE, None)


class Linear(Module):
    def forward(self, x):
        launch("gemm_60us")
        return x


class Container(Module):
    """As ModuleList and ModuleDict: it is never called."""

    def __init__(self, **modules):
        super().__init__()
        for name, module in modules.items():
            self._modules[name] = module

    def __iter__(self):
        return iter(list(self._modules.values()))


class Mlp(Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = Linear(), Linear()

    def forward(self, x):
        x = self.up(x)
        launch("gelu_25us")
        return self.down(x)


class Block(Module):
    def __init__(self):
        super().__init__()
        self.mlp, self.norm = Mlp(), Linear()
        for i in range(40):  # its attributes are not in line any more
            setattr(self, "setting%d" % i, i)

    def forward(self, x):
        launch("norm_12us")
        return self.norm(self.mlp(x))


class Net(Module):
    def __init__(self):
        super().__init__()
        self.layers = Container(**{"%d" % i: Block() for i in range(3)})
        self.heads = Container(left=Linear(), right=Linear())
        self.tied = self.heads._modules["left"]  # shared
        self.back = Linear()
        self.back._modules["to_root"] = self  # a cycle
        self._modules["nothing"] = None
        self.odd = Linear()
        self._modules["a;b\x1b[31m\n\u202e"] = self._modules.pop("odd")
        self._modules[LONG] = Linear()
        self._modules["\u540d\U0001f600"] = Linear()

    def forward(self, x):
        for block in self.layers:
            x = block(x)
        for module in [*self.heads, self.tied, self.back, *list(self._modules.values())[-3:]]:
            x = module(x)
        launch("head_40us")
        return x


class Recursive(Module):
    def forward(self, depth):
        launch("softmax_15us")
        if depth:
            self(depth - 1)


class Mixin:
    def own(self):
        launch("loss_20us")


class Mixed(Mixin, Module):
    """Module is not its first base, nor the first base of that."""

    def forward(self, x):
        self.own()
        return x


class Hides(Module):
    """Calls a module that is in no `_modules`."""

    def __init__(self):
        super().__init__()
        self.hidden = [Hidden()]

    def forward(self, x):
        return self.hidden[0](x)


class Hidden(Module):
    def forward(self, x):
        launch("score_7us")
        return x


class Loss(Module):
    def forward(self, x):
        launch("metric_5us")
        return x


class Raises(Module):
    def forward(self, x):
        launch("clip_8us")
        raise ValueError("on purpose")


class Yields(Module):
    """Its work is done after the call."""

    def forward(self, x):
        def work():
            yield x
            launch("ema_11us")
        return work()


class Direct(Module):
    """Calls forward of another module, which is no call of that one."""

    def __init__(self):
        super().__init__()
        self.other = Linear()

    def forward(self, x):
        return self.other.forward(x)


class Deep(Module):
    """Calls its module under more frames than are kept: that call is among those left out."""

    def __init__(self):
        super().__init__()
        self.inner = DeepInner()

    def forward(self, x):
        return down(50, lambda: self.inner(x))


class DeepInner(Module):
    def forward(self, x):
        return down(200, lambda: launch("tick_10us"))


def down(depth, what):
    return down(depth - 1, what) if depth else what()


class Slow(Module):
    """Leaves the GPU without work while it sleeps; how long that took is in FOLDER/idle.json."""

    def __init__(self):
        super().__init__()
        self.slept = self.waited = 0

    def forward(self, x):
        start = time.monotonic()
        time.sleep(0.05)
        self.slept += time.monotonic() - start
        launch("metric_5us")
        return x

    def alone(self):
        start = time.monotonic()
        gpu.device_sync()
        self.waited += time.monotonic() - start
        self(1)

    def write(self):
        (FOLDER / "idle.json").write_text(json.dumps({"slept": int(self.slept * 1e9), "waited": int(self.waited * 1e9)}))


class Marker(Module):
    """WarmUp and Last: launches until a file is there."""

    def forward(self, x):
        launch("tiny_1us")
        return x


class WarmUp(Marker):
    pass


class Last(Marker):
    pass


def until(name, module):
    while not (FOLDER / name).exists():
        module(0)
        time.sleep(0.02)
    gpu.device_sync()


def shapes(truth, called=2):
    nets, others = [Net(), Net()], [Recursive(), Mixed(), Hides(), Yields(), Direct(), Deep()]
    raises, slow = Raises(), Slow()
    for number, net in enumerate(nets):
        truth.name_tree(net, "Net#%d" % (number + ROOTS_BEFORE))
    for module in [*others, raises, slow]:
        truth.name_tree(module)
    deep = others.pop()
    truth.name(deep.inner, "[frames left out]")

    def step():
        for net in nets[:called]:
            net(1)
        for _ in range(LOSSES):  # created again in each step
            loss = Loss()
            truth.name(loss, "Loss")
            loss(1)
        launch("augment_9us")
        for module in others[:3]:
            module(2)
        for _ in others[3](1):
            pass
        others[4](1)
        deep(1)
        raised(truth, raises)

    for _ in range(STEPS):
        step()
        slow.alone()
    slow.write()
    threads = [threading.Thread(target=step) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def raised(truth, module):
    try:
        module(1)
    except ValueError:
        truth.leave(module, None, None)


class Other(Module):
    def forward(self, x):
        launch("gelu_25us")
        return x


def replace(modules, name, kind):
    """Frees a module and makes others until one is where it was."""
    make, address, kept = kind.__new__, id(modules[name]), [None] * 20000
    places = iter(range(len(kept)))  # nothing else may get that memory
    del modules[name]
    for i in places:
        kept[i] = make(kind)
    (found,) = [made for made in kept if id(made) == address]
    found.__init__()
    return found


def reused(truth):
    holder = Container(before=Linear())
    holder.forward = lambda x: [module(x) for module in holder][0]
    truth.name(holder, "Container")
    truth.name(holder._modules["before"], "Container.before")
    until("again", holder)
    truth.names.pop(id(holder._modules["before"]))
    holder._modules["after"] = replace(holder._modules, "before", Other)
    truth.name(holder._modules["after"], "Container.after")
    until("known", holder)


def replaced(truth):
    called = Module.__call__

    def calls(self, *args):
        return called(self, *args)

    Module.__call__ = calls
    net = Mlp()
    truth.name_tree(net)
    until("again", net)


def wrong():
    """Every object is called by what was Module.__call__."""
    class Thing:
        def forward(self, x):
            launch()
            return x

    def call(self, x):
        return self.forward(x)

    Module.__call__ = call
    things = [Thing() for _ in range(100)]
    while not (FOLDER / "again").exists():
        for thing in things:
            call(thing, 0)
        time.sleep(0.02)


def main():
    gpu.setup()
    truth = module_truth.Truth(library)
    warm_up, last = WarmUp(), Last()
    truth.name_tree(warm_up)
    truth.name_tree(last)
    what = (sys.argv[2:] or ["shapes"])[0]
    if what == "wrong":
        wrong()
        return
    print("ready", flush=True)
    until("go", warm_up)
    {"shapes": shapes, "changed": lambda truth: shapes(truth, 1), "reused": reused, "replaced": replaced}[what](truth)
    until("end", last)
    truth.write(str(FOLDER / "chains.json"))
    print("pid %d done" % os.getpid(), flush=True)


main()
