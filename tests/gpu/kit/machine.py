# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Facts about the machine: GPU, driver, CUDA, PyTorch.  Run as a program it prints them as JSON; then a driver that
hangs blocks a child, not the run."""

import ctypes
import glob
import json
import os
import platform
import shutil
import sys

import bounded

SMI_S = 15
SMI_QUERY = "name,driver_version,memory.total,memory.used,mig.mode.current,compute_mode,clocks.sm"


def mapped(name):
    """Files with that name in their path that this process has mapped, in the order of the maps."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = [line.split(maxsplit=5)[5].strip() for line in maps if name in line]
    return list(dict.fromkeys(found))


class Symbol(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("address", ctypes.c_void_p)]


def used(name, function):
    """The file that the loader resolves a library to, if several are mapped; None if none is."""
    found, symbol = mapped(name), Symbol()
    if not found:
        return None
    try:
        address = ctypes.cast(getattr(ctypes.CDLL(os.path.basename(found[0])), function), ctypes.c_void_p)
    except (OSError, AttributeError):
        return found[0]
    return symbol.file.decode() if ctypes.CDLL(None).dladdr(address, ctypes.byref(symbol)) else found[0]


def version_of(library, function):
    """The version that a function like cuDriverGetVersion returns, as "13.0"."""
    number = ctypes.c_int()
    try:
        if getattr(ctypes.CDLL(library), function)(ctypes.byref(number)):
            return None
    except (OSError, AttributeError):
        return None
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def driver_release():
    """The release of the kernel driver, as "580.159.04"."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            words = file.readline().split()
        return next((word for word in words if word[:1].isdigit() and word.count(".") >= 1), None)
    except OSError:
        return None


def every_cupti():
    """libcupti files of this machine; a check may need another copy, or one of another CUDA."""
    patterns = [folder + "/nvidia/*/lib/libcupti.so.*" for folder in sys.path if folder]
    patterns += ["/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*", "/usr/local/cuda*/lib64/libcupti.so.*",
                 "/usr/lib/x86_64-linux-gnu/libcupti.so.*"]
    found = {os.path.realpath(path) for pattern in patterns for path in glob.glob(pattern)}
    return sorted(found)


def gpu_facts():
    import torch

    facts = {"torch": torch.__version__, "torch_cuda": torch.version.cuda, "gpus": torch.cuda.device_count()}
    if not torch.cuda.is_available():
        return {**facts, "gpu": None}
    torch.ones(1, device="cuda").add_(1)
    torch.cuda.synchronize()
    properties = torch.cuda.get_device_properties(0)
    cudart = used("libcudart.so", "cudaLaunchKernel")
    facts.update(
        gpu=properties.name, capability="%d.%d" % (properties.major, properties.minor),
        gpu_memory=properties.total_memory, cudnn=torch.backends.cudnn.version(), cudart=cudart,
        cupti=used("libcupti.so", "cuptiSubscribe"), libcuda=used("libcuda.so", "cuInit"),
        mapped=mapped("libcupti.so") + mapped("libcudart.so"),
        driver_cuda=version_of("libcuda.so.1", "cuDriverGetVersion"),
        runtime_cuda=version_of(cudart, "cudaRuntimeGetVersion") if cudart else None)
    try:
        import triton

        facts["triton"] = triton.__version__
    except ImportError:
        facts["triton"] = None
    return facts


def nvidia_smi():
    """nvidia-smi's line for each GPU; None if it is not installed."""
    tool = shutil.which("nvidia-smi")
    return tool and bounded.run([tool, f"--query-gpu={SMI_QUERY}", "--format=csv,noheader"], SMI_S)[1].splitlines()


def facts():
    return {
        "kernel": platform.release(), "python": platform.python_version(), "libc": " ".join(platform.libc_ver()),
        "cpus": os.cpu_count(), "driver": driver_release(), "nvidia_smi": nvidia_smi(),
        "every_cupti": every_cupti(),
        "mps_control": shutil.which("nvidia-cuda-mps-control"), "compiler": shutil.which("cc") or shutil.which("gcc"),
        **gpu_facts()}


def ask(timeout_s):
    """The facts, from a child; on failure "gpu" is None and "why" the reason."""
    status, text = bounded.run([sys.executable, "-B", os.path.abspath(__file__)], timeout_s)
    lines = text.strip().splitlines()
    if status is None:
        return {"gpu": None, "why": f"PyTorch did not start the GPU within {timeout_s} s"}
    try:
        return json.loads(next(line for line in reversed(lines) if line.startswith("{")))
    except (StopIteration, ValueError):
        return {"gpu": None, "why": lines[-1] if lines else f"status {status}"}


def is_simulated(known):
    """Whether the GPU is tests/simgpu, by the device's name."""
    return "simulated" in (known.get("gpu") or "").lower()


def summary(known):
    """One line for the user."""
    return (f"{known['gpu']}, driver {known.get('driver') or '?'} (CUDA {known.get('driver_cuda')}), "
            f"PyTorch {known['torch']} (CUDA {known['torch_cuda']}), Python {known['python']}, Linux {known['kernel']}")


if __name__ == "__main__":
    print(json.dumps(facts()))
