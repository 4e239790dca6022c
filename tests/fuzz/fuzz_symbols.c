/* libFuzzer: any bytes as the ELF file of a module: for an address a name that stands in it, or none. The
 * module has a build-id unless the length is a multiple of 16. */
#include <stdlib.h>
#include <string.h>

#include "common/symbols.h"
#include "tests/fuzz/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const char build_id[] = "12345678"; /* of corpus/symbols/note; that of others has none */
    static struct symbols symbols;
    static union {
        struct cap_module module;
        char room[sizeof(struct cap_module) + 256];
    } of;
    char name[SYMBOL_MAX + 1];
    fuzz_put("module", bytes, length);
    const char *path = fuzz_path("module");
    of.module.path_length = (uint16_t)strlen(path);
    of.module.id_length = length % 16 == 0 ? 0 : sizeof build_id - 1;
    char *to = of.room + offsetof(struct cap_module, bytes);
    memcpy(to, path, of.module.path_length);
    memcpy(to + of.module.path_length, build_id, of.module.id_length);
    for (uint64_t offset = 1; offset < 1 << 20; offset += 1 + offset / 2) {
        size_t found = symbols_find(&symbols, 0, &of.module, offset, name);
        if (found > SYMBOL_MAX || (found && strlen(name) != found)) abort();
        if (found && !memmem(bytes, length, name, found)) abort();
    }
    symbols_free(&symbols);
    memset(&symbols, 0, sizeof symbols);
    return 0;
}
