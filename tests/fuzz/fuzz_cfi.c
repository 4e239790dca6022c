/* libFuzzer: an entry of .eh_frame and the common one before it, as a damaged module may have them: one rule
 * at every address, within what the walk has bits for. The input: how far the code goes (1 byte), the common
 * entry, a byte 0x1e, the entry. What their lengths say is true: the linker writes them. */
#include <stdlib.h>
#include <string.h>

#include "preload/record/cfi.h"
#include "tests/fuzz/files.h"

/* Length, what it is, bytes: at `to`; returns the place behind it. */
static uint8_t *put(uint8_t *to, uint32_t what, const uint8_t *bytes, size_t length)
{
    const uint32_t head[] = {(uint32_t)(length + sizeof what), what};
    memcpy(to, head, sizeof head);
    if (length) memcpy(to + sizeof head, bytes, length);
    return to + sizeof head + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    enum { BEGIN = 0x1000, HEADS = 16 };
    if (length < 1) return 0;
    struct fuzz_parts parts = {bytes + 1, bytes + length};
    const uint8_t *common, *entry = NULL;
    size_t common_length, entry_length = 0;
    if (!fuzz_part(&parts, &common, &common_length)) return 0;
    fuzz_part(&parts, &entry, &entry_length);
    uint8_t *section = malloc(common_length + entry_length + HEADS);
    if (!section) abort();
    uint8_t *fde = put(section, 0, common, common_length);
    put(fde, (uint32_t)(fde + 4 - section), entry, entry_length);
    for (unsigned at = 0; at <= bytes[0]; at += 5) {
        struct cfi_rule rule = cfi_rule_at(fde, BEGIN, BEGIN + at);
        if (rule.kind > CFI_COMPLEX || rule.from_rbp > 1) abort();
        if (rule.kind == CFI_SIMPLE &&
            (rule.end_words == 0 || rule.end_words >= 1 << 12 || rule.rbp_words > 7))
            abort();
    }
    free(section);
    return 0;
}
