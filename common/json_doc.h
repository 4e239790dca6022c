/* Writer of JSON documents: streaming, pretty or compact, members in declared or in sorted order.
 *
 * Two families of documents exist (doc/spec/cli.md 1.4): in "declared" documents members stand in the order
 * of the tables, in "sorted" ones keys ascend by bytes at every level. Code that emits an object always emits
 * its members in declared order; the writer sorts them when the object ends. That buffers the object, so an
 * object that holds lists without bound is emitted with doc_members() instead: the writer calls its members'
 * emitters in the right order and nothing is held back.
 *
 * Text: UTF-8 as it stands, only '"', '\' and bytes below 0x20 escaped; integers in full; doubles as the
 * shortest decimal that reads back to the same value, always with a fraction or an exponent, plain for 1e-5
 * <= |x| < 1e16 and 0, non-finite as null. Errors of the sink are sticky: doc_finish() reports them. */
#ifndef CGTRACE_COMMON_JSON_DOC_H
#define CGTRACE_COMMON_JSON_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_style { DOC_PRETTY, DOC_COMPACT };
enum json_order { DOC_DECLARED, DOC_SORTED };

/* Takes length bytes; returns 0, or an errno value, after which it is not called again. */
typedef int json_sink(void *context, const char *bytes, size_t length);

struct json_doc;

/* The writer belongs to the caller and ends with doc_finish(). NULL when memory is short. */
struct json_doc *doc_start(enum json_style style, enum json_order order, json_sink *sink, void *context);
/* Writes what is held back and the final newline, frees the writer; 0, or the errno value of the first
 * failure. */
int doc_finish(struct json_doc *doc);

/* A key comes before each value in an object (never in an array); keys are NUL-ended or counted. */
void doc_key(struct json_doc *doc, const char *key);
void doc_key_bytes(struct json_doc *doc, const char *bytes, size_t length);

/* A failure of the caller (errno value) ends the writing like one of the sink. */
void doc_fail(struct json_doc *doc, int error);

void doc_object(struct json_doc *doc);
void doc_object_end(struct json_doc *doc);
void doc_array(struct json_doc *doc);
void doc_array_end(struct json_doc *doc);

void doc_null(struct json_doc *doc);
void doc_bool(struct json_doc *doc, bool value);
void doc_u64(struct json_doc *doc, uint64_t value);
void doc_u128(struct json_doc *doc, unsigned __int128 value); /* as a decimal string in quotes */
void doc_double(struct json_doc *doc, double value);
void doc_string(struct json_doc *doc, const char *text); /* NULL writes null */
void doc_string_bytes(struct json_doc *doc, const char *bytes, size_t length);
/* A string put together from pieces: begin, any number of adds, end. */
void doc_string_begin(struct json_doc *doc);
void doc_string_add(struct json_doc *doc, const char *bytes, size_t length);
void doc_string_end(struct json_doc *doc);

/* Key and value in one call. */
void doc_member_null(struct json_doc *doc, const char *key);
void doc_member_bool(struct json_doc *doc, const char *key, bool value);
void doc_member_u64(struct json_doc *doc, const char *key, uint64_t value);
void doc_member_double(struct json_doc *doc, const char *key, double value);
void doc_member_string(struct json_doc *doc, const char *key, const char *text);
void doc_member_bytes(struct json_doc *doc, const char *key, const char *bytes, size_t length);
/* The same where a value that is not known is null. */
void doc_member_bool_or_null(struct json_doc *doc, const char *key, bool known, bool value);
void doc_member_u64_or_null(struct json_doc *doc, const char *key, bool known, uint64_t value);
void doc_member_double_or_null(struct json_doc *doc, const char *key, bool known, double value);

/* One member of an object that is emitted without being held back. emit writes exactly one value; present
 * (may be NULL: always) tells whether the member is written at all. */
struct json_member {
    const char *key;
    void (*emit)(struct json_doc *doc, const void *object);
    bool (*present)(const void *object);
};
/* An object of these members, streamed: in table order or sorted by key, as the document asks. */
void doc_members(struct json_doc *doc, const struct json_member *members, size_t count, const void *object);
/* The shortest decimal text of a finite double as described above: at most 32 bytes and a NUL; returns its
 * length. */
size_t json_double_text(char text[33], double value);

#endif
