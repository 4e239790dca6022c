# Manual pages and shell completions of cg-analyze, made from its table of commands; libcgtrace(3) from cgtrace.h.
MAN_PROGRAMS := $(BUILD)/man/pages $(BUILD)/man/completions
$(MAN_PROGRAMS): $(BUILD)/man/%: $(BUILD)/obj/man/%.o $(BUILD)/obj/man/mdoc.o $(BUILD)/libanalyzer.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(ANALYZER_LIBS)
$(BUILD)/man/pages.stamp: $(BUILD)/man/pages
	@rm -f $(BUILD)/man/cg-analyze*.1; $< $(BUILD)/man && touch $@
$(BUILD)/man/api: $(BUILD)/obj/man/api.o $(BUILD)/obj/man/mdoc.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^
$(BUILD)/man/libcgtrace.3: $(BUILD)/man/api
	@$< > $@
$(BUILD)/completions/%: $(BUILD)/man/completions
	@mkdir -p $(@D)
	@$< $* > $@
COMPLETIONS := $(addprefix $(BUILD)/completions/,bash zsh fish)

EXTRA_TARGETS += $(BUILD)/man/pages.stamp $(BUILD)/man/libcgtrace.3 $(COMPLETIONS)
TEST_TARGETS += $(BUILD)/man/pages.stamp $(BUILD)/man/libcgtrace.3 $(COMPLETIONS)
INSTALL_TARGETS += install-man install-completions
UNINSTALL_TARGETS += uninstall-man

.PHONY: install-man install-completions uninstall-man
install-man: $(BUILD)/man/pages.stamp $(BUILD)/man/libcgtrace.3
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 $(BUILD)/man/libcgtrace.3 $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 $(BUILD)/man/cg-analyze*.1 $(DESTDIR)$(PREFIX)/share/man/man1
install-completions: $(COMPLETIONS)
	install -Dm 644 $(BUILD)/completions/bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/cg-analyze
	install -Dm 644 $(BUILD)/completions/zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_cg-analyze
	install -Dm 644 $(BUILD)/completions/fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/cg-analyze.fish
uninstall-man:
	rm -f $(DESTDIR)$(PREFIX)/share/man/man3/libcgtrace.3 $(DESTDIR)$(PREFIX)/share/man/man1/cg-analyze.1 $(DESTDIR)$(PREFIX)/share/man/man1/cg-analyze-*.1 \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/cg-analyze \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_cg-analyze \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/cg-analyze.fish
