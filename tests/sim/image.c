/*
 * Module images: which kernels they hold, how many bytes each parameter has, which variables. PTX is text
 * ("PTX ISA", kernel and variable directives); a cubin is an ELF file whose kernels are function symbols
 * marked as entries, with their parameters in `.nv.info.<kernel>`; a fatbin holds both kinds, maybe
 * compressed.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/image.h"

struct sim_entry *sim_image_entry(struct sim_image *image, const char *name, size_t length)
{
    for (size_t i = 0; i < image->entry_count; i++)
        if (strlen(image->entries[i].name) == length && memcmp(image->entries[i].name, name, length) == 0)
            return &image->entries[i];
    image->entries = sim_realloc(image->entries, (image->entry_count + 1) * sizeof *image->entries);
    struct sim_entry *e = &image->entries[image->entry_count++];
    *e = (struct sim_entry){.name = sim_alloc(length + 1)};
    memcpy(e->name, name, length);
    return e;
}

void sim_image_variable(struct sim_image *image, const char *name, size_t length, size_t bytes, bool managed)
{
    for (size_t i = 0; i < image->variable_count; i++)
        if (strlen(image->variables[i].name) == length && memcmp(image->variables[i].name, name, length) == 0)
            return;
    image->variables = sim_realloc(image->variables, (image->variable_count + 1) * sizeof *image->variables);
    struct sim_variable *v = &image->variables[image->variable_count++];
    *v = (struct sim_variable){.name = sim_alloc(length + 1), .bytes = bytes, .managed = managed};
    memcpy(v->name, name, length);
}

void sim_image_param(struct sim_entry *entry, size_t index, size_t offset, size_t bytes)
{
    if (index >= SIM_MAX_PARAMS) return;
    if (index >= entry->param_count) {
        entry->params = sim_realloc(entry->params, (index + 1) * sizeof *entry->params);
        memset(entry->params + entry->param_count, 0,
               (index + 1 - entry->param_count) * sizeof *entry->params);
        entry->param_count = index + 1;
    }
    entry->params[index] = (struct sim_param){.offset = offset, .bytes = bytes};
}

void sim_image_free(struct sim_image *image)
{
    for (size_t i = 0; i < image->entry_count; i++) {
        free(image->entries[i].name);
        free(image->entries[i].params);
    }
    for (size_t i = 0; i < image->variable_count; i++)
        free(image->variables[i].name);
    free(image->entries);
    free(image->variables);
    *image = (struct sim_image){0};
}

/* ---- cubin --------------------------------------------------------------------------------------------- */

enum {
    ENTRY_MARK = 0x10, /* st_other of a kernel's symbol */
    FORMAT_SIZED = 4,  /* .nv.info record: format, attribute, 16-bit size, payload */
    KPARAM_INFO = 0x17
};

