/* What the formatters of lines write stays in the room that their interfaces name: behind it is a page that
 * cannot be written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/jsonl.h"
#include "common/jsonl_text.h"
#include "tests/unit/cmocka_tap.h"

enum { ROOM = 1 << 20, NAMES = 64, STRINGS_BYTES = 64 << 10, RECORDS = 200000 };

static char *fence; /* the page that cannot be written */
static char strings[STRINGS_BYTES] __attribute__((aligned(8)));
static uint64_t whole[STRINGS_BYTES / 8 / 64 + 1];
static uint32_t numbers[NAMES];
static uint64_t strings_bytes = 8;

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int make_fence(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *room = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    if (room == MAP_FAILED) return -1;
    fence = room + ROOM;
    return mprotect(fence, page, PROT_NONE);
}

/* Texts of every length up to 20, and longer ones, of bytes that take the most room. */
static void make_strings(void)
{
    static const char bytes[] = {'\x01', '\xff', '"', 'a'};

    for (unsigned i = 0; i < NAMES; i++) {
        size_t length = i < 40 ? i % 20 + 1 : i < 52 ? 250 + i % 12 : 600 + i;
        uint32_t head = (uint32_t)length;

        numbers[i] = (uint32_t)(strings_bytes / 8);
        memcpy(strings + strings_bytes, &head, sizeof head);
        for (size_t at = 0; at < length; at++)
            strings[strings_bytes + 4 + at] = i >= 40 && i % 4 ? bytes[0]
                                              : i % 5 == 4     ? bytes[next_random() % 4]
                                                               : bytes[i % 5];
        strings_bytes += CAP_STRING_BYTES(length);
        assert_true(strings_bytes < STRINGS_BYTES);
    }
}

/* Words that are numbers of texts, or small, or anything. */
static void make_record(struct cap_record *record, unsigned slots)
{
    uint32_t *words = (uint32_t *)record;

    for (size_t i = 0; i < slots * sizeof *record / sizeof *words; i++) {
        uint64_t random = next_random();

        words[i] = random & 3   ? numbers[(random >> 8) % NAMES]
                   : random & 4 ? (uint32_t)(random >> 32)
                                : UINT32_MAX;
    }
    record->type = (uint8_t)(next_random() % CAP_TYPE_COUNT);
    record->slots = (uint8_t)(1 + next_random() % slots);
    record->flags = (uint16_t)next_random();
    record->api = (uint16_t)(next_random() & 1);
}

static void test_records(void **unused)
{
    static char api[199];
    struct jsonl_api apis[1] = {{api, sizeof api, sizeof api}};
    struct jsonl_state state = {.clock = {.mult = 1},
                                .strings = strings,
                                .apis = apis,
                                .api_count = 1,
                                .whole = whole,
                                .whole_limit = STRINGS_BYTES / 8};
    struct cap_record record[4];

    (void)unused;
    memset(api, 'a', sizeof api);
    make_strings();
    state.strings_bytes = strings_bytes;
    for (int i = 0; i < RECORDS; i++) {
        size_t bound;
        char *end;

        if (i % 64 == 0) memset(whole, 0, sizeof whole);
        make_record(record, 4);
        bound = jsonl_bound(&state, record);
        assert_true(bound <= ROOM);
        end = jsonl_record(&state, fence - bound, record, UINT32_MAX, UINT64_MAX, -1);
        assert_true(end <= fence);
    }
}

/* A text in its 6 bytes for each; the session's own spans in theirs. */
static void test_texts(void **unused)
{
    static const char specials[] = {'\x01', '"', '\xff', '\xc3', '\n', 'a'};
    char text[24];
    bool replaced;

    (void)unused;
    for (size_t length = 0; length <= 20; length++)
        for (size_t at = 0; at <= length; at++)
            for (size_t special = 0; special < sizeof specials; special++) {
                memset(text, 'x', sizeof text);
                if (at < length) text[at] = specials[special];
                assert_true(jsonl_text(fence - 6 * length, text, length, &replaced) <= fence);
                assert_true(jsonl_string(fence - 6 * length - 2, text, length) <= fence);
                assert_true(jsonl_root(fence - 6 * length - 256, text, length) <= fence);
                /* And nothing is read behind a text at the end of its page. */
                memcpy(fence - length, text, length);
                assert_true(jsonl_text(fence - 4096, fence - length, length, &replaced) < fence);
            }
}

static void test_region(void **unused)
{
    struct jsonl_state state = {
        .strings = strings, .strings_bytes = strings_bytes, .whole = whole, .whole_limit = STRINGS_BYTES / 8};

    (void)unused;
    for (unsigned i = 0; i < NAMES; i++)
        for (unsigned step = 0; step < 4; step++) {
            struct cap_region region = {.name = numbers[i], .domain = numbers[NAMES - 1 - i], .tid = -1};
            size_t bound;

            memset(whole, 0, sizeof whole);
            region.step = (uint8_t)(step << 4);
            region.source = (uint8_t)(i % CAP_SPAN_SOURCE_COUNT);
            region.enclosing_count = CAP_ENCLOSING_MAX;
            for (unsigned outer = 0; outer < CAP_ENCLOSING_MAX; outer++)
                region.enclosing[outer] = numbers[i];
            bound = jsonl_region_bound(&state, &region);
            assert_true(jsonl_region(&state, fence - bound, &region) <= fence);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_region),
    };

    return cmocka_run_group_tests(tests, make_fence, NULL);
}
