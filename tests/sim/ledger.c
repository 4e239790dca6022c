/*
 * The ground truth: one JSON line for each operation, put into a shared mapping of the file before the call
 * returns, so that it is in the file even if the process is killed with SIGKILL in the next instant, without
 * a system call a line. The file is made longer a window at a time, and a fresh window holds nothing but
 * newlines: until the process ends in order, which cuts them off, the file ends in blank lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/sim/internal.h"

enum { WINDOW = 1 << 20 };

static int fd = -1;
static char *window;          /* WINDOW bytes of the file, from window_at on */
static size_t window_at, end; /* end: of the last line */
static uint64_t next_seq = 1;
static pid_t pid;

/* A line under construction. Names of 10 KiB are common, so it grows. */
struct text {
    char *data;
    size_t length, capacity;
};
static struct text text;

/* Makes room for a line with a name of `name` bytes; what puts into it does not look again. */
static void begin_line(size_t name)
{
    size_t most = 2048 + name * 8; /* a byte becomes 6 as an escape and 2 more in hex */
    text.length = 0;
    if (most <= text.capacity) return;
    text.capacity = most;
    text.data = sim_realloc(text.data, most);
}

static inline void put(const char *s, size_t n)
{
    memcpy(text.data + text.length, s, n);
    text.length += n;
}

#define PUT(literal)     put("" literal, sizeof literal - 1)
#define PUT_KEY(literal) PUT(",\"" literal "\":")

static void put_string(const char *s)
{
    put(s, strlen(s));
}

static void put_number(uint64_t v)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434"
        "44546474849505152535455565758596061626364656667686970717273747576777879808182838485868788"
        "8990919293949596979899";
    char digits[20];
    size_t n = sizeof digits;
    for (; v >= 100; v /= 100)
        memcpy(digits + (n -= 2), pairs + v % 100 * 2, 2);
    if (v >= 10)
        memcpy(digits + (n -= 2), pairs + v * 2, 2);
    else
        digits[--n] = (char)('0' + v);
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

static void put_triple(const uint32_t v[3])
{
    for (int i = 0; i < 3; i++) {
        put(i ? "," : "[", 1);
        put_number(v[i]);
    }
    PUT("]");
}

static void put_quoted(const char *s)
{
    PUT("\"");
    put_string(s);
    PUT("\"");
}

#define MEMBER(key, v)        (PUT_KEY(key), put_number(v))
#define MEMBER_HEX(key, v)    (PUT_KEY(key), put_hex(v))
#define MEMBER_STRING(key, v) (PUT_KEY(key), put_quoted(v))
#define MEMBER_TRIPLE(key, v) (PUT_KEY(key), put_triple(v))

static void put_where(const struct sim_line *line)
{
    if (line->device >= 0) MEMBER("device", (uint64_t)line->device);
    if (line->context) MEMBER_HEX("ctx", (uint64_t)(uintptr_t)line->context);
    if (!line->has_stream) return;
    if (line->stream == CU_STREAM_LEGACY)
        MEMBER_STRING("stream", "legacy");
    else if (line->stream == CU_STREAM_PER_THREAD)
        MEMBER_STRING("stream", "per-thread");
    else
        MEMBER_HEX("stream", (uint64_t)(uintptr_t)line->stream);
}

static void put_what(const struct sim_line *line)
{
    if (line->address) MEMBER_HEX("address", line->address);
    if (line->source) MEMBER_HEX("source", line->source);
    if (line->op != SIM_L_LAUNCH && line->op != SIM_L_GRAPH_LAUNCH && line->op != SIM_L_EVENT)
        MEMBER("bytes", line->bytes);
    if (line->kind) MEMBER_STRING("kind", line->kind);
    if (line->pool) MEMBER_HEX("pool", line->pool);
    if (line->name) put_name(line->name);
    if (line->op == SIM_L_LAUNCH) {
        MEMBER_TRIPLE("grid", line->grid);
        MEMBER_TRIPLE("block", line->block);
        MEMBER("shared", line->shared);
    }
    if (line->op == SIM_L_GRAPH_LAUNCH) MEMBER("nodes", line->nodes);
    if (line->reason) MEMBER_STRING("reason", line->reason);
}