static uint32_t word(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* KPARAM_INFO: index (4 bytes, unused), ordinal (2), offset (2), then flags whose bits 18… are the size. */
static void read_info(struct sim_entry *entry, const uint8_t *p, size_t n)
{
    while (n >= 4) {
        size_t payload = p[0] == FORMAT_SIZED ? (size_t)(p[2] | p[3] << 8) : 0;
        if (payload > n - 4) return;
        if (p[0] == FORMAT_SIZED && p[1] == KPARAM_INFO && payload >= 12 && n >= 16)
            sim_image_param(entry, (size_t)(p[8] | p[9] << 8), (size_t)(p[10] | p[11] << 8),
                            word(p + 12) >> 18);
        p += 4 + payload;
        n -= 4 + payload;
    }
}

static bool inside(size_t offset, size_t bytes, size_t total)
{
    return offset <= total && bytes <= total - offset;
}

CUresult sim_image_cubin(const uint8_t *data, size_t bytes, struct sim_image *image)
{
    Elf64_Ehdr eh;
    memcpy(&eh, data, sizeof eh);
    if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_shentsize != sizeof(Elf64_Shdr) ||
        !inside(eh.e_shoff, (size_t)eh.e_shnum * sizeof(Elf64_Shdr), bytes))
        return CUDA_ERROR_INVALID_IMAGE;
    const Elf64_Shdr *sh = (const void *)(data + eh.e_shoff);
    for (size_t i = 0; i < eh.e_shnum; i++) {
        if (sh[i].sh_type != SHT_SYMTAB || sh[i].sh_link >= eh.e_shnum) continue;
        const Elf64_Shdr *strings = &sh[sh[i].sh_link];
        if (!inside(sh[i].sh_offset, sh[i].sh_size, bytes) ||
            !inside(strings->sh_offset, strings->sh_size, bytes))
            return CUDA_ERROR_INVALID_IMAGE;
        const Elf64_Sym *symbols = (const void *)(data + sh[i].sh_offset);
        for (size_t k = 0; k < sh[i].sh_size / sizeof *symbols; k++) {
            if (symbols[k].st_name >= strings->sh_size) return CUDA_ERROR_INVALID_IMAGE;
            const char *name = (const char *)data + strings->sh_offset + symbols[k].st_name;
            size_t length = strnlen(name, strings->sh_size - symbols[k].st_name);
            int type = ELF64_ST_TYPE(symbols[k].st_info);
            if (type == STT_FUNC && (symbols[k].st_other & ENTRY_MARK)) sim_image_entry(image, name, length);
            if (type == STT_OBJECT && symbols[k].st_size && symbols[k].st_shndx != SHN_UNDEF && *name != '.')
                sim_image_variable(image, name, length, symbols[k].st_size, false);
        }
    }
    if (eh.e_shstrndx >= eh.e_shnum) return CUDA_ERROR_INVALID_IMAGE;
    const Elf64_Shdr *names = &sh[eh.e_shstrndx];
    if (!inside(names->sh_offset, names->sh_size, bytes)) return CUDA_ERROR_INVALID_IMAGE;
    for (size_t i = 0; i < eh.e_shnum; i++) {
        const char prefix[] = ".nv.info.";
        if (sh[i].sh_name >= names->sh_size || !inside(sh[i].sh_offset, sh[i].sh_size, bytes)) continue;
        const char *name = (const char *)data + names->sh_offset + sh[i].sh_name;
        size_t length = strnlen(name, names->sh_size - sh[i].sh_name);
        if (length < sizeof prefix || memcmp(name, prefix, sizeof prefix - 1) != 0) continue;
        for (size_t k = 0; k < image->entry_count; k++)
            if (strlen(image->entries[k].name) == length - (sizeof prefix - 1) &&
                memcmp(image->entries[k].name, name + sizeof prefix - 1, length - (sizeof prefix - 1)) == 0)
                read_info(&image->entries[k], data + sh[i].sh_offset, sh[i].sh_size);
    }
    return CUDA_SUCCESS;
}

/* The size of an ELF file, from its headers: nothing else is known of an image in memory. */
static size_t elf_bytes(const uint8_t *data)
{
    Elf64_Ehdr eh;
    memcpy(&eh, data, sizeof eh);
    size_t end = eh.e_shoff + (size_t)eh.e_shnum * eh.e_shentsize;
    const Elf64_Shdr *sh = (const void *)(data + eh.e_shoff);
    for (size_t i = 0; i < eh.e_shnum && eh.e_shentsize == sizeof *sh; i++)
        if (sh[i].sh_type != SHT_NOBITS && sh[i].sh_offset + sh[i].sh_size > end)
            end = sh[i].sh_offset + sh[i].sh_size;
    size_t programs = eh.e_phoff + (size_t)eh.e_phnum * eh.e_phentsize;
    return programs > end ? programs : end;
}

/* ---- any ----------------------------------------------------------------------------------------------- */

CUresult sim_image_read(const void *data, struct sim_image *image)
{
    *image = (struct sim_image){0};
    if (!data) return CUDA_ERROR_INVALID_VALUE;
    CUresult r;
    uint32_t first;
    memcpy(&first, data, sizeof first);
    if (first == SIM_FATBIN_WRAPPER) memcpy(&data, (const char *)data + 8, sizeof data);
    memcpy(&first, data, sizeof first);
    if (first == SIM_FATBIN)
        r = sim_image_fatbin(data, image);
    else if (memcmp(data, ELFMAG, SELFMAG) == 0)
        r = sim_image_cubin(data, elf_bytes(data), image);
    else
        r = sim_image_ptx(data, strlen(data), image);
    if (r) sim_image_free(image);
    return r;
}
