/* Strict JSON, scanned in place: the primitives of the trace reader (doc/spec/trace.md 2.1 to 2.4).
 *
 * The text must be followed by a line feed, and 64 bytes from there on must be readable. No token crosses a
 * line feed, so it stops every loop and nothing compares with an end pointer.
 *
 * Every function starts at scan->at and moves it past what it took. On a defect it returns false and sets
 * fault to a line for people and fault_at to the byte. */
#ifndef CGTRACE_COMMON_JSON_SCAN_H
#define CGTRACE_COMMON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arrays and objects nested in each other, the record itself included. */
#define JSON_MAX_DEPTH 127
/* Readable bytes after the text, its line feed included. */
#define JSON_PADDING 64

struct json_scan {
    const char *at;
    const char *fault; /* static text */
    const char *fault_at;
    bool no_memory; /* the fault is that memory is short */
    char *scratch;  /* decoded text of the last string with escapes */
    size_t scratch_size;
};

/* Frees what the scanner holds; the struct begins zeroed and may be used again. */
void json_scan_free(struct json_scan *scan);

/* Sets the fault; returns false. */
bool json_fault(struct json_scan *scan, const char *at, const char *fault);

/* Skips the white space that JSON knows, without the line feed. */
static inline void json_space(struct json_scan *scan)
{
    while (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r')
        scan->at++;
}

/* A string, decoded; scan->at is its opening quote. *bytes points into the text, or into scan->scratch when
 * there was an escape: valid until the next string. It may hold NUL bytes and is not ended by one. */
bool json_scan_string(struct json_scan *scan, const char **bytes, size_t *length);

/* doc/spec/trace.md 2.4: U is value in u; I is -u; F is value in f, finite. */
enum json_class { JSON_U, JSON_I, JSON_F };
struct json_number {
    enum json_class class;
    uint64_t u;
    double f; /* nearest double, ties to even, in every class */
};
bool json_scan_number(struct json_scan *scan, struct json_number *number);

/* A number of class U. *value is unchanged on a fault. */
bool json_scan_u64(struct json_scan *scan, uint64_t *value);

/* Any value, checked to the last byte and thrown away; open is the number of arrays and objects around it. */
bool json_skip_value(struct json_scan *scan, unsigned open);

/* The literal, such as "null", if it stands here; else false without a fault and without moving. */
bool json_scan_literal(struct json_scan *scan, const char *literal);

/* "a string", "null", ...: what begins here, for messages. */
const char *json_found(const char *at);

#endif
