#include "analyzer/convert/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/planes/array.h"

/* Opcodes, as Python's pickletools calls them. Those that are not here are refused. */
enum {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_POP = '0',
    OP_POP_MARK = '1',
    OP_BINFLOAT = 'G',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_NONE = 'N',
    OP_BINSTRING = 'T',
    OP_SHORT_BINSTRING = 'U',
    OP_BINUNICODE = 'X',
    OP_APPEND = 'a',
    OP_DICT = 'd',
    OP_APPENDS = 'e',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_LIST = 'l',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_SETITEM = 's',
    OP_TUPLE = 't',
    OP_SETITEMS = 'u',
    OP_EMPTY_DICT = '}',
    OP_EMPTY_LIST = ']',
    OP_EMPTY_TUPLE = ')',
    OP_PROTO = 0x80,
    OP_TUPLE1 = 0x85,
    OP_TUPLE2 = 0x86,
    OP_TUPLE3 = 0x87,
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_LONG1 = 0x8a,
    OP_LONG4 = 0x8b,
    OP_SHORT_BINUNICODE = 0x8c,
    OP_BINUNICODE8 = 0x8d,
    OP_MEMOIZE = 0x94,
    OP_FRAME = 0x95,
};

/* Those that would run something, for messages. */
static const struct {
    unsigned char opcode;
    const char *name;
} refused[] = {{'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},          {'b', "BUILD"},
               {'i', "INST"},   {'o', "OBJ"},           {0x81, "NEWOBJ"},         {0x92, "NEWOBJ_EX"},
               {'P', "PERSID"}, {'Q', "BINPERSID"},     {0x82, "EXT1"},           {0x83, "EXT2"},
               {0x84, "EXT4"},  {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"}};

struct machine {
    const char *name;
    const unsigned char *bytes;
    size_t length, at, opcode_at;
    struct pickle *pickle;
    uint32_t *stack, *memo; /* values */
    size_t depth, stack_room, memo_count, memo_room;
    size_t *marks; /* depths */
    size_t mark_count, mark_room;
    bool stopped;
    struct cg_error *error;
};

static int fault(const struct machine *machine, const char *what)
{
    return cg_fail(machine->error, CG_EXIT_INPUT, "%s: byte %zu: %s", machine->name, machine->opcode_at + 1,
                   what);
}

static int refuse(const struct machine *machine, unsigned char opcode)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].opcode == opcode)
            return cg_fail(machine->error, CG_EXIT_INPUT,
                           "%s: byte %zu: opcode %s would run code: only plain data is read", machine->name,
                           machine->opcode_at + 1, refused[i].name);
    return cg_fail(machine->error, CG_EXIT_INPUT, "%s: byte %zu: opcode 0x%02x is not one of plain data",
                   machine->name, machine->opcode_at + 1, opcode);
}

/* ---- bytes ---- */

/* So many bytes; NULL with the error filled when there are fewer. */
static const unsigned char *take(struct machine *machine, uint64_t count)
{
    const unsigned char *bytes = machine->bytes + machine->at;
    if (machine->length - machine->at < count) {
        fault(machine, "the pickle ends in the middle");
        return NULL;
    }
    machine->at += (size_t)count;
    return bytes;
}

/* Little-endian, of at most eight bytes. */
static int take_number(struct machine *machine, size_t count, uint64_t *number)
{
    const unsigned char *bytes = take(machine, count);
    *number = 0;
    if (!bytes) return machine->error->status;
    for (size_t i = 0; i < count; i++)
        *number |= (uint64_t)bytes[i] << (8 * i);
    return 0;
}

/* ---- stack ---- */

static int push(struct machine *machine, uint32_t value)
{
    if (!array_room(&machine->stack, machine->depth, &machine->stack_room, sizeof *machine->stack))
        return cg_out_of_memory(machine->error);
    machine->stack[machine->depth++] = value;
    return 0;
}

static int push_new(struct machine *machine, struct pickle_value value)
{
    struct pickle *pickle = machine->pickle;
    if (pickle->count >= CG_NONE ||
        !array_room(&pickle->values, pickle->count, &pickle->room, sizeof *pickle->values))
        return cg_out_of_memory(machine->error);
    pickle->values[pickle->count] = value;
    return push(machine, (uint32_t)pickle->count++);
}

