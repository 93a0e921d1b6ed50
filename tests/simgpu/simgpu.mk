# simgpu.mk: builds the simulated GPU and its workloads into $(BUILD)/simgpu, and checks them.
# Included by the top Makefile, and usable alone: make -f tests/simgpu/simgpu.mk simgpu
#
#   simgpu         the seven libraries, the C workloads, the check's client
#   simgpu-check   tests of the simulated GPU itself (with PyTorch where it is installed)

BUILD ?= build
SIM := tests/simgpu
SIM_OUT := $(BUILD)/simgpu
# Asked for when something here is built, not when this file is read.
SIM_HEADERS = $(eval SIM_HEADERS := $$(shell $(SIM)/get-headers.sh))$(SIM_HEADERS)

# A function's push of the frame pointer must stay its first instruction; clang never moves it.
SIM_FIXED_PUSH = $(eval SIM_FIXED_PUSH := $$(if $$(findstring clang,$$(shell $(CC) --version)),,\
	-fno-shrink-wrap))$(SIM_FIXED_PUSH)

SIM_CFLAGS = -std=gnu17 -D_GNU_SOURCE -O2 -g -fPIC -Wall -Wextra -Werror \
	-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fcf-protection=none \
	$(SIM_FIXED_PUSH) -fno-stack-protector \
	-I$(SIM_OUT) -isystem $(SIM_HEADERS)
# The two libraries by name: only an older glibc has anything in them.
SIM_LDFLAGS := -shared -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0 -Wl,--as-needed

# Only libcuda hides what is not marked; the others export all that is not static or LOCAL.
SIM_FLAGS_core := -fvisibility=hidden
SIM_FLAGS_driver := -fvisibility=hidden -D__CUDA_API_VERSION_INTERNAL
SIM_FLAGS_runtime := -D__CUDA_API_VERSION_INTERNAL -foptimize-sibling-calls

SIM_LIBS := $(addprefix $(SIM_OUT)/,libcuda.so.1 libcudart.so.13 libcupti.so.13 \
	libcublas.so.13 libcublasLt.so.13 libnccl.so.2)
SIM_NVML := $(SIM_OUT)/libnvidia-ml.so.1
SIM_PROGRAMS := $(addprefix $(SIM_OUT)/,launch threads hammer cupti-client libinjected.so)

sim_objects = $(patsubst $(SIM)/%.c,$(SIM_OUT)/%.o,$(1))
SIM_OBJ_libcuda.so.1 := $(call sim_objects,$(wildcard $(SIM)/core/*.c $(SIM)/driver/*.c))
SIM_OBJ_libcudart.so.13 := $(call sim_objects,$(wildcard $(SIM)/runtime/*.c))
SIM_OBJ_libcupti.so.13 := $(call sim_objects,$(wildcard $(SIM)/cupti/*.c))
SIM_OBJ_libcublas.so.13 := $(call sim_objects,$(wildcard $(SIM)/blas/cublas*.c))
SIM_OBJ_libcublas.so.13 := $(filter-out %/cublaslt.o %/cublaslt-unsupported.o,\
	$(SIM_OBJ_libcublas.so.13))
SIM_OBJ_libcublasLt.so.13 := $(call sim_objects,$(wildcard $(SIM)/blas/cublaslt*.c))
SIM_OBJ_libnccl.so.2 := $(call sim_objects,$(wildcard $(SIM)/nccl/*.c))
# The real one's functions have no tail calls: each ends by itself, with an NVTX range.
SIM_FLAGS_nccl := -fno-optimize-sibling-calls

.PHONY: simgpu simgpu-check simgpu-clean
simgpu: $(SIM_LIBS) $(SIM_NVML) $(SIM_PROGRAMS)

$(SIM_OUT)/%.o: $(SIM)/%.c $(SIM_OUT)/names.inc
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -include $(SIM)/core/old-glibc.h $(SIM_FLAGS_$(notdir $(<D))) -MMD -MP -c $< -o $@

$(SIM_OUT)/names.inc: $(SIM)/cupti/gen-names.sh
	@mkdir -p $(@D)
	$< $(SIM_HEADERS) >$@.tmp && mv $@.tmp $@

# A soname's version node satisfies the versioned imports of the real libraries' users.
$(SIM_OUT)/%.map:
	@mkdir -p $(@D)
	echo '$* { global: *; };' >$@

$(SIM_OUT)/libcuda.so.1: $(SIM_OBJ_libcuda.so.1)
	$(CC) $(SIM_LDFLAGS) -Wl,-soname,$(@F) -o $@ $^ -ldl

# For gputrace, not for the program on the GPU: it needs none of the others.
$(SIM_NVML): $(SIM)/nvml/nvml.c user/nvml/nvml_abi.h
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -D_GNU_SOURCE -O2 -g -fPIC -Wall -Wextra -Werror -Wno-unused-parameter -fvisibility=hidden -Iuser -shared \
		-Wl,-soname,$(@F) -o $@ $< -Wl,--no-as-needed -l:libdl.so.2

define sim_library
$(SIM_OUT)/$(1): $(SIM_OBJ_$(1)) $(SIM_OUT)/libcuda.so.1 $(SIM_OUT)/$(1).map
	$$(CC) $$(SIM_LDFLAGS) -Wl,-soname,$(1) -Wl,--version-script,$(SIM_OUT)/$(1).map -o $$@ \
		$(SIM_OBJ_$(1)) $(SIM_OUT)/libcuda.so.1
endef
$(foreach library,libcudart.so.13 libcupti.so.13 libcublas.so.13 libcublasLt.so.13 libnccl.so.2,\
	$(eval $(call sim_library,$(library))))

$(SIM_OUT)/launch $(SIM_OUT)/threads: $(SIM_OUT)/%: tests/workloads/%.c $(SIM_LIBS)
	$(CC) $(SIM_CFLAGS) -pthread -o $@ $< -L$(SIM_OUT) -l:libcudart.so.13 -l:libcuda.so.1 \
		-Wl,-rpath,'$$ORIGIN'

$(SIM_OUT)/hammer: tests/workloads/hammer.c
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -pthread -o $@ $< -ldl

$(SIM_OUT)/cupti-client: $(SIM)/check/cupti-client.c $(SIM_LIBS)
	$(CC) $(SIM_CFLAGS) -pthread -o $@ $< -L$(SIM_OUT) -l:libcudart.so.13 -l:libcupti.so.13 \
		-l:libcuda.so.1 -Wl,-rpath,'$$ORIGIN'

$(SIM_OUT)/libinjected.so: $(SIM)/check/injected.c
	@mkdir -p $(@D)
	$(CC) $(SIM_CFLAGS) -shared -o $@ $<

simgpu-check: simgpu
	python3 $(SIM)/check/check.py --build $(SIM_OUT)

simgpu-clean:
	rm -rf $(SIM_OUT)

-include $(wildcard $(SIM_OUT)/*/*.d)
