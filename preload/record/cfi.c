#include "preload/record/cfi.h"

#include <stdbool.h>
#include <string.h>

/* Columns of the registers that matter. */
enum { RBP = 6, RSP = 7, RETURN = 16 };
enum { REMEMBERED_MAX = 8 };

enum saved { SAVED_NOT, SAVED_AT, SAVED_NOWHERE, SAVED_ELSE };
struct column {
    enum saved saved;
    int64_t offset; /* SAVED_AT: from the frame's end */
};
struct row {
    bool expression;
    uint64_t reg;
    int64_t offset;
    struct column rbp, back;
};

struct reader {
    const uint8_t *at, *end;
    bool failed;
};

/* What an entry of .eh_frame begins with. */
struct head {
    uint64_t code_unit;
    int64_t data_unit;
    uint8_t encoding;
    bool signal, augmented;
    struct reader program;
};

static uint64_t fixed(struct reader *reader, unsigned bytes)
{
    uint64_t value = 0;

    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->failed = true;
        return 0;
    }
    memcpy(&value, reader->at, bytes); /* the machine is little-endian */
    reader->at += bytes;
    return value;
}

static uint64_t leb(struct reader *reader, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;

    do {
        byte = fixed(reader, 1);
        if (shift < 64) value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && (byte & 0x40)) value |= ~UINT64_C(0) << shift;
    return value;
}
static uint64_t uleb(struct reader *reader)
{
    return leb(reader, false);
}
static int64_t sleb(struct reader *reader)
{
    return (int64_t)leb(reader, true);
}

/* An offset in units of the entry; none is so large. */
static int64_t scaled(struct reader *reader, int64_t count, int64_t unit)
{
    int64_t offset = 0;

    if (__builtin_mul_overflow(count, unit, &offset)) reader->failed = true;
    return offset;
}

/* ---- entries ---- */

/* Bytes of an encoded address; 0: not one that stands in entries for code. */
static unsigned encoded_bytes(uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x0c: /* sdata8 */
        return 8;
    case 0x03: /* udata4 */
    case 0x0b: /* sdata4 */
        return 4;
    case 0x02: /* udata2 */
    case 0x0a: /* sdata2 */
        return 2;
    default:
        return 0;
    }
}

/* An entry's bytes behind its length and the 4 that say what it is. */
static bool open_entry(const uint8_t *entry, struct reader *reader)
{
    uint32_t length;

    memcpy(&length, entry, sizeof length);
    if (length < 4 || length == UINT32_MAX) return false; /* none, or one of 64 bits */
    *reader = (struct reader){entry + 8, entry + 4 + length, false};
    return true;
}

static bool read_common(const uint8_t *entry, struct head *head)
{
    struct reader reader;
    const char *letters;
    uint64_t version;

    if (!open_entry(entry, &reader)) return false;
    version = fixed(&reader, 1);
    letters = (const char *)reader.at;
    while (fixed(&reader, 1) && !reader.failed)
        ;
    if (version != 1 && version != 3) return false;
    *head = (struct head){.code_unit = uleb(&reader)};
    head->data_unit = sleb(&reader);
    if ((version == 1 ? fixed(&reader, 1) : uleb(&reader)) != RETURN) return false;
    if (*letters == 'z') {
        head->augmented = true;
        uint64_t bytes = uleb(&reader);
        if (bytes > (uint64_t)(reader.end - reader.at)) return false;
        const uint8_t *program = reader.at + bytes;
        for (letters++; *letters; letters++) {
            uint8_t encoding =
                *letters == 'R' || *letters == 'P' || *letters == 'L' ? (uint8_t)fixed(&reader, 1) : 0;
            if (*letters == 'R') head->encoding = encoding;
            if (*letters == 'P') fixed(&reader, encoded_bytes(encoding));
            if (*letters == 'S') head->signal = true;
            if (!strchr("RPLSB", *letters)) return false;
        }
        reader.at = program;
    } else if (*letters) {
        return false;
    }
    head->program = reader;
    return !reader.failed;
}

/* ---- programs ---- */

struct machine {
    const struct head *head;
    struct row row, first, remembered[REMEMBERED_MAX];
    unsigned depth;
    uintptr_t location, address;
};

static void save(struct machine *machine, uint64_t reg, enum saved saved, int64_t offset)
{
    if (reg == RBP) machine->row.rbp = (struct column){saved, offset};
    if (reg == RETURN) machine->row.back = (struct column){saved, offset};
}

static void restore(struct machine *machine, uint64_t reg)
{
    if (reg == RBP) machine->row.rbp = machine->first.rbp;
    if (reg == RETURN) machine->row.back = machine->first.back;
}

static void define(struct machine *machine, uint64_t reg, int64_t offset)
{
    machine->row.reg = reg;
    machine->row.offset = offset;
    machine->row.expression = false;
}

static void skip_block(struct reader *reader)
{
    uint64_t bytes = uleb(reader);

    if (bytes > (uint64_t)(reader->end - reader->at))
        reader->failed = true;
    else
        reader->at += bytes;
}

/* Where the caller's frame ends. False: another operation. */
static bool step_end(struct machine *machine, struct reader *reader, uint64_t operation)
{
    const int64_t unit = machine->head->data_unit;
    uint64_t reg;

    switch (operation) {
    case 0x0c: /* def_cfa */
        reg = uleb(reader);
        define(machine, reg, (int64_t)uleb(reader));
        return true;
    case 0x0d: /* def_cfa_register */
        define(machine, uleb(reader), machine->row.offset);
        return true;
    case 0x0e: /* def_cfa_offset */
        define(machine, machine->row.reg, (int64_t)uleb(reader));
        return true;
    case 0x0f: /* def_cfa_expression */
        machine->row.expression = true;
        skip_block(reader);
        return true;
    case 0x12: /* def_cfa_sf */
        reg = uleb(reader);
        define(machine, reg, scaled(reader, sleb(reader), unit));
        return true;
    case 0x13: /* def_cfa_offset_sf */
        define(machine, machine->row.reg, scaled(reader, sleb(reader), unit));
        return true;
    default:
        return false;
    }
}

