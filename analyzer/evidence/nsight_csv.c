#include "analyzer/evidence/nsight_csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/utf8.h"

enum { READ_BYTES = 1 << 18 };

static const char no_memory[] = "out of memory";

/* Reads more behind what is there: 1, 0 at the end of the file, -1. */
static int fill(struct csv *csv)
{
    if (csv->at_end) return 0;
    if (csv->begin > 0) {
        memmove(csv->bytes, csv->bytes + csv->begin, csv->end - csv->begin);
        csv->end -= csv->begin;
        csv->begin = 0;
    }
    if (csv->end > CSV_RECORD_MAX) {
        csv->defect = "a record of more than 16 MiB";
        return -1;
    }
    if (csv->room - csv->end < READ_BYTES) {
        size_t room = 2 * csv->room + READ_BYTES;
        char *bytes = realloc(csv->bytes, room);
        if (!bytes) {
            csv->defect = no_memory;
            return -1;
        }
        csv->bytes = bytes;
        csv->room = room;
    }
    ssize_t got;
    do
        got = read(csv->fd, csv->bytes + csv->end, READ_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        csv->defect = "cannot be read";
        return -1;
    }
    csv->at_end = got == 0;
    sha256_add(csv->digest, csv->bytes + csv->end, (size_t)got);
    csv->size += (uint64_t)got;
    csv->end += (size_t)got;
    return got > 0;
}

bool csv_open(struct csv *csv, int fd)
{
    *csv = (struct csv){.fd = fd, .digest = sha256_start(), .next_line = 1};
    if (!csv->digest) return false;
    while (csv->end < 3 && fill(csv) > 0) {
    }
    if (csv->end >= 3 && memcmp(csv->bytes, "\xef\xbb\xbf", 3) == 0) csv->begin = 3;
    return csv->bytes != NULL;
}

bool csv_close(struct csv *csv, char hex[SHA256_HEX])
{
    bool whole = csv->digest && sha256_finish(csv->digest, hex) && csv->at_end;
    close(csv->fd);
    free(csv->bytes);
    free(csv->scratch);
    free(csv->cells.at);
    return whole;
}

/* Where scanning for an end of line stands: it goes on where it stopped when more was read. */
struct scan {
    size_t at; /* from begin */
    bool quoted, may_open;
};

/* Finds the end of the record (quotes: line ends within quotes do not count) or of the physical line, reading
 * as needed. Sets csv->next and *length. */
static int find_end(struct csv *csv, bool quotes, size_t *length)
{
    struct scan scan = {.may_open = true};
    for (;;) {
        const char *bytes = csv->bytes + csv->begin;
        size_t have = csv->end - csv->begin;
        for (; scan.at < have; scan.at++) {
            char byte = bytes[scan.at];
            if (scan.quoted) {
                scan.may_open = byte == '"'; /* a doubled quote opens again */
                scan.quoted = byte != '"';
            } else if (byte == '\n' || byte == '\r') {
                break;
            } else {
                scan.quoted = quotes && byte == '"' && scan.may_open;
                scan.may_open = byte == ',';
            }
        }
        /* Whether a line feed follows a carriage return must be known. */
        bool enough = scan.at < have && (bytes[scan.at] == '\n' || scan.at + 1 < have);
        int got = enough ? 0 : fill(csv);
        if (got < 0) return -1;
        if (got > 0) continue;
        if (have == 0) return 0;
        *length = scan.at;
        csv->next = csv->begin + scan.at;
        if (scan.at < have) {
            bytes = csv->bytes + csv->begin;
            csv->next += bytes[scan.at] == '\r' && scan.at + 1 < have && bytes[scan.at + 1] == '\n' ? 2 : 1;
        }
        return 1;
    }
}

