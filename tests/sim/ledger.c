/* The ground truth: one JSON line for each operation, written whole with one write(2) before the call
 * returns, so that it is in the file even if the process is killed with SIGKILL in the next instant. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/internal.h"

static int fd = -1;
static uint64_t next_seq = 1;

/* A line under construction. Names of 10 KiB are common, so it grows. */
struct text {
    char *data;
    size_t length, capacity;
};
static struct text text;

static void room(size_t more)
{
    if (text.length + more <= text.capacity) return;
    text.capacity = (text.length + more) * 2;
    text.data = sim_realloc(text.data, text.capacity);
}

static void put(const char *s, size_t n)
{
    room(n);
    memcpy(text.data + text.length, s, n);
    text.length += n;
}

#define PUT(literal) put("" literal, sizeof literal - 1)

static void put_string(const char *s)
{
    put(s, strlen(s));
}

static void put_number(uint64_t v)
{
    char digits[20];
    size_t n = sizeof digits;
    do {
        digits[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    put(digits + n, sizeof digits - n);
}

static void put_hex(uint64_t v)
{
    char digits[16];
    size_t n = sizeof digits;
    do {
        digits[--n] = "0123456789abcdef"[v & 15];
        v >>= 4;
    } while (v);
    PUT("\"0x");
    put(digits + n, sizeof digits - n);
    PUT("\"");
}

/* Bytes of the UTF-8 sequence that s begins with, 0 if it begins none (Unicode 15, table 3-7). */
static size_t utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char lo, hi, lo2, hi2, length;
    } table[] = {{0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                 {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (s[0] < table[i].lo || s[0] > table[i].hi) continue;
        if (table[i].length > 1 && (s[1] < table[i].lo2 || s[1] > table[i].hi2)) return 0;
        for (size_t k = 2; k < table[i].length; k++)
            if (s[k] < 0x80 || s[k] > 0xbf) return 0;
        return table[i].length;
    }
    return 0;
}

/* A JSON string; a byte that is no UTF-8 becomes U+FFFD, and the member name_hex keeps the bytes. */
static void put_name(const char *name)
{
    bool broken = false;
    PUT(",\"name\":\"");
    for (const unsigned char *s = (const unsigned char *)name; *s;) {
        size_t n = utf8_length(s);
        if (n == 0) {
            PUT("\xef\xbf\xbd");
            broken = true;
            n = 1;
        } else if (*s < 0x20) {
            char escape[8];
            put(escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", *s));
        } else {
            if (*s == '"' || *s == '\\') PUT("\\");
            put((const char *)s, n);
        }
        s += n;
    }
    PUT("\"");
    if (!broken) return;
    PUT(",\"name_hex\":\"");
    for (const unsigned char *s = (const unsigned char *)name; *s; s++) {
        const char *hex = "0123456789abcdef";
        char pair[2] = {hex[*s >> 4], hex[*s & 15]};
        put(pair, 2);
    }
    PUT("\"");
}

static void put_triple(const char *key, const uint32_t v[3])
{
    PUT(",\"");
    put_string(key);
    PUT("\":[");
    for (int i = 0; i < 3; i++) {
        if (i) PUT(",");
        put_number(v[i]);
    }
    PUT("]");
}

static void put_member(const char *key, uint64_t v)
{
    PUT(",\"");
    put_string(key);
    PUT("\":");
    put_number(v);
}

static void put_member_hex(const char *key, uint64_t v)
{
    PUT(",\"");
    put_string(key);
    PUT("\":");
    put_hex(v);
}

static void put_member_string(const char *key, const char *v)
{
    PUT(",\"");
    put_string(key);
    PUT("\":\"");
    put_string(v);
    PUT("\"");
}

static void put_where(const struct sim_line *line)
{
    if (line->device >= 0) put_member("device", (uint64_t)line->device);
    if (line->context) put_member_hex("ctx", (uint64_t)(uintptr_t)line->context);
    if (!line->has_stream) return;
    if (line->stream == CU_STREAM_LEGACY)
        put_member_string("stream", "legacy");
    else if (line->stream == CU_STREAM_PER_THREAD)
        put_member_string("stream", "per-thread");
    else
        put_member_hex("stream", (uint64_t)(uintptr_t)line->stream);
}

static void put_what(const struct sim_line *line)
{
    if (line->address) put_member_hex("address", line->address);
    if (line->source) put_member_hex("source", line->source);
    if (line->op == SIM_L_ALLOC || line->op == SIM_L_FREE || line->op == SIM_L_COPY ||
        line->op == SIM_L_MEMSET)
        put_member("bytes", line->bytes);
    if (line->kind) put_member_string("kind", line->kind);
    if (line->pool) put_member_hex("pool", line->pool);
    if (line->name) put_name(line->name);
    if (line->op == SIM_L_LAUNCH) {
        put_triple("grid", line->grid);
        put_triple("block", line->block);
        put_member("shared", line->shared);
    }
    if (line->op == SIM_L_GRAPH_LAUNCH) put_member("nodes", line->nodes);
    if (line->reason) put_member_string("reason", line->reason);
}

void sim_ledger_write(const struct sim_call *call, struct sim_line *line, CUresult result)
{
    static const char *const op_name[] = {"alloc",  "free",         "launch", "copy",
                                          "memset", "graph_launch", "done"};
    static pid_t pid;
    if (!sim.ledger) return;
    if (!pid || sim.forked) pid = getpid();
    if (line->op != SIM_L_DONE) line->seq = next_seq++;
    text.length = 0;
    PUT("{\"seq\":");
    put_number(line->seq);
    put_member_string("op", op_name[line->op]);
    put_member("pid", (uint64_t)pid);
    if (line->op != SIM_L_DONE) {
        put_member("tid", (uint64_t)call->thread->tid);
        put_member_string("api", call->site->name);
        put_where(line);
        put_what(line);
        put_member("result", (uint64_t)result);
    }
    if (line->pending) {
        PUT(",\"start_ns\":null,\"end_ns\":null");
    } else {
        uint64_t now = line->start_ns ? line->start_ns : sim_now();
        put_member("start_ns", now);
        put_member("end_ns", line->end_ns > now ? line->end_ns : now);
    }
    PUT("}\n");
    for (size_t done = 0; done < text.length;) {
        ssize_t n = write(fd, text.data + done, text.length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            perror("simulated driver: SIM_LEDGER");
            sim.ledger = false;
            return;
        }
        done += (size_t)n;
    }
}

static bool open_file(void)
{
    const char *name = getenv("SIM_LEDGER");
    if (!name || !*name) return false;
    char path[4096], *p = path, *end = path + sizeof path - 24;
    for (; *name && p < end; name++) {
        if (name[0] == '%' && name[1] == 'p') {
            p += snprintf(p, 16, "%d", (int)getpid());
            name++;
        } else {
            *p++ = *name;
        }
    }
    *p = 0;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
        fprintf(stderr, "simulated driver: SIM_LEDGER=%s: %s\n", path, strerror(errno));
        return false;
    }
    /* Out of the way of programs that count their descriptors from 3 on, or close them. */
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 512);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    return true;
}

void sim_ledger_open(void)
{
    sim.ledger = open_file();
}

void sim_ledger_fork_child(void)
{
    const char *name = getenv("SIM_LEDGER");
    if (!sim.ledger || !name || !strstr(name, "%p")) return;
    close(fd);
    next_seq = 1;
    sim.ledger = open_file();
}
