/* A strict, streaming reader of CSV (RFC 4180): commas, fields in quotes with doubled quotes inside, records
 * ended by LF, CRLF or CR. Memory is bounded by the longest record; every byte read is also hashed. */
#ifndef CGTRACE_ANALYZER_EVIDENCE_NSIGHT_CSV_H
#define CGTRACE_ANALYZER_EVIDENCE_NSIGHT_CSV_H

#include "analyzer/evidence/sha256.h"
#include "analyzer/trace/trace.h"

enum { CSV_RECORD_MAX = 16 << 20 }; /* bytes of one record, a limit of ours */

struct csv_cells {
    struct cg_text *at;
    size_t count, room;
};

struct csv {
    int fd;
    struct sha256 *digest;
    uint64_t size;          /* bytes read so far */
    uint64_t line;          /* of what was last given, from 1 */
    const char *defect;     /* why the last call gave -1; static text */
    struct csv_cells cells; /* of the last record or split */
    /* inside */
    char *bytes, *scratch;
    size_t begin, end, next, room, scratch_room;
    uint64_t next_line;
    bool at_end;
};

/* Takes fd over. False when memory is short; csv_close() is due either way. */
bool csv_open(struct csv *csv, int fd);
/* Ends it. With hex, and when all was read to its end, also gives the digest of all bytes; false when that
 * failed. */
bool csv_close(struct csv *csv, char hex[SHA256_HEX]);

/* All of these: 1, 0 at the end of the file, -1 with csv->defect. What they give is valid until the next
 * call. */

/* Looks at the next physical line, without its end; the next call sees the same line again. */
int csv_line(struct csv *csv, struct cg_text *line);
/* Passes the line that csv_line() gave. */
void csv_pass(struct csv *csv);
/* Splits the line that csv_line() gave into csv->cells as a record by itself; -1 when it is none. */
int csv_split(struct csv *csv, struct cg_text line);
/* Reads the next record into csv->cells. */
int csv_record(struct csv *csv);

#endif
