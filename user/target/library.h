/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which mapped files matter, and which CUDA calls can be probed in them. */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "target/image.h"
#include "target/site.h"

enum library_kind {
	LIBRARY_OTHER,
	LIBRARY_CUDART,	       /* libcudart.so*, by SONAME or file name */
	LIBRARY_CUDA,	       /* libcuda.so.1 */
	LIBRARY_CUDART_STATIC, /* any file with cudart linked in (nvcc's default) and its symbols kept */
	LIBRARY_CUPTI,
	LIBRARY_PYTHON,	       /* libpythonX.Y*.so* */
	LIBRARY_PYTHON_STATIC, /* another file that holds CPython */
	LIBRARY_AGENT,
	LIBRARY_TORCH, /* libtorch_cpu.so */
	LIBRARY_NCCL,  /* libnccl.so.2, and its plugins: libnccl-net.so */
};

/* By file name alone (cheap, for every mapping): LIBRARY_OTHER when the name says nothing. */
enum library_kind library_kind_of_name(const char *path);

/* Whether it is the CUDA runtime or the driver's library, by its name. */
bool library_is_cuda(const char *path);

/* By name, SONAME and symbols. */
enum library_kind library_kind_of_image(const struct image *image, const char *path);

/* Whether CPython itself is in the file, whatever its name. */
bool library_holds_python(const struct image *image);

/*
 * Whether a file of kind LIBRARY_OTHER has a CUDA runtime linked in whose symbols were stripped: it has code for GPUs
 * (built by nvcc) and holds the runtime's table of error names.
 */
bool library_hides_runtime(const struct image *image);

struct library_site {
	uint16_t api; /* GPT_API of the symbol; a twin has its own callback id */
	struct probe_site site;
	char symbol[64];
};

struct library_sites {
	ARRAY(struct library_site) list; /* one per file offset: aliases are dropped */
	unsigned stepped;		 /* number of expensive ones */
	unsigned launches;		 /* number of class LAUNCH or GRAPH */
};

/* All rows of cuda_api.h, and their twins, that are of the kind's domain and defined in the image. */
int library_sites_find(const struct image *image, enum library_kind kind, struct library_sites *out);
void library_sites_free(struct library_sites *sites);
