/* Names of functions, read while a program goes on that counts on the lowest free number of a descriptor. */
#include "tests/unit/cmocka_tap.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/symbols.h"

static int lowest_free(void)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

/* Sanitizers have a pread of their own, which must stay. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WATCHED 1
static int expected, reads, others;

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    reads++;
    others += lowest_free() != expected;
    return syscall(SYS_pread64, fd, to, size, offset);
}
#endif

struct own {
    ElfW(Addr) base;
    union {
        struct cap_module module;
        char room[sizeof(struct cap_module) + 4096 + 64];
    } of;
};

/* The program itself, which the loader names first. */
static int describe(struct dl_phdr_info *object, size_t size, void *to)
{
    struct own *own = to;
    struct cap_module *module = &own->of.module;
    (void)size;
    own->base = object->dlpi_addr;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        size_t length;
        const unsigned char *id = part->p_type != PT_NOTE
                                      ? NULL
                                      : build_id_in_notes((const unsigned char *)(own->base + part->p_vaddr),
                                                          part->p_memsz, &length);
        if (id == NULL) continue;
        assert_true(length <= 64);
        module->id_length = (uint16_t)length;
        memcpy(module->bytes + module->path_length, id, length);
    }
    return 1;
}

static void test_lowest_descriptor(void **state)
{
    (void)state;
    static struct symbols symbols;
    static struct own own;
    char name[SYMBOL_MAX + 1] = "";
    ssize_t length = readlink("/proc/self/exe", own.of.module.bytes, 4096);
    assert_true(length > 0);
    own.of.module.path_length = (uint16_t)length;
    dl_iterate_phdr(describe, &own);
    uint64_t inside = (uint64_t)((ElfW(Addr))test_lowest_descriptor - own.base) + 1;
#ifdef WATCHED
    expected = lowest_free();
#endif
    size_t first = symbols_find(&symbols, 0, &own.of.module, inside, name);
    assert_string_equal(name, "test_lowest_descriptor");
    assert_int_equal(first, strlen(name));
    assert_int_equal(symbols_find(&symbols, 0, &own.of.module, inside, name),
                     first); /* a file that is known */
#ifdef WATCHED
    assert_true(reads > 2);
    assert_int_equal(others, 0);
    assert_int_equal(lowest_free(), expected);
#endif
    symbols_free(&symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lowest_descriptor)};
    return run_tap(tests);
}
