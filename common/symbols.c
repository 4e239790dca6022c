#include "common/symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/descriptor.h"

enum { HEADERS_MAX = 4096, NOTES_MAX = 64 << 10, SYMBOLS_MAX = 1 << 20, READ_SYMBOLS = 2048 };

struct function {
    uint64_t begin;
    uint32_t size;
    uint32_t name; /* offset in the string table */
};

struct symbol_table {
    /* The file, to be sure of it when it is opened again: no descriptor is kept, since the program may close
     * it and have another file under its number. */
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec changed;
    uint64_t names_offset, names_bytes;
    size_t count;
    size_t mapped; /* bytes of this table */
    struct function functions[];
};
static struct symbol_table none; /* of a file that tells nothing */

static void *map_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

/* As many of the bytes as there are. */
static size_t read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    enum { TRIES = 100 }; /* in a row that signals interrupt */
    size_t done = 0;
    int interrupted = 0;

    while (done < size && offset <= INT64_MAX - size) {
        ssize_t got = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR && ++interrupted < TRIES) continue;
        if (got <= 0) break;
        done += (size_t)got;
        interrupted = 0;
    }
    return done;
}

/* ---- notes ---- */

const unsigned char *build_id_in_notes(const unsigned char *notes, size_t size, size_t *length)
{
    size_t at = 0;

    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr head;
        size_t name, content;

        memcpy(&head, notes + at, sizeof head);
        at += sizeof head;
        name = ((size_t)head.n_namesz + 3) & ~(size_t)3;
        content = ((size_t)head.n_descsz + 3) & ~(size_t)3;
        if (name > size - at || head.n_descsz > size - at - name) return NULL;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0) {
            *length = head.n_descsz;
            return notes + at + name;
        }
        if (content > size - at - name) return NULL;
        at += name + content;
    }
    return NULL;
}

/* ---- the file ---- */

/* Not the file that was loaded: another build-id, or one of the two has none. */
static bool other_build(int fd, const Elf64_Ehdr *header, const struct cap_module *module)
{
    const unsigned char *expected = (const unsigned char *)module->bytes + module->path_length, *found = NULL;
    unsigned char notes[4096];
    size_t length = 0;

    for (unsigned i = 0; i < header->e_phnum && !found; i++) {
        Elf64_Phdr segment;

        if (read_at(fd, &segment, sizeof segment, header->e_phoff + i * sizeof segment) < sizeof segment)
            return true;
        if (segment.p_type != PT_NOTE) continue;
        size_t size = segment.p_filesz < sizeof notes ? (size_t)segment.p_filesz : sizeof notes;
        found = build_id_in_notes(notes, read_at(fd, notes, size, segment.p_offset), &length);
    }
    if (length > CAP_BUILD_ID_MAX) length = CAP_BUILD_ID_MAX;
    return length != module->id_length || (length > 0 && memcmp(found, expected, length) != 0);
}

/* The section that holds the most symbols, and its names. */
static bool find_sections(int fd, const Elf64_Ehdr *header, Elf64_Shdr *symbols, Elf64_Shdr *names)
{
    bool found = false;

    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum > HEADERS_MAX) return false;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr section;

        if (read_at(fd, &section, sizeof section, header->e_shoff + i * sizeof section) < sizeof section)
            return false;
        if ((section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) ||
            section.sh_entsize != sizeof(Elf64_Sym) || section.sh_link >= header->e_shnum ||
            section.sh_size / sizeof(Elf64_Sym) > SYMBOLS_MAX || (found && section.sh_type == SHT_DYNSYM))
            continue;
        *symbols = section;
        found = true;
    }
    return found && read_at(fd, names, sizeof *names, header->e_shoff + symbols->sh_link * sizeof *names) ==
                        sizeof *names;
}

/* ---- the functions in order of their addresses ---- */

static bool before(const struct function *a, const struct function *b)
{
    return a->begin != b->begin ? a->begin < b->begin : a->size < b->size;
}

