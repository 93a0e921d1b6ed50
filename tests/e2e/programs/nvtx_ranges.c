/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVIDIA's own NVTX in a library for ctypes, header-only or (NVTX_LIBRARY) the library of CUDA 12 and before: every
 * form of range and message that the agent knows.  tests/e2e/test_nvtx.py builds it with packages from PyPI.
 */
#include <stdint.h>
#include <string.h>

#ifdef NVTX_LIBRARY
#include <wchar.h>

#include <nvToolsExt.h>
#else
#include <nvtx3/nvToolsExt.h>
#endif

static nvtxEventAttributes_t named(const char *text)
{
	nvtxEventAttributes_t attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.version = NVTX_VERSION;
	attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
	attributes.message.ascii = text;
	return attributes;
}

int push(const char *text)
{
	return nvtxRangePushA(text);
}

int push_wide(const wchar_t *text)
{
	return nvtxRangePushW(text);
}

int pop(void)
{
	return nvtxRangePop();
}

uint64_t start(const char *text)
{
	return nvtxRangeStartA(text);
}

void end(uint64_t id)
{
	nvtxRangeEnd(id);
}

void mark(const char *text)
{
	nvtxMarkA(text);
}

void *domain(const char *name)
{
	return nvtxDomainCreateA(name);
}

int domain_push(void *domain, const char *text)
{
	nvtxEventAttributes_t attributes = named(text);

	return nvtxDomainRangePushEx(domain, &attributes);
}

int domain_push_registered(void *domain, const char *text)
{
	nvtxEventAttributes_t attributes = named(NULL);

	attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	attributes.message.registered = nvtxDomainRegisterStringA(domain, text);
	return nvtxDomainRangePushEx(domain, &attributes);
}

int domain_pop(void *domain)
{
	return nvtxDomainRangePop(domain);
}