static bool next_window(void)
{
    if (window) munmap(window, WINDOW);
    window = NULL;
    window_at = end / WINDOW * WINDOW;
    if (ftruncate(fd, (off_t)(window_at + WINDOW)) == 0)
        window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)window_at);
    if (!window || window == MAP_FAILED) {
        perror("simulated driver: SIM_LEDGER");
        window = NULL;
        return sim.ledger = false;
    }
    memset(window + (end - window_at), '\n', WINDOW - (end - window_at));
    return true;
}

/* Copies the line to the file's end. */
static void append(void)
{
    for (size_t done = 0; done < text.length;) {
        if (end - window_at == WINDOW && !next_window()) return;
        size_t n = WINDOW - (end - window_at);
        if (n > text.length - done) n = text.length - done;
        memcpy(window + (end - window_at), text.data + done, n);
        end += n;
        done += n;
    }
}

/* SIM_LEDGER with every %p replaced by the process id. */
static void file_name(char *path, size_t room, const char *suffix)
{
    const char *name = getenv("SIM_LEDGER");
    char *p = path, *limit = path + room - 48;
    for (; *name && p < limit; name++) {
        if (name[0] == '%' && name[1] == 'p') {
            p += snprintf(p, 16, "%d", (int)getpid());
            name++;
        } else {
            *p++ = *name;
        }
    }
    snprintf(p, 32, "%s", suffix);
}

/* One file has one writer, who holds its lock; another process, or a child, writes to the name with .PID
 * after it. */
static bool open_file(void)
{
    const char *name = getenv("SIM_LEDGER");
    char path[4096], suffix[24] = "";
    struct stat st;
    if (!name || !*name) return false;
    for (int try = 0; try < 2; try++) {
        file_name(path, sizeof path, suffix);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0) break;
        int high =
            fcntl(fd, F_DUPFD_CLOEXEC, 512); /* out of the way of programs that count their descriptors */
        if (high >= 0) {
            close(fd);
            fd = high;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) break;
        snprintf(suffix, sizeof suffix, ".%d", (int)getpid());
        close(fd);
        fd = -1;
    }
    if (fd < 0 || fstat(fd, &st) != 0) {
        fprintf(stderr, "simulated driver: SIM_LEDGER=%s: %s\n", path, strerror(errno));
        return false;
    }
    end = (size_t)st.st_size;
    return next_window();
}

void sim_ledger_write(const struct sim_call *call, struct sim_line *line, CUresult result)
{
    static const char *const op_name[] = {"alloc",        "free", "launch", "copy",  "memset",
                                          "graph_launch", "map",  "unmap",  "event", "done"};
    if (!sim.ledger) return;
    if (fd < 0 && !(sim.ledger = open_file())) return;
    if (!pid) pid = getpid();
    if (line->op != SIM_L_DONE) line->seq = next_seq++;
    begin_line(line->name ? strlen(line->name) : 0);
    PUT("{\"seq\":");
    put_number(line->seq);
    MEMBER_STRING("op", op_name[line->op]);
    MEMBER("pid", (uint64_t)pid);
    if (line->op != SIM_L_DONE) {
        MEMBER("tid", (uint64_t)call->thread->tid);
        MEMBER_STRING("api", call->site->name);
        put_where(line);
        put_what(line);
        MEMBER("result", (uint64_t)result);
    }
    if (line->pending) {
        PUT(",\"start_ns\":null,\"end_ns\":null");
    } else {
        uint64_t now = line->start_ns ? line->start_ns : sim_now();
        MEMBER("start_ns", now);
        MEMBER("end_ns", line->end_ns > now ? line->end_ns : now);
    }
    PUT("}\n");
    append();
}

void sim_ledger_open(void)
{
    sim.ledger = open_file();
}

__attribute__((destructor)) static void close_file(void)
{
    pthread_mutex_lock(&sim.lock);
    if (sim.ledger && fd >= 0 && ftruncate(fd, (off_t)end) != 0) perror("simulated driver: SIM_LEDGER");
    sim.ledger = false;
    pthread_mutex_unlock(&sim.lock);
}

/* The parent's file stays the parent's: the child opens its own when it first has something to write. */
void sim_ledger_fork_child(void)
{
    if (!sim.ledger) return;
    munmap(window, WINDOW);
    close(fd);
    window = NULL;
    fd = -1;
    pid = 0;
    next_seq = 1;
}
