#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares user/nvml/nvml_abi.h with NVIDIA's own bindings of NVML: numbers, sizes and names with pynvml.py (nvidia-ml-py),
arguments with cynvml.pxd (cuda-bindings).  `make check-nvml` has both from PyPI:

    nvml_numbers.py FOLDER_OF_PYNVML FOLDER_OF_CUDA_BINDINGS
"""

import ctypes
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = (ROOT / "user/nvml/nvml_abi.h").read_text()
VALUES = (ROOT / "include/gputrace/values.h").read_text()
NAMES = {  # ours: pynvml's, where it is not the same
    "NVML_EVENT_ECC_SINGLE_BIT": "nvmlEventTypeSingleBitEccError", "NVML_EVENT_ECC_DOUBLE_BIT": "nvmlEventTypeDoubleBitEccError",
    "NVML_EVENT_XID": "nvmlEventTypeXidCriticalError", "NVML_UUID_BYTES": "NVML_DEVICE_UUID_BUFFER_SIZE",
    "NVML_FIELD_NVLINK_TX_KIB": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX",
    "NVML_FIELD_NVLINK_RX_KIB": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX",
    "NVML_FIELD_PCIE_TX_BYTES": "NVML_FI_DEV_PCIE_COUNT_TX_BYTES", "NVML_FIELD_PCIE_RX_BYTES": "NVML_FI_DEV_PCIE_COUNT_RX_BYTES",
    **{f"GPT_CLOCK_{ours}": f"nvmlClocksThrottleReason{theirs}" for ours, theirs in {
        "IDLE": "GpuIdle", "SETTING": "ApplicationsClocksSetting", "POWER_CAP": "SwPowerCap", "HW_SLOWDOWN": "HwSlowdown",
        "SYNC_BOOST": "SyncBoost", "SW_THERMAL": "SwThermalSlowdown", "HW_THERMAL": "HwThermalSlowdown",
        "POWER_BRAKE": "HwPowerBrakeSlowdown", "DISPLAY": "DisplayClockSetting", "BOARD_LIMIT": "BoardLimit",
        "RELIABILITY": "Reliability"}.items()},
}
SIZES = {"nvmlEventData_t": "c_nvmlEventData_t", "nvmlProcessInfo_v2_t": "c_nvmlProcessInfo_v2_t", "nvmlFieldValue_t": "c_nvmlFieldValue_t"}
OLDER = {"nvmlDeviceGetTemperature", "nvmlDeviceGetCurrentClocksThrottleReasons"}  # no longer in cuda-bindings
KINDS = {"unsigned": "number", "unsigned int": "number", "int": "number", "nvmlClockType_t": "number",
         "nvmlTemperatureSensors_t": "number", "unsigned long long": "large", "char *": "text", "unsigned *": "to number",
         "unsigned int *": "to number", "unsigned long long *": "to large", "struct nvml_device *": "handle", "void *": "handle",
         "nvmlDevice_t": "handle", "nvmlEventSet_t": "handle", "struct nvml_device **": "to handle", "void **": "to handle",
         "nvmlDevice_t *": "to handle", "nvmlEventSet_t *": "to handle", "struct nvml_process *": "to struct",
         "struct nvml_field *": "to struct", "struct nvml_event *": "to struct", "nvmlProcessInfo_t *": "to struct",
         "nvmlFieldValue_t *": "to struct", "nvmlEventData_t *": "to struct"}


def numbers():
    text = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
    found = re.findall(r"\b(NVML_\w+)\s*=\s*(\w+)", text) + re.findall(r"#define (NVML_\w+) (\d+)\b", text)
    return dict(found + re.findall(r"\b(GPT_CLOCK_\w+)\s*=\s*(\w+)", VALUES))


def functions():
    """{symbol: [its arguments' kinds]}, also under its older name."""
    table = HEADER[HEADER.index("#define NVML_FUNCTIONS"):].replace("\\\n", " ")
    found = {}
    for symbol, older, arguments in re.findall(r'(?:REQUIRED|OPTIONAL)\(\w+, "(\w+)",\s*("\w+"|NULL),\s*([^()]*)\)', table):
        words = [" ".join(word.split()) for word in arguments.split(",")]
        found[symbol] = [KINDS[word] for word in words if word != "void"]
        if older != "NULL":
            found[older.strip('"')] = found[symbol]
    return found


def their_arguments(pxd, symbol):
    match = re.search(rf" {symbol}\(([^)]*)\)", pxd)
    if not match:
        return None
    types = [re.sub(r"\s*\*", " *", word.strip().rsplit(" ", 1)[0]) for word in match.group(1).split(",") if word.strip()]
    return [KINDS[word] for word in types]


def main():
    sys.path.insert(0, sys.argv[1])
    import pynvml
    pxd = (pathlib.Path(sys.argv[2]) / "cuda/bindings/cynvml.pxd").read_text()
    source = pathlib.Path(pynvml.__file__).read_text()
    wrong = []
    ours = numbers()
    for name, value in ours.items():
        theirs = getattr(pynvml, NAMES.get(name, name), None)
        if theirs != int(value, 0):
            wrong.append(f"{name} is {value}, pynvml.py has {theirs}")
    for struct, size in re.findall(r"_Static_assert\(sizeof\(struct \w+\) == (\d+), \"(\w+)\"\)", HEADER):
        theirs = ctypes.sizeof(getattr(pynvml, SIZES[size]))
        if theirs != int(struct):
            wrong.append(f"{size} has {struct} bytes, in pynvml.py {theirs}")
    for symbol, arguments in functions().items():
        theirs = their_arguments(pxd, symbol)
        if f'"{symbol}"' not in source and theirs is None:
            wrong.append(f"{symbol} is in neither")
        if theirs is None and symbol not in OLDER or theirs is not None and theirs != arguments:
            wrong.append(f"{symbol}: {arguments}, in cynvml.pxd {theirs}")
    for line in wrong:
        print(f"nvml_abi.h: {line}", file=sys.stderr)
    print(f"{len(ours)} numbers, {len(functions())} functions of NVML compared, {len(wrong)} differ")
    return bool(wrong) or len(ours) < 30 or len(functions()) < 19


if __name__ == "__main__":
    sys.exit(main())
