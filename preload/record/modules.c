#include "preload/record/modules.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/symbols.h"
#include "preload/objects.h"
#include "preload/record/lock.h"
#include "preload/record/maps.h"
#include "preload/record/ring.h"
#include "preload/signals.h"

enum { PATHS_BYTES = 512 << 10 };

/* Entries are only ever added, and never change but for their flags. */
static struct module modules[CAP_MODULES_MAX];
static _Atomic uint32_t module_count = 1; /* index 0 is no module */
static char paths[PATHS_BYTES];
static size_t paths_used;
/* The loader's counts when the modules were looked at last. */
static _Atomic uint64_t seen_adds, seen_subs;

const struct module *modules_at(uint32_t index)
{
    return &modules[index];
}

uint32_t modules_find(uintptr_t address)
{
    /* Acquire: the entries were stored before the count. */
    uint32_t count = atomic_load_explicit(&module_count, memory_order_acquire);

    for (uint32_t i = count; i-- > 1;)
        if (address >= modules[i].begin && address < modules[i].end &&
            !atomic_load_explicit(&modules[i].gone, memory_order_relaxed)) {
            atomic_store_explicit(&modules[i].used, true, memory_order_relaxed);
            return i;
        }
    return 0;
}

/* ---- what the loader tells of a module ---- */

static void measure(const struct dl_phdr_info *info, struct module *module)
{
    module->bias = info->dlpi_addr;
    module->begin = UINTPTR_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type != PT_LOAD) continue;
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
        if (begin < module->begin) module->begin = begin;
        if (end > module->end) module->end = end;
    }
}

static void read_build_id(const struct dl_phdr_info *info, struct module *module)
{
    for (unsigned i = 0; i < info->dlpi_phnum && module->id_length == 0; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        size_t length;

        if (segment->p_type != PT_NOTE || begin < module->begin || begin > module->end ||
            segment->p_memsz > module->end - begin)
            continue;
        const unsigned char *id =
            build_id_in_notes((const unsigned char *)begin, (size_t)segment->p_memsz, &length);
        if (!id) continue;
        if (length > sizeof module->id) length = sizeof module->id;
        memcpy(module->id, id, length);
        module->id_length = (uint16_t)length;
    }
}

/* The file that is mapped at the address: for the program itself, to which the loader gives no name, and for
 * names that are relative to where the program was when it loaded them. */
static size_t mapped_path(uintptr_t address, char path[CAP_PATH_MAX])
{
    static char buffer[8192]; /* under modules_lock, as all here: a signal's stack may be small */
    struct mapping mapping;

    if (!maps_find(address, buffer, sizeof buffer, &mapping) || mapping.name_length > CAP_PATH_MAX ||
        *mapping.name != '/')
        return 0;
    memcpy(path, mapping.name, mapping.name_length);
    return mapping.name_length;
}

static bool is_internal(const char *path, size_t length)
{
    static const char *const names[] = {"libcuda.so", "libcudart"};
    const char *slash = memrchr(path, '/', length);
    size_t skip = slash ? (size_t)(slash + 1 - path) : 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length - skip >= strlen(names[i]) && memcmp(path + skip, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void name(const struct dl_phdr_info *info, struct module *module)
{
    static char mapped[CAP_PATH_MAX];
    const char *given = info->dlpi_name ? info->dlpi_name : "", *path = given;
    size_t length = strlen(path);
    uintptr_t own = (uintptr_t)&modules_find;

    if (path[0] != '/' && (length == 0 || strchr(path, '/'))) {
        length = mapped_path(module->begin, mapped);
        path = mapped;
    }
    /* Of the tests' programs that hold the recorder themselves nothing is left out. */
    module->internal = is_internal(path, length) || (own >= module->begin && own < module->end && *given);
    if (length > CAP_PATH_MAX || length > sizeof paths - paths_used) length = 0;
    module->path = paths + paths_used;
    module->path_length = (uint16_t)length;
    memcpy(paths + paths_used, path, length); // NOLINT(bugprone-not-null-terminated-result): it has a length
    paths_used += length;
}

/* Of a module without build-id, which may be another file's at the same addresses. */
static bool same_name(const struct dl_phdr_info *info, const struct module *module)
{
    return module->id_length > 0 || info->dlpi_name[0] != '/' ||
           (strlen(info->dlpi_name) == module->path_length &&
            memcmp(info->dlpi_name, module->path, module->path_length) == 0);
}

/* ---- looking ---- */

struct look {
    bool first, used_gone;
    uint64_t adds, subs;
    uint64_t present[CAP_MODULES_MAX / 64]; /* one bit for each module that is there */
};

/* The loader's lock comes before ours here and everywhere. */
static int look_at(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct look *look = argument;
    struct module module = {0};
    uint32_t i;

    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        look->adds = info->dlpi_adds;
        look->subs = info->dlpi_subs;
        if (look->first && look->adds == atomic_load_explicit(&seen_adds, memory_order_relaxed) &&
            look->subs == atomic_load_explicit(&seen_subs, memory_order_relaxed))
            return 1;
    }
    look->first = false;
    measure(info, &module);
    if (module.begin >= module.end) return 0;
    read_build_id(info, &module);
    lock_take(&record_page->modules_lock);
    uint32_t count = atomic_load_explicit(&module_count, memory_order_relaxed);
    for (i = 1; i < count; i++)
        if (!modules[i].gone && modules[i].begin == module.begin && modules[i].end == module.end &&
            modules[i].id_length == module.id_length &&
            memcmp(modules[i].id, module.id, module.id_length) == 0 && same_name(info, &modules[i]))
            break;
    if (i == count && count < CAP_MODULES_MAX) {
        name(info, &module);
        memcpy(&modules[i], &module, sizeof module);
        /* Release: the entry comes before the count that makes it valid. */
        atomic_store_explicit(&module_count, count + 1, memory_order_release);
    }
    lock_give(&record_page->modules_lock);
    if (i < CAP_MODULES_MAX) look->present[i / 64] |= UINT64_C(1) << (i & 63);
    return 0;
}

bool modules_refresh(bool *used_gone)
{
    SIGNALS_HELD; /* the loader's lock is held while the modules are looked at */
    struct look look = {.first = true};
    uint32_t before = atomic_load_explicit(&module_count, memory_order_acquire);
    int stopped = objects_look(look_at, &look);

    *used_gone = false;
    if (stopped) return stopped > 0;
    for (uint32_t i = 1; i < before; i++) {
        if (modules[i].gone || (look.present[i / 64] >> (i & 63) & 1)) continue;
        atomic_store_explicit(&modules[i].gone, true, memory_order_relaxed);
        look.used_gone |= atomic_load_explicit(&modules[i].used, memory_order_relaxed);
    }
    atomic_store_explicit(&seen_adds, look.adds, memory_order_relaxed);
    atomic_store_explicit(&seen_subs, look.subs, memory_order_relaxed);
    *used_gone = look.used_gone;
    return true;
}
