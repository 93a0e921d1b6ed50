/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libFuzzer target: mutated traces of torch.profiler. */
#include "foreign_input.h"

#define AT "\"pid\":1,\"tid\":2,\"ts\":"

static const char document[] =
	"{\"baseTimeNanoseconds\":17,\"host_name\":\"h\",\"deviceProperties\":[{\"id\":0,\"name\":\"G\",\"numSms\":2}],"
	"\"traceEvents\":[{\"ph\":\"M\",\"name\":\"thread_name\"," AT "1,\"args\":{\"name\":\"thread 2 (t)\"}},"
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\"," AT "1,\"dur\":90},"
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"a.py(3): f\"," AT
	"2.5,\"dur\":50,\"args\":{\"CallFrom\":\"b:4\"}},"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\"," AT "3,\"dur\":9,\"args\":{\"Sequence number\":1,"
	"\"Input Dims\":[[1],[]],\"Input type\":[\"a\",\"\"],\"Fwd thread id\":1,"
	"\"Collective name\":\"c\",\"Group size\":2,\"Seq\":1,\"dtype\":\"Int\",\"Is asynchronized op\":true}},"
	"{\"ph\":\"s\",\"id\":1,\"cat\":\"fwdbwd\"," AT "2},{\"ph\":\"f\",\"id\":1,\"cat\":\"fwdbwd\"," AT "3},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\"," AT "4,\"dur\":2,\"args\":{\"cbid\":211,"
	"\"Call stack\":\"a(3): f;[2 frames left out];b(4): g\","
	"\"correlation\":5}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"_Z1kv\"," AT
	"7,\"dur\":3,\"args\":{\"device\":0,"
	"\"stream\":7,\"context\":1,\"correlation\":5,\"grid\":[1,2,3],\"graph id\":1,\"graph node id\":9}},"
	"{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> Pageable)\"," AT
	"8,\"dur\":1,\"args\":{"
	"\"correlation\":6,\"bytes\":4}},{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Sync\"," AT
	"9,\"dur\":1,"
	"\"args\":{\"correlation\":5,\"stream\":7}},{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"Resource\"," AT
	"9,\"dur\":1},"
	"{\"ph\":\"i\",\"name\":\"[memory]\"," AT
	"9,\"args\":{\"Bytes\":-8,\"Addr\":4,\"Device Type\":1,\"Device Id\":0}},"
	/* PyTorch's autograd engine, and events that only gputrace writes */
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"<built-in method run_backward of "
	"torch._C._EngineBase object at 0\"," AT "10,\"dur\":30},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":"
	"\"autograd::engine::evaluate_function: N\"," AT "10,\"dur\":9},{\"ph\":\"X\",\"cat\":\"cpu_op\","
	"\"name\":\"N\"," AT
	"11,\"dur\":5},{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"NVTX ProfilerStep#1\"," AT
	"12,\"dur\":5,\"args\":{\"NVTX\":\"push, pop\",\"thread\":2,\"domain\":\"d\"}},"
	"{\"ph\":\"X\",\"cat\":\"python_gc\",\"name\":\"gc\"," AT
	"13,\"dur\":2,\"args\":{\"generation\":1,\"thread\":2}},"
	"{\"ph\":\"X\",\"cat\":\"python_import\",\"name\":\"import m\"," AT
	"14,\"dur\":2,\"args\":{\"module\":\"m\",\"thread\":2,\"end\":\"not seen\"}},"
	"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[CUDA memory]\"," AT
	"15,\"args\":{\"Bytes\":8,\"Addr\":4,\"kind\":\"device\",\"of call\":5}},"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\"," AT
	"16,\"dur\":1,\"args\":{\"correlation\":9,\"captured\":true,\"result\":0,\"Call stack of\":\"b\"}},"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\"," AT
	"17,\"dur\":3,\"args\":{\"correlation\":5,\"graph id\":1,\"graph node id\":9,\"captured by\":9,"
	"\"shared memory\":9,\"static shared memory\":4,\"cupti stream\":3}}],"
	"\"gputrace\":{\"recorded_ns\":90000,\"processes\":[{\"shown as\":1,\"command\":\"c\",\"python\":\"3.11\"}]}}";

/* Most inputs start from a valid trace. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	if ((size < 16 || seed % 64 == 0) && max_size > sizeof(document)) {
		size = strlen(document);
		memcpy(data, document, size);
	}
	return LLVMFuzzerMutate(data, size, max_size);
}