static size_t floor_of(const struct machine *machine)
{
    return machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;
}

/* Are there so many values above the last mark? */
static bool holds(const struct machine *machine, size_t count)
{
    return machine->depth - floor_of(machine) >= count;
}

/* Moves the values from a place of the stack on into a list or dictionary. */
static int move_items(struct machine *machine, uint32_t into, size_t from)
{
    struct pickle_value *value = &machine->pickle->values[into];
    size_t count = machine->depth - from, room = value->room;
    while (room < value->count + count)
        room = room ? 2 * room : 4;
    if (room > UINT32_MAX) return cg_out_of_memory(machine->error);
    if (room > value->room) {
        uint32_t *items = reallocarray(value->items, room, sizeof *items);
        if (!items) return cg_out_of_memory(machine->error);
        value->items = items;
        value->room = (uint32_t)room;
    }
    if (count) memcpy(value->items + value->count, machine->stack + from, count * sizeof *machine->stack);
    value->count += (uint32_t)count;
    machine->depth = from;
    return 0;
}

/* Appends what stands from a place on to the value before it, which is of the type. */
static int extend(struct machine *machine, enum pickle_type type, size_t from)
{
    if (from <= floor_of(machine)) return fault(machine, "there is nothing to add to");
    uint32_t into = machine->stack[from - 1];
    if (machine->pickle->values[into].type != type)
        return fault(machine, type == PICKLE_DICT ? "what is added to is no dictionary"
                                                  : "what is added to is no list");
    if (type == PICKLE_DICT && (machine->depth - from) % 2) return fault(machine, "a key without a value");
    return move_items(machine, into, from);
}

/* A new list or dictionary of what stands from a place on. */
static int gather(struct machine *machine, enum pickle_type type, size_t from)
{
    size_t count = machine->depth - from;
    if (type == PICKLE_DICT && count % 2) return fault(machine, "a key without a value");
    int status = push_new(machine, (struct pickle_value){.type = (uint8_t)type});
    if (status != 0) return status;
    uint32_t made = machine->stack[--machine->depth];
    status = move_items(machine, made, from);
    return status != 0 ? status : push(machine, made);
}

/* ---- values ---- */

static int push_text(struct machine *machine, size_t size_bytes)
{
    uint64_t length;
    int status = take_number(machine, size_bytes, &length);
    const unsigned char *bytes = status == 0 ? take(machine, length) : NULL;
    if (!bytes) return machine->error->status;
    return push_new(
        machine, (struct pickle_value){.type = PICKLE_TEXT, .text = {(const char *)bytes, (size_t)length}});
}

static int push_int(struct machine *machine, uint64_t magnitude, bool negative)
{
    return push_new(machine, (struct pickle_value){
                                 .type = PICKLE_INT, .negative = negative && magnitude, .number = magnitude});
}

/* Two's complement of so many bytes, little-endian; up to 64 bits of magnitude. */
static int push_long(struct machine *machine, size_t size_bytes)
{
    uint64_t count, low = 0;
    int status = take_number(machine, size_bytes, &count);
    if (status == 0 && count > 9) return fault(machine, "an integer of more than 64 bits");
    const unsigned char *bytes = status == 0 ? take(machine, count) : NULL;
    if (!bytes) return machine->error->status;
    bool negative = count > 0 && (bytes[count - 1] & 0x80);
    for (size_t i = 0; i < 8; i++)
        low |= (uint64_t)(i < count ? bytes[i] : negative ? 0xFF : 0) << (8 * i);
    if (count == 9 && (bytes[8] != (negative ? 0xFF : 0) || (negative && low == 0)))
        return fault(machine, "an integer of more than 64 bits");
    return push_int(machine, negative ? -low : low, negative);
}

static int push_binint(struct machine *machine)
{
    uint64_t number;
    int status = take_number(machine, 4, &number);
    int64_t value = (int32_t)(uint32_t)number;
    return status != 0 ? status : push_int(machine, (uint64_t)(value < 0 ? -value : value), value < 0);
}

