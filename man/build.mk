# Manual pages and shell completions, made from the tables: of cg-analyze its commands, of cgtrace the settings, of the trace the events.
# Pages that follow from no table stand here as they are.
MAN_PROGRAMS := $(BUILD)/man/pages $(BUILD)/man/completions
$(MAN_PROGRAMS): $(BUILD)/man/%: $(BUILD)/obj/man/%.o $(BUILD)/obj/man/mdoc.o $(BUILD)/obj/man/shell.o $(BUILD)/libanalyzer.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)
$(BUILD)/man/pages.stamp: $(BUILD)/man/pages
	@rm -f $(BUILD)/man/cg-analyze*.1; $< $(BUILD)/man && touch $@

MAN_WRITERS := $(addprefix $(BUILD)/man/,api capture launcher launcher_completions trace)
$(MAN_WRITERS): $(BUILD)/man/%: $(BUILD)/obj/man/%.o $(BUILD)/obj/man/mdoc.o $(BUILD)/obj/man/shell.o $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^
SHAPE_WRITERS := $(addprefix $(BUILD)/man/,evidence nsight)
$(SHAPE_WRITERS): $(BUILD)/man/%: $(BUILD)/obj/man/%.o $(BUILD)/obj/man/mdoc.o $(BUILD)/obj/man/shape_page.o $(BUILD)/libanalyzer.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)
$(BUILD)/man/cgtrace-evidence.5 $(BUILD)/man/cgtrace-nsight.5: $(BUILD)/man/cgtrace-%.5: $(BUILD)/man/%
	@$< > $@
$(BUILD)/man/libcgtrace.3: $(BUILD)/man/api preload/cgtrace.h
	@$< preload/cgtrace.h > $@
$(BUILD)/man/cgtrace-capture.5: $(BUILD)/man/capture common/capture.h
	@$< common/capture.h > $@
$(BUILD)/man/cgtrace.1: $(BUILD)/man/launcher
	@$< > $@
$(BUILD)/man/cgtrace-trace.5: $(BUILD)/man/trace
	@$< > $@
$(BUILD)/man/%: man/%
	@mkdir -p $(@D)
	@cp $< $@
MAN_PAGES := $(addprefix $(BUILD)/man/,cgtrace.1 libcgtrace.3 $(addsuffix .5,$(addprefix cgtrace-,bundle capture evidence nsight trace)) cgtrace.7 cgtrace-tutorial.7)

# build/completions/cgtrace.bash and so on, and where a shell looks for the completions of a program.
$(BUILD)/completions/cg-analyze.%: $(BUILD)/man/completions
	@mkdir -p $(@D)
	@$< $* > $@
$(BUILD)/completions/cgtrace.%: $(BUILD)/man/launcher_completions
	@mkdir -p $(@D)
	@$< $* > $@
SHELLS := bash zsh fish
COMPLETIONS := $(foreach program,cg-analyze cgtrace,$(addprefix $(BUILD)/completions/$(program).,$(SHELLS)))
completion_bash = share/bash-completion/completions/$(1)
completion_zsh = share/zsh/site-functions/_$(1)
completion_fish = share/fish/vendor_completions.d/$(1).fish
completion_path = $(call completion_$(patsubst .%,%,$(suffix $(1))),$(basename $(notdir $(1))))

EXTRA_TARGETS += $(BUILD)/man/pages.stamp $(MAN_PAGES) $(COMPLETIONS)
TEST_TARGETS += $(BUILD)/man/pages.stamp $(MAN_PAGES) $(COMPLETIONS)
INSTALLABLE += $(BUILD)/man/pages.stamp $(MAN_PAGES) $(COMPLETIONS)
INSTALL_TARGETS += install-man install-completions
UNINSTALL_TARGETS += uninstall-man

# The folder of a page, by its section: 5 for cgtrace-trace.5.
man_path = share/man/man$(patsubst .%,%,$(suffix $(1)))/$(notdir $(1))

.PHONY: install-man install-completions uninstall-man check-docs
install-man: $(BUILD)/man/pages.stamp $(MAN_PAGES)
	$(foreach page,$(MAN_PAGES),install -Dm 644 $(page) $(DESTDIR)$(PREFIX)/$(call man_path,$(page)) &&) \
	install -m 644 $(BUILD)/man/cg-analyze*.1 $(DESTDIR)$(PREFIX)/share/man/man1
install-completions: $(COMPLETIONS)
	$(foreach file,$(COMPLETIONS),install -Dm 644 $(file) $(DESTDIR)$(PREFIX)/$(call completion_path,$(file)) &&) true
uninstall-man:
	rm -f $(foreach page,$(MAN_PAGES),$(DESTDIR)$(PREFIX)/$(call man_path,$(page))) \
	  $(foreach file,$(COMPLETIONS),$(DESTDIR)$(PREFIX)/$(call completion_path,$(file))) \
	  $(DESTDIR)$(PREFIX)/share/man/man1/cg-analyze.1 $(DESTDIR)$(PREFIX)/share/man/man1/cg-analyze-*.1

# The documents against what they are of: pages, completions, links.
check-docs: deps
	@scripts/deps tests
	@$(MAKE) --no-print-directory tests
	@BUILD=$(BUILD) $(PYTHON) tests/run.py docs cli/t_man api/t_api
