# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The agent's own tests; included by the top Makefile.
#
#   check-agent       its ELF file, and whole processes on the simulated GPU (check-unit has its unit tests)
#   check-nvml        gputrace's NVML numbers against NVIDIA's Python bindings (PyPI, kept in a cache)
#   check-cupti       its CUPTI numbers against NVIDIA's headers and libraries of 8 versions (PyPI, kept in a cache)

AGENT_TESTS := $(filter $(BUILD)/tests/unit/test_agent_%,$(UNIT_BIN))
AGENT_RECORDER := $(BUILD)/tests/unit/agent_recorder
OBJECTS += $(AGENT_RECORDER).o

# Linked with the agent's objects, not with the library; the tests replace its probe points.
$(AGENT_TESTS): $(BUILD)/tests/unit/%: $(BUILD)/tests/unit/agent/%.o $(AGENT_OBJ) $(CUPTI_OBJ)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -Wl,--wrap=clock_gettime -o $@ \
		$(filter-out %/points.o,$^) -lcmocka -ldl -lpthread

# Libraries that the observer of ops takes for PyTorch's: of a known version, of an unknown one, with another
# layout, and without one of the functions.
FAKE_TORCH := $(foreach version,2.14 2.99 shifted lacking,$(BUILD)/tests/unit/fake_torch_$(version)/libtorch_cpu.so)
$(BUILD)/tests/unit/fake_torch_2.14/%: FAKE := -DFAKE_VERSION=0x020e010000000000
$(BUILD)/tests/unit/fake_torch_2.99/%: FAKE := -DFAKE_VERSION=0x0263010000000000
$(BUILD)/tests/unit/fake_torch_shifted/%: FAKE := -DFAKE_VERSION=0x020e010000000000 -DFAKE_SHIFT=-8
$(BUILD)/tests/unit/fake_torch_lacking/%: FAKE := -DFAKE_VERSION=0x020e010000000000 -DFAKE_SET_ASYNC='"renamed"'
$(FAKE_TORCH): tests/unit/fake_torch.c tests/unit/fake_torch.h
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) -fPIC -shared $(LDFLAGS) $(FAKE) -o $@ $<
# The known version also has allocators: libc10 calls its own reporter of memory, libc10_cuda calls the one in libc10.
FAKE_C10 := $(BUILD)/tests/unit/fake_torch_2.14/libc10.so
FAKE_C10_CUDA := $(BUILD)/tests/unit/fake_torch_2.14/libc10_cuda.so
$(FAKE_C10): tests/unit/fake_c10.c tests/unit/fake_c10.h
	$(say) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) -fPIC -shared $(LDFLAGS) -Wl,-soname,libc10.so -o $@ $<
$(FAKE_C10_CUDA): tests/unit/fake_c10_cuda.c tests/unit/fake_c10.h $(FAKE_C10)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) -fPIC -shared $(LDFLAGS) -Wl,-rpath,'$$ORIGIN' -o $@ $< $(FAKE_C10)
$(BUILD)/tests/unit/fake_torch_2.14/libtorch_cpu.so: $(FAKE_C10)
$(BUILD)/tests/unit/fake_torch_2.14/libtorch_cpu.so: FAKE += -Wl,--no-as-needed -Wl,-rpath,'$$ORIGIN' $(FAKE_C10)
$(BUILD)/tests/unit/test_agent_ops $(BUILD)/tests/unit/test_agent_schedule: | $(FAKE_TORCH)
$(BUILD)/tests/unit/test_agent_torch_memory: | $(FAKE_TORCH) $(FAKE_C10_CUDA)

$(AGENT_RECORDER).o: private BASE_CFLAGS += -fPIC
$(AGENT_RECORDER).so: $(AGENT_RECORDER).o
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) -shared $(LDFLAGS) -o $@ $< -lpthread

.PHONY: check-agent check-cupti check-nvml
check-agent: $(AGENT) $(AGENT_RECORDER).so simgpu
	@tests/unit/agent_library.sh $(AGENT)
	@python3 tests/unit/agent_simgpu.py $(AGENT) $(AGENT_RECORDER).so $(BUILD)/simgpu

check-cupti:
	@CC="$(CC)" tests/cupti_headers.sh

check-nvml:
	@tests/nvml_numbers.py "$$(tools/get-pypi python3 nvidia-ml-py==13.615.71)" "$$(tools/get-pypi python3 cuda-bindings==13.5.0)"
