/* Kernels whose names hold whatever a symbol name can: quotes, control bytes, broken UTF-8, 10 KiB. They come
 * from a module made here: an ELF image with a symbol for each, which the simulated driver takes (a real one
 * asks for code too).
 *
 * usage: names      launches each once, in order, with a grid of its index + 1 */
#include "target.h"

#include <elf.h>

enum { ENTRY_MARK = 0x10, COUNT = 16, LONG = 10240 };

static char long_plain[LONG + 1], long_broken[LONG + 1];

static const char *const names[COUNT] = {
    "plain",
    "_Z4axpyPfPKffj",
    "quote\"back\\slash/",
    "controls\x01\b\t\n\f\r\x1f\x7f.",
    "two-byte \xc3\xa9, three \xe2\x82\xac, four \xf0\x9f\x98\x80",
    "\xff\xfe broken \x80 start",
    "cut off \xe2\x82",
    "overlong \xc0\xaf and \xe0\x80\xaf",
    "surrogate \xed\xa0\x80 half",
    "too great \xf4\x90\x80\x80",
    "separators \xe2\x80\xa8\xe2\x80\xa9 and mark \xef\xbb\xbf",
    "</script><b>&amp;",
    "'; rm -rf / #",
    "{\"kind\":\"terminal\"}",
    long_plain,
    long_broken,
};

/* An ELF file in memory: header, symbol table, names, three section headers. */
static void *image_new(void)
{
    size_t text = 1;
    for (int i = 0; i < COUNT; i++)
        text += strlen(names[i]) + 1;
    size_t symbols_at = sizeof(Elf64_Ehdr), text_at = symbols_at + (COUNT + 1) * sizeof(Elf64_Sym);
    size_t sections_at = (text_at + text + 7) & ~(size_t)7;
    char *image = calloc(1, sections_at + 3 * sizeof(Elf64_Shdr));
    if (!image) exit(1);
    Elf64_Ehdr *header = (void *)image;
    Elf64_Sym *symbols = (void *)(image + symbols_at);
    Elf64_Shdr *sections = (void *)(image + sections_at);
    *header =
        (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                     .e_type = ET_EXEC,
                     .e_machine = EM_CUDA,
                     .e_version = EV_CURRENT,
                     .e_shoff = sections_at,
                     .e_ehsize = sizeof *header,
                     .e_shentsize = sizeof *sections,
                     .e_shnum = 3,
                     .e_shstrndx = 2};
    sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                               .sh_offset = symbols_at,
                               .sh_size = (COUNT + 1) * sizeof *symbols,
                               .sh_link = 2,
                               .sh_entsize = sizeof *symbols};
    sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = text_at, .sh_size = text};
    size_t at = 1;
    for (int i = 0; i < COUNT; i++) {
        symbols[i + 1] = (Elf64_Sym){.st_name = (Elf64_Word)at,
                                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                     .st_other = ENTRY_MARK,
                                     .st_shndx = 1};
        strcpy(image + text_at + at, names[i]);
        at += strlen(names[i]) + 1;
    }
    return image;
}

int main(void)
{
    CUmodule module;
    memset(long_plain, 'T', LONG);
    memcpy(long_plain, "_ZN", 3);
    for (int i = 0; i < LONG; i++)
        long_broken[i] = (char)(i % 3 ? 0x80 + i % 64 : '"');
    target_open(0);
    void *image = image_new();
    CU(cuModuleLoadData(&module, image));
    free(image);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < COUNT; i++) {
            CUfunction kernel;
            CU(cuModuleGetFunction(&kernel, module, names[i]));
            CU(cuLaunchKernel(kernel, (unsigned)i + 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        }
    CU(cuCtxSynchronize());
    CU(cuModuleUnload(module));
    printf("%d names, three launches each\n", COUNT);
    return 0;
}