static int check_text(struct csv *csv, const char *bytes, size_t length)
{
    if (length > CSV_RECORD_MAX)
        csv->defect = "a record of more than 16 MiB";
    else if (length && memchr(bytes, 0, length))
        csv->defect = "a NUL byte";
    else if (utf8_valid_length(bytes, length) != length)
        csv->defect = "bytes that are not UTF-8";
    else
        return 1;
    return -1;
}

int csv_line(struct csv *csv, struct cg_text *line)
{
    size_t length;
    csv->line = csv->next_line;
    int got = find_end(csv, false, &length);
    if (got <= 0) return got;
    *line = (struct cg_text){csv->bytes + csv->begin, length};
    return check_text(csv, line->bytes, length);
}

void csv_pass(struct csv *csv)
{
    csv->begin = csv->next;
    csv->next_line++;
}

static bool add_cell(struct csv *csv, const char *bytes, size_t length)
{
    struct csv_cells *cells = &csv->cells;
    if (cells->count == cells->room) {
        size_t room = cells->room ? 2 * cells->room : 32;
        struct cg_text *at = realloc(cells->at, room * sizeof *at);
        if (!at) {
            csv->defect = no_memory;
            return false;
        }
        cells->at = at;
        cells->room = room;
    }
    cells->at[cells->count++] = (struct cg_text){bytes, length};
    return true;
}

/* Removes the quotes of the field at *at in place; *at is then behind the closing quote. NULL: not closed. */
static char *unquote(char **at, const char *end, size_t *length)
{
    char *from = *at + 1, *to = from, *begin = from;
    for (;;) {
        char *quote = memchr(from, '"', (size_t)(end - from));
        if (!quote) return NULL;
        size_t plain = (size_t)(quote - from);
        memmove(to, from, plain);
        to += plain;
        from = quote + 1;
        if (from == end || *from != '"') break;
        *to++ = '"';
        from++;
    }
    *at = from;
    *length = (size_t)(to - begin);
    return begin;
}

static int split(struct csv *csv, char *bytes, size_t length)
{
    char *at = bytes;
    const char *end = bytes + length;
    csv->cells.count = 0;
    for (;;) {
        char *cell = at;
        size_t size;
        if (at < end && *at == '"') {
            cell = unquote(&at, end, &size);
            if (!cell || (at < end && *at != ',')) {
                csv->defect = cell ? "text behind a closing quote" : "a quote that is not closed";
                return -1;
            }
        } else {
            char *comma = memchr(at, ',', (size_t)(end - at));
            at = comma ? comma : bytes + length;
            size = (size_t)(at - cell);
            if (size && memchr(cell, '"', size)) {
                csv->defect = "a quote inside a field that is not quoted";
                return -1;
            }
        }
        if (!add_cell(csv, cell, size)) return -1;
        if (at == end) return 1;
        at++; /* the comma; a field follows it, if only an empty one */
    }
}

int csv_split(struct csv *csv, struct cg_text line)
{
    if (csv->scratch_room < line.length + 1) {
        free(csv->scratch);
        csv->scratch_room = line.length + 1;
        csv->scratch = malloc(csv->scratch_room);
        if (!csv->scratch) {
            csv->scratch_room = 0;
            csv->defect = no_memory;
            return -1;
        }
    }
    if (line.length) memcpy(csv->scratch, line.bytes, line.length);
    return split(csv, csv->scratch, line.length);
}

static uint64_t count_lines(const char *bytes, size_t length)
{
    uint64_t lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += bytes[i] == '\n' || (bytes[i] == '\r' && (i + 1 == length || bytes[i + 1] != '\n'));
    return lines;
}

int csv_record(struct csv *csv)
{
    size_t length;
    csv->line = csv->next_line;
    int got = find_end(csv, true, &length);
    if (got <= 0) return got;
    char *bytes = csv->bytes + csv->begin;
    if (check_text(csv, bytes, length) < 0) return -1;
    csv->next_line += count_lines(bytes, length);
    csv->begin = csv->next;
    return split(csv, bytes, length);
}
