/* Objects opened with RTLD_DEEPBIND. They look symbols up in themselves and their dependencies first, so they
 * find libc's dlsym, and the driver if they are linked with it, before what is preloaded. No hook on their
 * side can change that; but a program asks dlsym for what it has opened before it calls it. So dlopen
 * (dlsym_entry.S) notes that such an object is coming, and the next look-ups make the slots of new objects
 * that lead past us lead here.
 *
 * Not covered: what such an object does in its constructors, and objects in namespaces of their own
 * (dlmopen). */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/objects.h"
#include "preload/resolve/resolve.h"

#define HIDDEN __attribute__((visibility("hidden")))

#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#elif defined(__aarch64__)
#define IS_SLOT(type)                                                                                        \
    ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#endif

/* 1 from the first dlopen with RTLD_DEEPBIND on: look-ups then see first whether objects have come. */
HIDDEN int resolve_watching;
HIDDEN void resolve_new_objects(void);
HIDDEN void *resolve_dlsym_entry(void *handle, const char *name);

#define OBJECTS_MAX 4096
/* What was there before. Under the loader's lock, which dl_iterate_phdr holds while it calls. */
static struct {
    uintptr_t base[OBJECTS_MAX];
    bool there[OBJECTS_MAX]; /* at the last look */
    unsigned count;
} seen;
static _Atomic uint64_t seen_changes; /* objects ever loaded and ever closed, when last looked at */

/* Where an object was closed another one may come to lie: what the last look did not find is forgotten. */
static void forget_closed(void)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < seen.count; i++)
        if (seen.there[i]) seen.base[kept++] = seen.base[i];
    seen.count = kept;
    memset(seen.there, 0, sizeof seen.there);
}

static bool is_new(uintptr_t base)
{
    unsigned i = 0;
    while (i < seen.count && seen.base[i] != base)
        i++;
    if (i == OBJECTS_MAX) return false;
    seen.there[i] = true;
    if (i < seen.count) return false;
    seen.base[seen.count++] = base;
    return true;
}

static bool contains(const struct dl_phdr_info *object, uintptr_t address)
{
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - (object->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

/* Stores through a slot that may lie in what the loader has made read-only. */
static void store(const struct dl_phdr_info *object, void **slot, void *value)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)slot & ~(page - 1);
    bool read_only = false;
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_GNU_RELRO &&
            (uintptr_t)slot - (object->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            read_only = true;
    }
    if (read_only && mprotect((void *)from, page, PROT_READ | PROT_WRITE)) return;
    /* Another thread may be calling through the slot: it sees the one or the other. */
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (read_only) mprotect((void *)from, page, PROT_READ);
}

/* The driver's functions, when it is loaded. Found before objects are looked at: that is done under a lock
 * which whoever opens an object takes behind the one that dlsym takes. */
static void *_Atomic drivers[HOOK_DRIVER_COUNT];

static void find_drivers(void)
{
    static _Atomic bool found;

    /* Acquire: the addresses were stored before what tells of them. */
    if (atomic_load_explicit(&found, memory_order_acquire) || !resolve_driver_symbol("cuInit")) return;
    for (unsigned hook = 0; hook < HOOK_DRIVER_COUNT; hook++)
        atomic_store_explicit(&drivers[hook], resolve_driver_symbol(hook_api_names[hook]),
                              memory_order_relaxed);
    /* Release: see above. */
    atomic_store_explicit(&found, true, memory_order_release);
}

static void redirect(const struct dl_phdr_info *object, void **slot, const char *name)
{
    void *now = __atomic_load_n(slot, __ATOMIC_RELAXED);
    bool unbound =
        contains(object, (uintptr_t)now); /* leads to its own linkage table: bound at the first call */
    if (!strcmp(name, "dlsym")) {
        if (unbound || now == (void *)resolve_true_dlsym()) store(object, slot, (void *)resolve_dlsym_entry);
        return;
    }
    unsigned hook = resolve_name(name);
    if (hook == RESOLVE_NONE) return;
    void *driver = atomic_load_explicit(&drivers[hook], memory_order_relaxed);
    if (!unbound && now != driver) return;
    if (driver) atomic_store_explicit(&resolve_reals[hook], driver, memory_order_relaxed);
    store(object, slot, resolve_wrapper(hook));
}

struct relocations {
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * part[2];
    size_t bytes[2];
};

/* Of the dynamic section, what the loader has not made absolute it leaves relative to the object. */
static const void *absolute(const struct dl_phdr_info *object, ElfW(Addr) value)
{
    return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

static struct relocations relocations_of(const struct dl_phdr_info *object)
{
    struct relocations r = {0};
    const ElfW(Dyn) *entry = NULL;
    for (unsigned i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            r.symbols = absolute(object, entry->d_un.d_ptr);
            break;
        case DT_STRTAB:
            r.strings = absolute(object, entry->d_un.d_ptr);
            break;
        case DT_JMPREL:
            r.part[0] = absolute(object, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            r.bytes[0] = entry->d_un.d_val;
            break;
        case DT_RELA:
            r.part[1] = absolute(object, entry->d_un.d_ptr);
            break;
        case DT_RELASZ:
            r.bytes[1] = entry->d_un.d_val;
            break;
        }
    }
    return r;
}

static void redirect_object(const struct dl_phdr_info *object)
{
    struct relocations r = relocations_of(object);
    if (!r.symbols || !r.strings) return;
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; r.part[part] && i < r.bytes[part] / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *relocation = &r.part[part][i];
            const ElfW(Sym) *symbol = &r.symbols[ELF64_R_SYM(relocation->r_info)];
            /* Its own definitions are its own. */
            if (!IS_SLOT(ELF64_R_TYPE(relocation->r_info)) || symbol->st_shndx != SHN_UNDEF) continue;
            redirect(object, (void **)(object->dlpi_addr + relocation->r_offset),
                     r.strings + symbol->st_name);
        }
}

struct look {
    uint64_t changes; /* what it is about: an object that comes later is for the next one */
    bool note_only, begun;
};

/* Both counts only grow: their sum tells each change. */
static uint64_t changes_of(const struct dl_phdr_info *object)
{
    return object->dlpi_adds + object->dlpi_subs;
}

static int note_changes(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct look *look = argument;
    (void)size;
    look->changes = changes_of(object);
    return 1;
}

static int look_at(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct look *look = argument;
    (void)size;
    if (changes_of(object) != look->changes) return 1;
    if (!look->begun) forget_closed();
    look->begun = true;
    if (!is_new(object->dlpi_addr) || look->note_only) return 0;
    if (!contains(object, (uintptr_t)look_at)) redirect_object(object);
    return 0;
}

static void look_at_new(bool note_only)
{
    struct look look = {.note_only = note_only};
    int kept = errno, came = 1;
    while (came > 0 && objects_look(note_changes, &look) > 0 &&
           look.changes != atomic_load_explicit(&seen_changes, memory_order_relaxed)) {
        find_drivers();
        came = objects_look(look_at, &look);
    }
    if (came == 0) atomic_store_explicit(&seen_changes, look.changes, memory_order_relaxed);
    errno = kept;
}

/* Called with RTLD_DEEPBIND asked for, before the object is loaded. What was closed until now is missed in
 * this look, so that an object in its place is a new one. */
void resolve_watch(void)
{
    bool watching = __atomic_load_n(&resolve_watching, __ATOMIC_RELAXED);
    look_at_new(!watching);
    if (!watching) __atomic_store_n(&resolve_watching, 1, __ATOMIC_RELAXED);
}

/* Called by look-ups while watching. */
void resolve_new_objects(void)
{
    look_at_new(false);
}
