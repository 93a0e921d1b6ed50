# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The agent's own tests; included by the top Makefile.
#
#   check-agent       its ELF file, and whole processes on the simulated GPU (its unit tests are with the others)
#   check-cupti       its numbers against NVIDIA's headers and libraries of 8 versions (PyPI, kept in a cache)

AGENT_TESTS := $(filter $(BUILD)/tests/unit/test_agent_%,$(UNIT_BIN))
AGENT_RECORDER := $(BUILD)/tests/unit/agent_recorder
OBJECTS += $(AGENT_RECORDER).o

# Linked with the agent's objects and not with the library; the tests take the place of its probe points.
$(AGENT_TESTS): $(BUILD)/tests/unit/test_agent_%: $(BUILD)/tests/unit/test_agent_%.o $(AGENT_OBJ) $(CUPTI_OBJ)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -Wl,--wrap=clock_gettime -o $@ \
		$(filter-out %/points.o,$^) -lcmocka -ldl -lpthread

$(AGENT_RECORDER).o: private BASE_CFLAGS += -fPIC
$(AGENT_RECORDER).so: $(AGENT_RECORDER).o
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) -shared $(LDFLAGS) -o $@ $< -lpthread

.PHONY: check-agent check-cupti
check-agent: $(AGENT) $(AGENT_RECORDER).so simgpu
	@tests/unit/agent_library.sh $(AGENT)
	@python3 tests/unit/agent_simgpu.py $(AGENT) $(AGENT_RECORDER).so $(BUILD)/simgpu

check-cupti:
	@CC="$(CC)" tests/cupti_headers.sh