/* The operations that are not one byte with their operand. False: unknown. */
static bool step_extended(struct machine *machine, struct reader *reader, uint64_t operation)
{
    const int64_t unit = machine->head->data_unit;
    uint64_t reg;

    switch (operation) {
    case 0x00: /* nop */
        return true;
    case 0x02: /* advance_loc1 */
    case 0x03: /* advance_loc2 */
    case 0x04: /* advance_loc4 */
        machine->location += fixed(reader, 1u << (operation - 2)) * machine->head->code_unit;
        return true;
    case 0x05: /* offset_extended */
        reg = uleb(reader);
        save(machine, reg, SAVED_AT, scaled(reader, (int64_t)uleb(reader), unit));
        return true;
    case 0x06: /* restore_extended */
        restore(machine, uleb(reader));
        return true;
    case 0x07: /* undefined */
        save(machine, uleb(reader), SAVED_NOWHERE, 0);
        return true;
    case 0x08: /* same_value */
        save(machine, uleb(reader), SAVED_NOT, 0);
        return true;
    case 0x09: /* register */
        reg = uleb(reader);
        uleb(reader);
        save(machine, reg, SAVED_ELSE, 0);
        return true;
    case 0x0a: /* remember_state */
        if (machine->depth == REMEMBERED_MAX) return false;
        machine->remembered[machine->depth++] = machine->row;
        return true;
    case 0x0b: /* restore_state */
        if (machine->depth == 0) return false;
        machine->row = machine->remembered[--machine->depth];
        return true;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        save(machine, uleb(reader), SAVED_ELSE, 0);
        skip_block(reader);
        return true;
    case 0x11: /* offset_extended_sf */
        reg = uleb(reader);
        save(machine, reg, SAVED_AT, scaled(reader, sleb(reader), unit));
        return true;
    case 0x14: /* val_offset */
    case 0x15: /* val_offset_sf */
        save(machine, uleb(reader), SAVED_ELSE, 0);
        uleb(reader);
        return true;
    case 0x2e: /* GNU_args_size */
        uleb(reader);
        return true;
    default:
        return step_end(machine, reader, operation);
    }
}

/* Up to the row of the address. False: something in it is unknown. */
static bool execute(struct machine *machine, struct reader reader)
{
    while (reader.at < reader.end && machine->location <= machine->address) {
        uint64_t operation = fixed(&reader, 1), low = operation & 0x3f;

        switch (operation >> 6) {
        case 1: /* advance_loc */
            machine->location += low * machine->head->code_unit;
            break;
        case 2: /* offset */
            save(machine, low, SAVED_AT, scaled(&reader, (int64_t)uleb(&reader), machine->head->data_unit));
            break;
        case 3: /* restore */
            restore(machine, low);
            break;
        default:
            if (!step_extended(machine, &reader, low)) return false;
        }
        if (reader.failed) return false;
    }
    return true;
}

static struct cfi_rule rule_of(const struct row *row)
{
    enum { END_MAX = 1 << 12, RBP_MAX = 7 }; /* what unwind.c has bits for */
    struct cfi_rule rule = {.kind = CFI_COMPLEX, .from_rbp = row->reg == RBP};

    if (row->back.saved == SAVED_NOWHERE) return (struct cfi_rule){.kind = CFI_END};
    if (row->expression || (row->reg != RBP && row->reg != RSP) || row->offset <= 0 || row->offset % 8 != 0 ||
        row->offset / 8 >= END_MAX || row->back.saved != SAVED_AT || row->back.offset != -8)
        return rule;
    if (row->rbp.saved == SAVED_AT) {
        if (row->rbp.offset >= 0 || row->rbp.offset % 8 != 0 || row->rbp.offset < -8 * RBP_MAX) return rule;
        rule.rbp_words = (uint8_t)(-row->rbp.offset / 8);
    } else if (row->rbp.saved != SAVED_NOT) {
        return rule;
    }
    rule.end_words = (uint32_t)(row->offset / 8);
    rule.kind = CFI_SIMPLE;
    return rule;
}

struct cfi_rule cfi_rule_at(const void *fde, uintptr_t begin, uintptr_t address)
{
    const uint8_t *entry = fde;
    struct machine machine = {.location = 0};
    struct reader reader;
    struct head head;
    uint32_t back;

    memcpy(&back, entry + 4, sizeof back);
    if (!open_entry(entry, &reader) || !read_common(entry + 4 - back, &head) || head.signal)
        return (struct cfi_rule){.kind = CFI_COMPLEX};
    fixed(&reader, encoded_bytes(head.encoding));
    fixed(&reader, encoded_bytes(head.encoding));
    if (encoded_bytes(head.encoding) == 0) reader.failed = true;
    if (head.augmented) skip_block(&reader);
    machine.head = &head;
    machine.address = UINTPTR_MAX; /* all of the common entry's */
    if (reader.failed || !execute(&machine, head.program)) return (struct cfi_rule){.kind = CFI_COMPLEX};
    machine.first = machine.row;
    machine.location = begin;
    machine.address = address;
    return execute(&machine, reader) ? rule_of(&machine.row) : (struct cfi_rule){.kind = CFI_COMPLEX};
}