static int push_unsigned(struct machine *machine, size_t size_bytes)
{
    uint64_t number;
    int status = take_number(machine, size_bytes, &number);
    return status != 0 ? status : push_int(machine, number, false);
}

/* Big-endian binary64. */
static int push_float(struct machine *machine)
{
    const unsigned char *bytes = take(machine, 8);
    if (!bytes) return machine->error->status;
    uint64_t bits = 0;
    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    struct pickle_value value = {.type = PICKLE_FLOAT};
    memcpy(&value.real, &bits, sizeof bits);
    return push_new(machine, value);
}

/* ---- memo ---- */

/* Numbers are given out one after the other: beyond the length of the file they are a trick. */
static int put(struct machine *machine, uint64_t number)
{
    if (!holds(machine, 1)) return fault(machine, "there is nothing to remember");
    if (number >= machine->length) return fault(machine, "a memo number beyond the file's length");
    while (machine->memo_count <= number) {
        if (!array_room(&machine->memo, machine->memo_count, &machine->memo_room, sizeof *machine->memo))
            return cg_out_of_memory(machine->error);
        machine->memo[machine->memo_count++] = CG_NONE;
    }
    machine->memo[number] = machine->stack[machine->depth - 1];
    return 0;
}

static int put_numbered(struct machine *machine, size_t size_bytes)
{
    uint64_t number;
    int status = take_number(machine, size_bytes, &number);
    return status != 0 ? status : put(machine, number);
}

static int get(struct machine *machine, size_t size_bytes)
{
    uint64_t number;
    int status = take_number(machine, size_bytes, &number);
    if (status != 0) return status;
    if (number >= machine->memo_count || machine->memo[number] == CG_NONE)
        return fault(machine, "what is remembered under this number is not there");
    return push(machine, machine->memo[number]);
}

/* ---- opcodes ---- */

static int run_mark(struct machine *machine)
{
    if (!array_room(&machine->marks, machine->mark_count, &machine->mark_room, sizeof *machine->marks))
        return cg_out_of_memory(machine->error);
    machine->marks[machine->mark_count++] = machine->depth;
    return 0;
}

/* What takes the values above the last mark. */
static int run_marked(struct machine *machine, unsigned char opcode)
{
    if (machine->mark_count == 0) return fault(machine, "there is no mark on the stack");
    size_t from = machine->marks[--machine->mark_count];
    switch (opcode) {
    case OP_APPENDS:
        return extend(machine, PICKLE_LIST, from);
    case OP_SETITEMS:
        return extend(machine, PICKLE_DICT, from);
    case OP_DICT:
        return gather(machine, PICKLE_DICT, from);
    case OP_POP_MARK:
        machine->depth = from;
        return 0;
    default: /* OP_LIST, OP_TUPLE */
        return gather(machine, PICKLE_LIST, from);
    }
}

/* What takes a number of values. */
static int run_counted(struct machine *machine, unsigned char opcode, size_t count)
{
    if (!holds(machine, count)) return fault(machine, "too few values on the stack");
    size_t from = machine->depth - count;
    switch (opcode) {
    case OP_APPEND:
        return extend(machine, PICKLE_LIST, from);
    case OP_SETITEM:
        return extend(machine, PICKLE_DICT, from);
    case OP_POP:
        machine->depth = from;
        return 0;
    case OP_STOP:
        machine->stopped = true;
        machine->pickle->root = machine->stack[from];
        return 0;
    default: /* tuples */
        return gather(machine, PICKLE_LIST, from);
    }
}

static int run_proto(struct machine *machine)
{
    uint64_t protocol;
    int status = take_number(machine, 1, &protocol);
    if (status == 0 && (protocol < 2 || protocol > 5)) return fault(machine, "a protocol other than 2 to 5");
    return status;
}

