/* Texts that the calling thread has met lately, by address. The bytes there may have changed since: they are
 * compared, without a call, as long as they are few. */
#ifndef CGTRACE_PRELOAD_RECORD_RECENT_H
#define CGTRACE_PRELOAD_RECORD_RECENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/record/ring.h"

#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>
#define RECORD_RECENT_WIDE 1
#else
#define RECORD_RECENT_WIDE 0
#endif

/* No more: a program that opens the library later has little room left for such variables. */
enum { RECORD_RECENT = 16, RECORD_RECENT_BYTES = 16 };
enum record_recent_how {
    RECORD_RECENT_AT_LENGTH, /* is compared byte by byte: record_recent_compare() */
    RECORD_RECENT_AT_ONCE,   /* by its 16 bytes: record_recent_same() */
    RECORD_RECENT_CERTAIN,   /* likewise, and is certainly not blank */
};
struct record_recent {
    const char *text;
    uint32_t number;
    /* Of its bytes and its NUL, when those are no more than 16: one bit for each byte that is not one of
     * them.
     */
    uint16_t behind;
    uint8_t how;      /* enum record_recent_how */
    uint8_t own_step; /* the step that it says, CAP_FLAG_STEP form */
    char bytes[RECORD_RECENT_BYTES];
} __attribute__((aligned(32)));
extern HIDDEN _Thread_local struct record_recent record_recent[RECORD_RECENT]
    __attribute__((tls_model("initial-exec")));

static inline struct record_recent *record_recent_place(const char *text)
{
    return record_pinned(&record_recent[(((uintptr_t)text ^ (uintptr_t)text >> 7) >> 2) % RECORD_RECENT]);
}

/* A signal's handler may read an entry that is half written, leave one so by a jump, and write one that is
 * half read. So an entry has no text while it is written, and is read between two looks at its number: a
 * number goes with its own members then. Whether 16 bytes can be read there is told by the address alone. */

/* What an entry has for its text while it has none: no program's. */
static inline const char *record_recent_none(const struct record_recent *recent)
{
    return recent->bytes;
}

/* All 16 bytes there lie on one page, so that reading them is no fault, whatever is behind the text. 4096:
 * the smallest pages. */
static inline bool record_recent_on_page(const char *text)
{
    return RECORD_RECENT_WIDE && (uintptr_t)text % 4096 <= 4096 - RECORD_RECENT_BYTES;
}

/* Whether the bytes at `text` are still those of the entry. */
static inline bool record_recent_same(const struct record_recent *recent, const char *text)
{
#if RECORD_RECENT_WIDE
    __m128i known = _mm_load_si128((const __m128i *)(const void *)recent->bytes);
    __m128i now = _mm_loadu_si128((const __m128i_u *)text);

    return ((unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(known, now)) | recent->behind) == 0xffff;
#else
    (void)recent, (void)text;
    return false;
#endif
}

/* The entry's number, before and behind what is read of it. */
static inline uint32_t record_recent_number(const struct record_recent *recent)
{
    uint32_t number;

    atomic_signal_fence(memory_order_seq_cst);
    number = *(const volatile uint32_t *)&recent->number;
    atomic_signal_fence(memory_order_seq_cst);
    return number;
}

/* The number of the text there when its 16 bytes tell; 0: they do not. how: the entry must be at least. */
static inline __attribute__((always_inline)) uint32_t
record_recent_at_once(const struct record_recent *recent, const char *text, enum record_recent_how how,
                      uint32_t *own_step)
{
    uint32_t number;

    if (unlikely(recent->text != text || !record_recent_on_page(text))) return 0;
    number = record_recent_number(recent);
    *own_step = record_pinned((uint32_t)recent->own_step);
    if (unlikely(recent->how < how || !record_recent_same(recent, text))) return 0;
    return likely(record_recent_number(recent) == number) ? number : 0;
}

/* The same byte by byte, against the string of the entry's number: for texts that are long, or lie across two
 * pages. */
uint32_t record_recent_compare(const struct record_recent *recent, const char *text);

/* The number of a text that the calling thread has given before from this address; 0: it has not, or the text
 * is NULL. Needs no call to be entered. */
static inline uint32_t record_text_known(const char *text)
{
    const struct record_recent *recent = record_recent_place(text);
    uint32_t number, own_step;

    number = record_recent_at_once(recent, text, RECORD_RECENT_AT_ONCE, &own_step);
    if (likely(number)) return number;
    return recent->text == text ? record_recent_compare(recent, text) : 0;
}

#endif
