#include "analyzer/symbolize/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_PLACE "/usr/lib/debug"

/* Where the code of a unit lies. */
struct unit_range {
    Dwarf_Addr begin, end;
    Dwarf_Off unit;
};

struct module {
    char *path, *build_id; /* as the trace has them; build_id NULL: none */
    Dwfl *dwfl;            /* NULL: no file was found */
    Dwfl_Module *file;
    Dwarf *dwarf; /* NULL: no debug information */
    Dwarf_Addr bias, dwarf_bias;
    struct unit_range *ranges; /* in order of begin */
    size_t range_count, range_capacity;
    struct module *next;
};

struct debug_info {
    struct debug_places places;
    char *search; /* for libdwfl: folders with colons between */
    Dwfl_Callbacks callbacks;
    struct module *modules;
    char *texts[2 * DEBUG_SOURCES_MAX]; /* that were put together for the last look-up */
    size_t text_count;
};

/* ---- finding the file ---- */

static bool has_build_id(int fd, const char *expected)
{
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const void *bytes = NULL;
    ssize_t length = elf && elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
    bool same = length >= 0 && (expected ? strlen(expected) == 2 * (size_t)length : length == 0);

    for (ssize_t i = 0; same && i < length; i++) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", ((const unsigned char *)bytes)[i]);
        same = memcmp(digits, expected + 2 * i, 2) == 0;
    }
    if (elf) elf_end(elf);
    return same;
}

/* The file when it is the module's: a descriptor; -1: it is not. */
static int open_candidate(const char *path, const char *build_id)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && has_build_id(fd, build_id)) return fd;
    close(fd);
    return -1;
}

/* The files that may stand for the module in a folder: number 0, 1 ...; false past the last. */
static bool candidate(const char *folder, const struct module *module, unsigned number, char *path,
                      size_t size)
{
    const char *slash = strrchr(module->path, '/'), *base = slash ? slash + 1 : module->path;
    const char *id = module->build_id;
    int length = -1;

    switch (number) {
    case 0:
        length = snprintf(path, size, "%s/%s", folder, module->path);
        break;
    case 1:
        length = snprintf(path, size, "%s/%s", folder, base);
        break;
    case 2:
    case 3:
        if (id && strlen(id) > 2)
            length = snprintf(path, size, "%s/.build-id/%.2s/%s%s", folder, id, id + 2,
                              number == 3 ? ".debug" : "");
        break;
    case 4:
        length = snprintf(path, size, "%s/%s.debug", folder, base);
        break;
    default:
        return false;
    }
    if (length < 0 || (size_t)length >= size) *path = '\0';
    return true;
}

/* The module's own file, or one that stands for it: a descriptor and *path; -1: none. */
static int open_module(const struct debug_info *info, const struct module *module, char *path, size_t size)
{
    int fd = -1;

    if (module->path[0] == '/' && strlen(module->path) < size) {
        strcpy(path, module->path);
        fd = open_candidate(path, module->build_id);
    }
    for (size_t i = 0; fd < 0 && i <= info->places.count; i++) {
        const char *folder = i < info->places.count ? info->places.folders[i] : SYSTEM_PLACE;

        for (unsigned number = 0; fd < 0 && candidate(folder, module, number, path, size); number++)
            if (*path) fd = open_candidate(path, module->build_id);
    }
    return fd;
}

/* ---- the units of a module ---- */

