/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of NVML that gputrace calls.  Numbers and layouts: pynvml.py of nvidia-ml-py 13.615.71 (PyPI); prototypes:
 * cuda/bindings/cynvml.pxd of cuda-bindings 13.5.0 (PyPI), those of two older functions (temperature, throttle reasons)
 * pynvml.py's calls.  tests/nvml_numbers.py compares them.  Only functions whose arguments are plain numbers, texts and
 * the structs below are used, so no struct with a version word is.
 */
#pragma once

#include <stdint.h>

struct nvml_device; /* opaque */

enum nvml_return {
	NVML_SUCCESS = 0,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NO_PERMISSION = 4,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_TIMEOUT = 10,
	NVML_ERROR_GPU_IS_LOST = 15,
	NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
};

enum nvml_clock { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };

#define NVML_TEMPERATURE_GPU 0
#define NVML_UUID_BYTES 80 /* NVML_DEVICE_UUID_BUFFER_SIZE */
#define NVML_VALUE_NOT_AVAILABLE UINT64_MAX

/* Bits of an event set. */
enum nvml_event_type {
	NVML_EVENT_ECC_SINGLE_BIT = 0x1,
	NVML_EVENT_ECC_DOUBLE_BIT = 0x2,
	NVML_EVENT_XID = 0x8,
};

/* nvmlEventData_t; data: the XID. */
struct nvml_event {
	struct nvml_device *device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};

/* nvmlProcessInfo_v2_t, which is _v3_t's, too: nvmlDeviceGetComputeRunningProcesses_v3. */
struct nvml_process {
	unsigned pid;
	unsigned long long used_bytes; /* NVML_VALUE_NOT_AVAILABLE */
	unsigned gpu_instance, compute_instance;
};

/* nvmlFieldValue_t */
struct nvml_field {
	uint32_t field, scope; /* NVLink: scope UINT32_MAX: all links together */
	int64_t timestamp_us, latency_us;
	unsigned value_type; /* NVML_VALUE_TYPE_*: 1 unsigned int, 2 unsigned long, 3 unsigned long long */
	int returned;	     /* enum nvml_return */
	union {
		double fraction;
		uint32_t number;
		uint64_t large;
	};
};
#define NVML_FIELD_NVLINK_TX_KIB 138 /* NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX */
#define NVML_FIELD_NVLINK_RX_KIB 139
#define NVML_FIELD_PCIE_TX_BYTES 197 /* NVML_FI_DEV_PCIE_COUNT_TX_BYTES */
#define NVML_FIELD_PCIE_RX_BYTES 198

_Static_assert(sizeof(struct nvml_event) == 32, "nvmlEventData_t");
_Static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t");

/*
 *	REQUIRED(member, symbol, older symbol or NULL, arguments...): without it there is no NVML
 *	OPTIONAL(...): a driver may lack it; what it says is then not known
 */
#define NVML_FUNCTIONS(REQUIRED, OPTIONAL)                                                                             \
	REQUIRED(init, "nvmlInit_v2", NULL, void)                                                                      \
	REQUIRED(count, "nvmlDeviceGetCount_v2", NULL, unsigned *)                                                     \
	REQUIRED(device, "nvmlDeviceGetHandleByIndex_v2", NULL, unsigned, struct nvml_device **)                       \
	REQUIRED(uuid, "nvmlDeviceGetUUID", NULL, struct nvml_device *, char *, unsigned)                              \
	OPTIONAL(driver, "nvmlSystemGetDriverVersion", NULL, char *, unsigned)                                         \
	OPTIONAL(mig, "nvmlDeviceGetMigMode", NULL, struct nvml_device *, unsigned *, unsigned *)                      \
	OPTIONAL(mig_device, "nvmlDeviceGetMigDeviceHandleByIndex", NULL, struct nvml_device *, unsigned,              \
		 struct nvml_device **)                                                                                \
	OPTIONAL(clock, "nvmlDeviceGetClockInfo", NULL, struct nvml_device *, unsigned, unsigned *)                    \
	OPTIONAL(clock_max, "nvmlDeviceGetMaxClockInfo", NULL, struct nvml_device *, unsigned, unsigned *)             \
	OPTIONAL(power, "nvmlDeviceGetPowerUsage", NULL, struct nvml_device *, unsigned *)                             \
	OPTIONAL(power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL, struct nvml_device *, unsigned *)               \
	OPTIONAL(temperature, "nvmlDeviceGetTemperature", NULL, struct nvml_device *, unsigned, unsigned *)            \
	OPTIONAL(reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",       \
		 struct nvml_device *, unsigned long long *)                                                           \
	OPTIONAL(processes, "nvmlDeviceGetComputeRunningProcesses_v3", NULL, struct nvml_device *, unsigned *,         \
		 struct nvml_process *)                                                                                \
	OPTIONAL(fields, "nvmlDeviceGetFieldValues", NULL, struct nvml_device *, int, struct nvml_field *)             \
	OPTIONAL(event_set, "nvmlEventSetCreate", NULL, void **)                                                       \
	OPTIONAL(event_types, "nvmlDeviceGetSupportedEventTypes", NULL, struct nvml_device *, unsigned long long *)    \
	OPTIONAL(event_register, "nvmlDeviceRegisterEvents", NULL, struct nvml_device *, unsigned long long, void *)   \
	OPTIONAL(event_wait, "nvmlEventSetWait_v2", NULL, void *, struct nvml_event *, unsigned)