static int run(struct machine *machine, unsigned char opcode)
{
    uint64_t ignored;
    switch (opcode) {
    case OP_PROTO:
        return run_proto(machine);
    case OP_FRAME:
        return take_number(machine, 8, &ignored);
    case OP_MARK:
        return run_mark(machine);
    case OP_NONE:
        return push_new(machine, (struct pickle_value){.type = PICKLE_NONE});
    case OP_NEWTRUE:
    case OP_NEWFALSE:
        return push_new(machine, (struct pickle_value){.type = PICKLE_BOOL, .number = opcode == OP_NEWTRUE});
    case OP_BININT:
        return push_binint(machine);
    case OP_BININT1:
        return push_unsigned(machine, 1);
    case OP_BININT2:
        return push_unsigned(machine, 2);
    case OP_LONG1:
        return push_long(machine, 1);
    case OP_LONG4:
        return push_long(machine, 4);
    case OP_BINFLOAT:
        return push_float(machine);
    case OP_SHORT_BINUNICODE:
    case OP_SHORT_BINSTRING:
        return push_text(machine, 1);
    case OP_BINUNICODE:
    case OP_BINSTRING:
        return push_text(machine, 4);
    case OP_BINUNICODE8:
        return push_text(machine, 8);
    case OP_EMPTY_LIST:
    case OP_EMPTY_TUPLE:
        return push_new(machine, (struct pickle_value){.type = PICKLE_LIST});
    case OP_EMPTY_DICT:
        return push_new(machine, (struct pickle_value){.type = PICKLE_DICT});
    case OP_APPENDS:
    case OP_SETITEMS:
    case OP_DICT:
    case OP_LIST:
    case OP_TUPLE:
    case OP_POP_MARK:
        return run_marked(machine, opcode);
    case OP_APPEND:
    case OP_POP:
    case OP_STOP:
    case OP_TUPLE1:
        return run_counted(machine, opcode, 1);
    case OP_SETITEM:
    case OP_TUPLE2:
        return run_counted(machine, opcode, 2);
    case OP_TUPLE3:
        return run_counted(machine, opcode, 3);
    case OP_MEMOIZE:
        return put(machine, machine->memo_count);
    case OP_BINPUT:
        return put_numbered(machine, 1);
    case OP_LONG_BINPUT:
        return put_numbered(machine, 4);
    case OP_BINGET:
        return get(machine, 1);
    case OP_LONG_BINGET:
        return get(machine, 4);
    default:
        return refuse(machine, opcode);
    }
}

int pickle_read(const char *name, const void *bytes, size_t length, struct pickle *pickle,
                struct cg_error *error)
{
    struct machine machine = {
        .name = name, .bytes = bytes, .length = length, .pickle = pickle, .error = error};
    int status = 0;
    *pickle = (struct pickle){0};
    if (length < 2 || machine.bytes[0] != OP_PROTO)
        status = fault(&machine, "not a pickle of protocol 2 to 5");
    while (status == 0 && !machine.stopped) {
        machine.opcode_at = machine.at;
        const unsigned char *opcode = take(&machine, 1);
        status = opcode ? run(&machine, *opcode) : error->status;
    }
    free(machine.stack);
    free(machine.memo);
    free(machine.marks);
    if (status != 0) pickle_free(pickle);
    return status;
}

void pickle_free(struct pickle *pickle)
{
    for (size_t i = 0; i < pickle->count; i++)
        if (pickle->values[i].type == PICKLE_LIST || pickle->values[i].type == PICKLE_DICT)
            free(pickle->values[i].items);
    free(pickle->values);
    *pickle = (struct pickle){0};
}

uint32_t pickle_member(const struct pickle *pickle, uint32_t dict, const char *key)
{
    if (dict == CG_NONE || pickle->values[dict].type != PICKLE_DICT) return CG_NONE;
    const struct pickle_value *value = &pickle->values[dict];
    size_t length = strlen(key);
    enum { KEYS = 64 };
    uint32_t least = value->count > 2 * KEYS ? value->count - 2 * KEYS : 0;
    for (uint32_t i = value->count; i >= least + 2; i -= 2) { /* the last of equal keys counts */
        const struct pickle_value *name = &pickle->values[value->items[i - 2]];
        if (name->type == PICKLE_TEXT && name->text.length == length &&
            memcmp(name->text.bytes, key, length) == 0)
            return value->items[i - 1];
    }
    return CG_NONE;
}