static bool add_range(struct module *module, Dwarf_Addr begin, Dwarf_Addr end, Dwarf_Off unit)
{
    if (module->range_count == module->range_capacity) {
        size_t capacity = module->range_capacity * 2 + 64;
        struct unit_range *larger = realloc(module->ranges, capacity * sizeof *larger);
        if (!larger) return false;
        module->ranges = larger;
        module->range_capacity = capacity;
    }
    module->ranges[module->range_count++] = (struct unit_range){begin, end, unit};
    return true;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct unit_range *a = left, *b = right;

    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Not by .debug_aranges, which clang does not write. */
static bool list_ranges(struct module *module)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;

    while (dwarf_get_units(module->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
        Dwarf_Addr base, begin, end;
        ptrdiff_t at = 0;

        if (type != DW_UT_compile && type != DW_UT_partial && type != DW_UT_skeleton) continue;
        while ((at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0)
            if (end > begin && !add_range(module, begin, end, dwarf_dieoffset(&die))) return false;
    }
    if (module->range_count > 0)
        qsort(module->ranges, module->range_count, sizeof *module->ranges, compare_ranges);
    return true;
}

/* Ranges of units do not overlap. */
static bool unit_at(const struct module *module, Dwarf_Addr address, Dwarf_Die *unit)
{
    size_t low = 0, high = module->range_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (module->ranges[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < module->ranges[low - 1].end &&
           dwarf_offdie(module->dwarf, module->ranges[low - 1].unit, unit) != NULL;
}

/* ---- modules ---- */

static void read_module(struct debug_info *info, struct module *module)
{
    char path[4096];
    int fd = open_module(info, module, path, sizeof path);
    GElf_Addr bias;

    if (fd < 0) return;
    module->dwfl = dwfl_begin(&info->callbacks);
    if (module->dwfl) {
        dwfl_report_begin(module->dwfl);
        module->file =
            dwfl_report_offline(module->dwfl, module->path, path, fd); /* takes fd when it succeeds */
        dwfl_report_end(module->dwfl, NULL, NULL);
    }
    if (!module->file) {
        close(fd);
        return;
    }
    if (dwfl_module_getelf(module->file, &bias)) module->bias = bias;
    module->dwarf = dwfl_module_getdwarf(module->file, &module->dwarf_bias);
    if (module->dwarf && !list_ranges(module)) module->dwarf = NULL;
}

static struct module *module_of(struct debug_info *info, const char *path, const char *build_id)
{
    struct module *module = info->modules;

    while (module && (strcmp(module->path, path) != 0 ||
                      strcmp(module->build_id ? module->build_id : "", build_id ? build_id : "") != 0))
        module = module->next;
    if (module) return module;
    module = calloc(1, sizeof *module);
    if (!module) return NULL;
    module->path = strdup(path);
    module->build_id = build_id ? strdup(build_id) : NULL;
    if (!module->path || (build_id && !module->build_id)) {
        free(module->path);
        free(module->build_id);
        free(module);
        return NULL;
    }
    module->next = info->modules;
    info->modules = module;
    read_module(info, module);
    return module;
}

/* ---- look-ups ---- */

/* The functions around an address, from the outermost to the innermost inlined one. */
struct chain {
    Dwarf_Die dies[DEBUG_SOURCES_MAX];
    size_t count;
};

/* Goes down from a DIE to what holds the address; what holds none but may hold functions is looked through.
 */
static bool descend(Dwarf_Die *parent, Dwarf_Addr address, struct chain *chain, unsigned depth)
{
    enum { DEPTH_MAX = 256 };
    Dwarf_Die child;

    if (depth == DEPTH_MAX || dwarf_child(parent, &child) != 0) return false;
    do {
        int tag = dwarf_tag(&child);

        switch (tag) {
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
            if (descend(&child, address, chain, depth + 1)) return true;
            break;
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
            if (dwarf_haspc(&child, address) <= 0) break;
            if (chain->count < DEBUG_SOURCES_MAX) chain->dies[chain->count++] = child;
            descend(&child, address, chain, depth + 1);
            return true;
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
            if (dwarf_haspc(&child, address) <= 0) break;
            descend(&child, address, chain, depth + 1);
            return chain->count > 0;
        default:
            break;
        }
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return dwarf_formstring(&attribute);
    return NULL;
}

/* What declares the function: where its name and its place among namespaces and classes are. */
static Dwarf_Die declaration(Dwarf_Die die)
{
    static const unsigned links[] = {DW_AT_abstract_origin, DW_AT_specification};
    Dwarf_Attribute attribute;
    Dwarf_Die other;

    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (dwarf_attr(&die, links[i], &attribute) && dwarf_formref_die(&attribute, &other)) die = other;
    return die;
}

/* Of functions without a linkage name, which compilers leave out of those that no other file sees. */
static const char *full_name(struct debug_info *info, Dwarf_Die *die)
{
    Dwarf_Die of = declaration(*die), *scopes = NULL;
    const char *name = dwarf_diename(die);
    int count = name ? dwarf_getscopes_die(&of, &scopes) : 0;

    for (int i = 1; i < count; i++) {
        int tag = dwarf_tag(&scopes[i]);
        const char *scope = dwarf_diename(&scopes[i]);
        char *longer;

        if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type) continue;
        if (asprintf(&longer, "%s::%s", scope ? scope : "(anonymous namespace)", name) < 0) break;
        if (i > 1 && info->text_count > 0 && info->texts[info->text_count - 1] == name)
            free(info->texts[--info->text_count]);
        name = info->texts[info->text_count++] = longer;
    }
    free(scopes);
    return name;
}

static unsigned number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;

    return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? (unsigned)value
                                                                                         : 0;
}

/* A path as the unit has it, from the folder that it was compiled in. */
static const char *absolute(struct debug_info *info, Dwarf_Die *unit, const char *path)
{
    Dwarf_Attribute attribute;
    const char *folder = dwarf_attr(unit, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
    char *whole;

    if (!path || path[0] == '/' || !folder || asprintf(&whole, "%s/%s", folder, path) < 0) return path;
    info->texts[info->text_count++] = whole;
    return whole;
}

/* Where an inlined function is called from. */
static void call_site(struct debug_info *info, Dwarf_Die *unit, Dwarf_Die *inlined,
                      struct debug_source *source)
{
    Dwarf_Files *files;
    size_t count;
    unsigned file = number(inlined, DW_AT_call_file);

    source->line = number(inlined, DW_AT_call_line);
    if (dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
        source->file = absolute(info, unit, dwarf_filesrc(files, file, NULL, NULL));
}

static void innermost_line(struct debug_info *info, Dwarf_Die *unit, Dwarf_Addr address,
                           struct debug_source *source)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number_of_line;

    if (!line || dwarf_lineno(line, &number_of_line) != 0) return;
    source->line = number_of_line > 0 ? (unsigned)number_of_line : 0;
    source->file = absolute(info, unit, dwarf_linesrc(line, NULL, NULL));
}

static size_t from_dwarf(struct debug_info *info, const struct module *module, Dwarf_Addr address,
                         struct debug_source *sources)
{
    struct chain chain = {.count = 0};
    Dwarf_Die unit;

    if (!module->dwarf || !unit_at(module, address, &unit)) return 0;
    descend(&unit, address, &chain, 0);
    for (size_t i = 0; i < chain.count; i++) {
        Dwarf_Die *die = &chain.dies[chain.count - 1 - i];

        sources[i] = (struct debug_source){.linkage = linkage_name(die), .function = full_name(info, die)};
        if (i == 0)
            innermost_line(info, &unit, address, &sources[i]);
        else
            call_site(info, &unit, &chain.dies[chain.count - i], &sources[i]);
    }
    return chain.count;
}

static void forget_texts(struct debug_info *info)
{
    while (info->text_count > 0)
        free(info->texts[--info->text_count]);
}

size_t debug_info_find(struct debug_info *info, const char *path, const char *build_id, uint64_t offset,
                       struct debug_source sources[DEBUG_SOURCES_MAX])
{
    struct module *module = module_of(info, path, build_id);
    size_t count;
    const char *symbol;

    forget_texts(info);
    if (!module || !module->file || offset == 0) return 0;
    offset--; /* the call stands before its return address */
    count = from_dwarf(info, module, offset + module->bias - module->dwarf_bias, sources);
    if (count > 0) return count;
    symbol = dwfl_module_addrname(module->file, offset + module->bias);
    if (!symbol) return 0;
    sources[0] = (struct debug_source){.linkage = symbol};
    return 1;
}

enum debug_module debug_info_module(struct debug_info *info, const char *path, const char *build_id)
{
    const struct module *module = module_of(info, path, build_id);

    return !module || !module->file ? DEBUG_NO_FILE : module->dwarf ? DEBUG_HAS_LINES : DEBUG_NO_LINES;
}

/* ---- the whole ---- */

/* The folders first, then beside the file, in .debug beside it, and the system's place. */
static char *search_path(const struct debug_places *places)
{
    static const char rest[] = "::.debug:" SYSTEM_PLACE;
    size_t size = sizeof rest;
    char *path, *at;

    for (size_t i = 0; i < places->count; i++)
        size += strlen(places->folders[i]) + 1;
    path = at = malloc(size);
    for (size_t i = 0; path && i < places->count; i++)
        at += sprintf(at, "%s%s", i > 0 ? ":" : "", places->folders[i]);
    if (path) strcpy(at, places->count > 0 ? rest : rest + 1);
    return path;
}

struct debug_info *debug_info_new(const struct debug_places *places)
{
    struct debug_info *info = calloc(1, sizeof *info);

    if (!info) return NULL;
    elf_version(EV_CURRENT);
    info->places = *places;
    info->search = search_path(places);
    if (!info->search) {
        free(info);
        return NULL;
    }
    info->callbacks = (Dwfl_Callbacks){.find_elf = dwfl_build_id_find_elf,
                                       .find_debuginfo = dwfl_standard_find_debuginfo,
                                       .section_address = dwfl_offline_section_address,
                                       .debuginfo_path = &info->search};
    return info;
}

void debug_info_free(struct debug_info *info)
{
    if (!info) return;
    forget_texts(info);
    while (info->modules) {
        struct module *module = info->modules;

        info->modules = module->next;
        if (module->dwfl) dwfl_end(module->dwfl);
        free(module->path);
        free(module->build_id);
        free(module->ranges);
        free(module);
    }
    free(info->search);
    free(info);
}
