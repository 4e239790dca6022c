# Files by which other builds find the header (pkg-config, CMake), and the archive of the sources.
# The schema of a trace's lines, from the event table.
SCHEMA := $(BUILD)/trace.schema.json
$(BUILD)/packaging/schema: $(BUILD)/obj/packaging/schema.o
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^
$(SCHEMA): $(BUILD)/packaging/schema
	@$< > $@
EXTRA_TARGETS += $(SCHEMA)
TEST_TARGETS += $(SCHEMA)
INSTALLABLE += $(SCHEMA)

INSTALL_TARGETS += install-packaging
UNINSTALL_TARGETS += uninstall-packaging
CMAKE_FOLDER := lib/cmake/cgtrace

# Written at once to where they belong: PREFIX is of the installation, not of the build.
fill = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|'

.PHONY: install-packaging uninstall-packaging dist
install-packaging:
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/$(CMAKE_FOLDER)
	$(fill) packaging/cgtrace.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/cgtrace.pc
	$(fill) packaging/cgtraceConfigVersion.cmake.in > $(DESTDIR)$(PREFIX)/$(CMAKE_FOLDER)/cgtraceConfigVersion.cmake
	install -m 644 packaging/cgtraceConfig.cmake $(DESTDIR)$(PREFIX)/$(CMAKE_FOLDER)
	install -Dm 644 $(SCHEMA) $(DESTDIR)$(PREFIX)/share/cgtrace/trace.schema.json
uninstall-packaging:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,share/cgtrace/trace.schema.json lib/pkgconfig/cgtrace.pc $(CMAKE_FOLDER)/cgtraceConfig.cmake $(CMAKE_FOLDER)/cgtraceConfigVersion.cmake)
	-rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX)/$(CMAKE_FOLDER) $(DESTDIR)$(PREFIX)/share/cgtrace

# What is committed, the same bytes each time.
dist:
	@mkdir -p $(BUILD)
	git archive --format=tar --prefix=cgtrace-$(VERSION)/ HEAD | gzip -9n > $(BUILD)/cgtrace-$(VERSION).tar.gz

# Debian's packages, from debian/.
.PHONY: check-deb
check-deb: tests
	@BUILD=$(BUILD) scripts/check-deb
