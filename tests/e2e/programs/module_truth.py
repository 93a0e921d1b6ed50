# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which modules are called when a thread submits GPU work, by hooks on torch.nn.Module, for programs on the simulated GPU.

Each work's label in the ground truth is the number of a chain: the modules that are called, outermost first, each as
[name, class].  A chain that is empty has no label."""

import ctypes
import json
import threading

NO_NAME = "[no name]"


class Truth:
    def __init__(self, library=None):
        """library: torch.nn.modules.module, all of whose modules are watched"""
        self.thread, self.lock = threading.local(), threading.Lock()
        self.names, self.chains = {}, {}
        self.sim_label = ctypes.CDLL("libcuda.so.1").sim_label
        if library:
            library.register_module_forward_pre_hook(self.enter)
            library.register_module_forward_hook(self.leave)

    def name(self, module, name):
        """The module, which lives as long as the program, has that name from now on."""
        self.names[id(module)] = (module, name)

    def name_tree(self, root, root_name=None):
        """Level by level: a module that is found again keeps its name."""
        root_name = root_name or type(root).__name__
        level, seen = [(root, root_name)], {id(root)}
        while level:
            for module, name in level:
                self.name(module, name)
            below = [(child, name + "." + key) for module, name in level for key, child in module._modules.items() if child is not None]
            level = []
            for child, name in below:
                if id(child) not in seen:
                    seen.add(id(child))
                    level.append((child, name))

    def stack(self):
        if not hasattr(self.thread, "stack"):
            self.thread.stack = []
        return self.thread.stack

    def label(self):
        chain = tuple(self.stack())
        with self.lock:
            number = self.chains.setdefault(chain, len(self.chains))
        self.sim_label(b"%d" % number if chain else None)

    def enter(self, module, _):
        _, name = self.names.get(id(module), (None, NO_NAME))
        self.stack().append((name, type(module).__name__))
        self.label()

    def leave(self, module, _, __):
        self.stack().pop()
        self.label()

    def write(self, path):
        with open(path, "w") as file:
            json.dump([list(chain) for chain in self.chains], file)
