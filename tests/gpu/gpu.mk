# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The kit for machines with a GPU; included by the top Makefile.
#
#   gpu-kit                one folder, and the same as .tar.gz, that needs Linux, an NVIDIA driver, Python and PyTorch
#   check-gpu              makes it and runs it on this machine's GPU; 77 where there is none
#   check-gpu-simulated    runs it on the simulated GPU, less of everything and beside other work (KIT_FLAGS)

KIT := $(BUILD)/gpu-kit
KIT_PROBE := $(BUILD)/tests/gpu/probes/cupti_probe
KIT_UNZSTD := $(BUILD)/tests/gpu/probes/unzstd
KIT_FLAGS ?= --quick --at-once 2 --patience 4 --seconds 1800
KIT_MOST_MIB := 40
OBJECTS += $(KIT_PROBE).o $(KIT_UNZSTD).o

KIT_FILES := check-gpu README.md $(patsubst tests/gpu/%,%,$(wildcard tests/gpu/kit/*.py tests/gpu/kit/checks/*.py \
	tests/gpu/programs/*.py))
KIT_WORKLOADS := $(addprefix tests/workloads/,train.py model.py gpu.py)
KIT_SOURCES := $(addprefix tests/gpu/,$(KIT_FILES)) tests/gptlog.py $(KIT_WORKLOADS) LICENSE $(wildcard LICENSES/*)

# Loaded into whatever glibc the machine's Python has: as the agent, and by its compiler flags.
$(KIT_PROBE).o: private BASE_CFLAGS += $(AGENT_CFLAGS)
$(KIT_PROBE).so: $(KIT_PROBE).o
	$(say) LINK $@
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-z,now -Wl,-z,defs -o $@ $< -Wl,--no-as-needed -l:libdl.so.2

# Runs anywhere, like gputrace-static.
$(KIT_UNZSTD): $(KIT_UNZSTD).o
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -static -o $@ $< -lzstd

.PHONY: gpu-kit check-gpu check-gpu-simulated
gpu-kit: $(KIT).tar.gz

# Anew each time, so that nothing stays that has gone from the sources.
$(KIT).tar.gz: $(BUILD)/gputrace-static $(AGENT) $(KIT_PROBE).so $(KIT_UNZSTD) $(KIT_SOURCES) tests/gpu/gpu.mk
	$(say) KIT $(KIT)
	$(Q)rm -rf $(KIT) $@ && for file in $(KIT_FILES); do install -D -p tests/gpu/$$file $(KIT)/$$file || exit; done
	$(Q)install -D -s $(BUILD)/gputrace-static $(KIT)/bin/gputrace && install -s $(AGENT) $(KIT)/bin && \
		install -D -s $(KIT_PROBE).so $(KIT)/lib/libkitprobe.so && install -s $(KIT_UNZSTD) $(KIT)/lib && \
		install -p -m 644 tests/gptlog.py $(KIT)/kit && install -d $(KIT)/workloads $(KIT)/LICENSES && \
		install -p -m 644 $(KIT_WORKLOADS) $(KIT)/workloads && install -p -m 644 LICENSE LICENSES/* $(KIT)/LICENSES
	$(Q)[ "$$(du -sm $(KIT) | cut -f 1)" -le $(KIT_MOST_MIB) ] || { echo "$(KIT) is larger than $(KIT_MOST_MIB) MiB" >&2; false; }
	$(Q)tar -C $(BUILD) --owner=0 --group=0 -czf $@ $(notdir $(KIT))

# /dev/nvidiactl is there wherever the driver is loaded.  PyTorch is fetched only where it can be of use.
check-gpu: gpu-kit
	@[ -e /dev/nvidiactl ] || { echo "check-gpu: no GPU on this machine: nothing was run"; exit 77; }; \
		PYTHON="$${PYTHON:-$$(tools/get-torch)}" $(KIT)/check-gpu --out $(BUILD)

# Of what CUPTI may do with open buffers, the one by which most could be lost.
check-gpu-simulated: gpu-kit simgpu
	@SIMGPU_OPEN_BUFFERS=kept-new PYTHON="$$(tools/get-torch)" BUILD=$(BUILD) tests/simgpu/simgpu-run $(KIT)/check-gpu --out $(BUILD) $(KIT_FLAGS)
