# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A torch.nn.Module that is called, and keeps its modules, as PyTorch's own: for every CPython.  Hooks are PyTorch's
register_module_forward_pre_hook and register_module_forward_hook."""

_pre_hooks, _hooks = [], []


def register_module_forward_pre_hook(hook):
    _pre_hooks.append(hook)


def register_module_forward_hook(hook):
    _hooks.append(hook)


class Module:
    def __init__(self):
        super().__setattr__("training", True)
        super().__setattr__("_parameters", {})
        super().__setattr__("_modules", {})

    def __setattr__(self, name, value):
        modules = self.__dict__.get("_modules")
        if isinstance(value, Module):
            modules[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name):
        modules = self.__dict__.get("_modules", {})
        if name in modules:
            return modules[name]
        raise AttributeError(name)

    def __delattr__(self, name):
        if name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        for hook in _pre_hooks:
            hook(self, args)
        result = self.forward(*args, **kwargs)

        def inner():  # as PyTorch's, it has `self` in a cell
            for hook in _hooks:
                hook(self, args, result)

        inner()
        return result

    __call__ = _wrapped_call_impl
