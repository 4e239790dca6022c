# The page's own code: ES modules joined into one script, the style and the markup. analyzer/viewer/page.c packs
# them into the program.
VIEWER_MODULES := $(addprefix analyzer/viewer/page/,$(shell cat analyzer/viewer/page/modules.list))
VIEWER_ASSETS  := $(BUILD)/gen/viewer

$(VIEWER_ASSETS)/viewer.js: analyzer/viewer/page/join.awk $(VIEWER_MODULES) analyzer/viewer/page/modules.list
	@mkdir -p $(@D)
	@awk -f $< $(VIEWER_MODULES) > $@
$(VIEWER_ASSETS)/viewer.css $(VIEWER_ASSETS)/viewer.html: $(VIEWER_ASSETS)/%: analyzer/viewer/page/%
	@mkdir -p $(@D)
	@cp $< $@
$(BUILD)/obj/analyzer/viewer/page.o: $(addprefix $(VIEWER_ASSETS)/viewer.,js css html)
