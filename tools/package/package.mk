# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The packages; included by the top Makefile.
#
#   wheel      $(PACKAGES)/gputrace-VERSION-py3-none-manylinux_2_17_....whl, for pip and pipx
#   deb        $(PACKAGES)/gputrace_VERSION_amd64.deb
#   tarball    $(PACKAGES)/gputrace-VERSION-x86_64.tar.gz: a folder to unpack anywhere
#   check-reproducible    a copy of the sources, built in another folder, gives the same bytes (minutes)
#   pages      man pages of subcommands, and completion for bash, zsh and fish, below $(SHARE); `make install` needs them
#
# All three hold the static gputrace, and the agent, which works with any glibc from 2.17 on.  The same sources give the
# same bytes, in any folder: all times are SOURCE_DATE_EPOCH, by default the time of the last commit.

PACKAGES := $(BUILD)/packages
SHARE := $(BUILD)/share
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
MAINTAINER ?= gputrace <gputrace@users.noreply.github.com>
PACKAGE_MOST_MIB := 10

GENERATORS := $(BUILD)/tools/package/completion $(BUILD)/tools/package/man_page
OBJECTS += $(GENERATORS:=.o)
$(GENERATORS): %: %.o $(LIB)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $(EXTRA_LDFLAGS) -o $@ $^ $(LIBS)

SUBCOMMANDS := $(shell sed -n 's/^\t\t\.name = "\(.*\)",$$/\1/p' user/cmd/options/subcommands.c)
PAGES := $(SUBCOMMANDS:%=$(SHARE)/man/gputrace-%.1)
COMPLETIONS := $(addprefix $(SHARE)/completion.,bash zsh fish)
pages: $(PAGES) $(COMPLETIONS)

$(PAGES): $(SHARE)/man/gputrace-%.1: $(BUILD)/tools/package/man_page docs/gputrace.1
	$(say) GEN $@
	$(Q)mkdir -p $(@D) && $< $* <docs/gputrace.1 >$@

$(COMPLETIONS): $(SHARE)/completion.%: $(BUILD)/tools/package/completion
	$(say) GEN $@
	$(Q)mkdir -p $(@D) && $< $* >$@

# $(call install_tree,GPUTRACE,AGENT,PREFIX,FOLDER OF ZSH): everything but the documents
install_tree = install -D -m 755 $(1) $(3)/bin/gputrace && \
	install -D -m 644 $(2) $(3)/lib/gputrace/libgputrace-agent.so && \
	install -d $(3)/share/man/man1 && install -m 644 docs/gputrace.1 $(PAGES) $(3)/share/man/man1 && \
	install -D -m 644 $(SHARE)/completion.bash $(3)/share/bash-completion/completions/gputrace && \
	install -D -m 644 $(SHARE)/completion.zsh $(3)/share/zsh/$(4)/_gputrace && \
	install -D -m 644 $(SHARE)/completion.fish $(3)/share/fish/vendor_completions.d/gputrace.fish && \
	install -D -m 644 docs/skill/SKILL.md $(3)/share/gputrace/SKILL.md

# $(call install_unit,PREFIX,FOLDER OF THE PROGRAM): for systemd
install_unit = install -d $(1)/lib/systemd/system && \
	sed 's|@BIN@|$(2)|' tools/package/gputrace.service >$(1)/lib/systemd/system/gputrace.service && \
	chmod 644 $(1)/lib/systemd/system/gputrace.service

# $(call install_documents,FOLDER)
install_documents = install -d $(1)/design $(1)/formats && install -m 644 README.md LICENSE LICENSES/* $(wildcard docs/*.md docs/*.svg) $(1) && \
	install -m 644 $(wildcard docs/design/*.md) $(1)/design && install -m 644 $(wildcard docs/formats/*.md) $(1)/formats

# $(call uninstall,PREFIX): what `make install` put there.  Folders that it may share with others stay.
uninstall = rm -f $(addprefix $(1)/,bin/gputrace $(addprefix share/man/man1/,gputrace.1 $(notdir $(PAGES))) \
	share/bash-completion/completions/gputrace share/zsh/site-functions/_gputrace \
	share/fish/vendor_completions.d/gputrace.fish lib/systemd/system/gputrace.service) && rm -rf $(1)/lib/gputrace $(1)/share/doc/gputrace $(1)/share/gputrace

# Removes what depends on the build folder: debug information, and the build id, which is a hash that includes it.
STRIPPED := $(addprefix $(PACKAGES)/stripped/,gputrace libgputrace-agent.so)
$(PACKAGES)/stripped/gputrace: $(BUILD)/gputrace-static
$(PACKAGES)/stripped/libgputrace-agent.so: $(AGENT)
$(STRIPPED):
	$(Q)mkdir -p $(@D) && strip --remove-section=.note.gnu.build-id -o $@ $<

# Made anew each time, so that no file remains that was removed from the sources.
TREE = $(PACKAGES)/tree-$@
pack = SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) MAINTAINER='$(MAINTAINER)' tools/package/pack $@ $(TREE) $(PACKAGES) $(PACKAGE_MOST_MIB)
.PHONY: wheel deb tarball pages check-reproducible
wheel: $(STRIPPED) pages
	$(Q)rm -rf $(TREE) && $(call install_tree,$(word 1,$(STRIPPED)),$(word 2,$(STRIPPED)),$(TREE),site-functions)
	$(Q)$(pack)

tarball: FOLDER = $(TREE)/gputrace-$(VERSION)-$(shell uname -m)
tarball: $(STRIPPED) pages
	$(Q)rm -rf $(TREE) && $(call install_tree,$(word 1,$(STRIPPED)),$(word 2,$(STRIPPED)),$(FOLDER),site-functions) && \
		$(call install_documents,$(FOLDER)/share/doc/gputrace)
	$(Q)$(pack)

deb: $(STRIPPED) pages
	$(Q)rm -rf $(TREE) && $(call install_tree,$(word 1,$(STRIPPED)),$(word 2,$(STRIPPED)),$(TREE)/usr,vendor-completions) && \
		$(call install_unit,$(TREE)/usr,/usr/bin) && $(call install_documents,$(TREE)/usr/share/doc/gputrace)
	$(Q)$(pack)

COPY := $(BUILD)/copy
check-reproducible: wheel deb tarball
	@rm -rf $(COPY) && mkdir -p $(COPY)/of/sources && git ls-files -z | xargs -0 cp --parents -t $(COPY)/of/sources
	@$(MAKE) --no-print-directory -C $(COPY)/of/sources BUILD=elsewhere SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) wheel deb tarball
	@cd $(PACKAGES) && sha256sum *.whl *.deb *.tar.gz | (cd $(CURDIR)/$(COPY)/of/sources/elsewhere/packages && sha256sum -c)