static void sift(struct function *heap, size_t at, size_t count)
{
    struct function moving = heap[at];
    size_t child;

    while ((child = 2 * at + 1) < count) {
        if (child + 1 < count && before(&heap[child], &heap[child + 1])) child++;
        if (!before(&moving, &heap[child])) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

/* Heapsort: in place, since qsort() takes memory from the program's heap. */
static void sort(struct function *functions, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(functions, i, count);
    for (size_t end = count; end-- > 1;) {
        struct function last = functions[end];

        functions[end] = functions[0];
        functions[0] = last;
        sift(functions, 0, end);
    }
}

static bool is_function(const Elf64_Sym *symbol)
{
    /* All of it has been read; the checker does not see that through the number of bytes. */
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_size > 0 && symbol->st_size <= UINT32_MAX && symbol->st_name > 0;
}

static bool read_functions(int fd, struct symbol_table *table, const Elf64_Shdr *section)
{
    Elf64_Sym symbols[READ_SYMBOLS / sizeof(Elf64_Sym)];
    uint64_t count = section->sh_size / sizeof *symbols;

    for (uint64_t done = 0; done < count;) {
        size_t now = sizeof symbols / sizeof *symbols;

        if (now > count - done) now = (size_t)(count - done);
        if (read_at(fd, symbols, now * sizeof *symbols, section->sh_offset + done * sizeof *symbols) <
            now * sizeof *symbols)
            return false;
        for (size_t i = 0; i < now; i++)
            if (is_function(&symbols[i]))
                table->functions[table->count++] =
                    (struct function){symbols[i].st_value, (uint32_t)symbols[i].st_size, symbols[i].st_name};
        done += now;
    }
    sort(table->functions, table->count);
    return true;
}

static struct symbol_table *read_table(int fd, const struct cap_module *module)
{
    Elf64_Ehdr header;
    Elf64_Shdr section, names;
    struct symbol_table *table;
    size_t bytes;

    if (read_at(fd, &header, sizeof header, 0) < sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB) ||
        header.e_phentsize != sizeof(Elf64_Phdr) || other_build(fd, &header, module) ||
        !find_sections(fd, &header, &section, &names))
        return NULL;
    bytes = sizeof *table + section.sh_size / sizeof(Elf64_Sym) * sizeof(struct function);
    table = map_memory(bytes);
    if (!table) return NULL;
    *table =
        (struct symbol_table){.names_offset = names.sh_offset, .names_bytes = names.sh_size, .mapped = bytes};
    if (read_functions(fd, table, &section)) return table;
    munmap(table, bytes);
    return NULL;
}

/* A regular file, and what it is; -1: none. */
static int open_file(const struct cap_module *module, struct stat *status)
{
    char path[CAP_PATH_MAX + 1];
    int fd;

    if (module->path_length == 0 || module->path_length > CAP_PATH_MAX || module->bytes[0] != '/') return -1;
    memcpy(path, module->bytes, module->path_length);
    path[module->path_length] = '\0';
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) fd = descriptor_raise(fd); /* the program goes on meanwhile */
    if (fd >= 0 && fstat(fd, status) == 0 && S_ISREG(status->st_mode)) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* Not a file of the program's, which may have closed ours with all others, and have its own under that number
 * since: reading takes long enough for that. */
static void close_file(int fd, dev_t device, ino_t inode)
{
    struct stat now;

    if (fstat(fd, &now) == 0 && now.st_dev == device && now.st_ino == inode) close(fd);
}

static struct symbol_table *open_table(const struct cap_module *module)
{
    struct symbol_table *table;
    struct stat status;
    int fd = open_file(module, &status);

    if (fd < 0) return &none;
    table = read_table(fd, module);
    close_file(fd, status.st_dev, status.st_ino);
    if (!table) return &none;
    table->device = status.st_dev;
    table->inode = status.st_ino;
    table->bytes = status.st_size;
    table->changed = status.st_mtim;
    return table;
}

static int open_again(const struct symbol_table *table, const struct cap_module *module)
{
    struct stat status;
    int fd = open_file(module, &status);

    if (fd < 0 ||
        (status.st_dev == table->device && status.st_ino == table->inode && status.st_size == table->bytes &&
         status.st_mtim.tv_sec == table->changed.tv_sec && status.st_mtim.tv_nsec == table->changed.tv_nsec))
        return fd;
    close_file(fd, status.st_dev, status.st_ino);
    return -1;
}

/* ---- look-ups ---- */

/* The innermost function around the address; of those that begin at one address the longest. */
static const struct function *function_at(const struct symbol_table *table, uint64_t address)
{
    enum { AROUND = 16 }; /* functions within functions are rare */
    size_t low = 0, high = table->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (table->functions[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t back = 0; back < AROUND && low-- > 0; back++)
        if (address - table->functions[low].begin < table->functions[low].size) return &table->functions[low];
    return NULL;
}

size_t symbols_find(struct symbols *symbols, uint32_t index, const struct cap_module *module,
                    uint64_t return_offset, char name[SYMBOL_MAX + 1])
{
    struct symbol_table **table = &symbols->tables[index];
    const struct function *function;
    size_t length;
    int fd;

    if (!*table) *table = open_table(module);
    function = return_offset > 0 ? function_at(*table, return_offset - 1) : NULL;
    if (!function || function->name >= (*table)->names_bytes) return 0;
    fd = open_again(*table, module);
    if (fd < 0) return 0;
    length = read_at(fd, name, SYMBOL_MAX + 1, (*table)->names_offset + function->name);
    close_file(fd, (*table)->device, (*table)->inode);
    length = strnlen(name, length);
    for (size_t i = 0; i < length; i++) /* not what a linker writes */
        if ((unsigned char)name[i] <= ' ' || name[i] == '"' || name[i] == '\\' || name[i] == 0x7f) return 0;
    if (length > SYMBOL_MAX) return 0;
    name[length] = '\0';
    return length;
}

void symbols_free(struct symbols *symbols)
{
    for (uint32_t i = 0; i < CAP_MODULES_MAX; i++) {
        if (!symbols->tables[i] || symbols->tables[i] == &none) continue;
        munmap(symbols->tables[i], symbols->tables[i]->mapped);
        symbols->tables[i] = NULL;
    }
}
