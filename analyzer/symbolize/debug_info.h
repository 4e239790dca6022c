/* Functions, files and lines of addresses, from DWARF and symbol tables, by libdw (elfutils). */
#ifndef CGTRACE_ANALYZER_SYMBOLIZE_DEBUG_INFO_H
#define CGTRACE_ANALYZER_SYMBOLIZE_DEBUG_INFO_H

#include <stdint.h>

#include "analyzer/trace/trace.h"

/* Where debug information is looked for, beside the modules themselves and the system's places. */
struct debug_places {
    const char *const *folders;
    size_t count;
};
struct debug_info;
/* NULL: memory is short. places must outlive it. */
struct debug_info *debug_info_new(const struct debug_places *places);
void debug_info_free(struct debug_info *info);

/* One function at an address. The texts are valid until the next look-up. */
struct debug_source {
    const char *linkage;  /* name that is linked; NULL: not known */
    const char *function; /* name in the source, after those of the namespaces and classes around it; NULL:
                             not known */
    const char *file;     /* absolute where the compiler said so; NULL: not known */
    unsigned line;        /* 0: not known */
};
enum { DEBUG_SOURCES_MAX = CG_SOURCES_MAX };

/* What debug information says of a module. */
enum debug_module {
    DEBUG_NO_FILE,  /* no file with its build-id was found */
    DEBUG_NO_LINES, /* one that holds no debug information: functions by their symbols alone */
    DEBUG_HAS_LINES,
};

/* The functions around the call before this return address, the innermost inlined one first; how many.
 * build_id: hexadecimal, NULL: the module has none. */
size_t debug_info_find(struct debug_info *info, const char *module, const char *build_id, uint64_t offset,
                       struct debug_source sources[DEBUG_SOURCES_MAX]);
enum debug_module debug_info_module(struct debug_info *info, const char *module, const char *build_id);

#endif
