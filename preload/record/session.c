/* Opening a session: files, the capture file's layout, clock, first ring, writer. */
#include "preload/record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/jsonl_text.h"
#include "preload/drain/meta.h"
#include "preload/drain/writer.h"
#include "preload/record/clock.h"
#include "preload/record/device.h"
#include "preload/record/live.h"
#include "preload/record/lock.h"
#include "preload/record/paths.h"
#include "preload/record/record.h"
#include "preload/say.h"

#define PAGE          4096u
#define STRINGS_BYTES (16u << 20)
#define STACKS_BYTES  (16u << 20)
#define SLOTS_LIMIT   (256u << 20)
#define SLOTS_SMALL   (1u << 20) /* with less, no session */

struct session session = {.rank = -1};

static struct record_page first_page; /* until the constructor has the real one */
struct record_page *record_page = &first_page;

static uint64_t
    generations; /* the last one given out; an ordinary variable, so a child goes on from its parent's */

static uint64_t up(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* ---- who we are ---- */

static void describe_host(void)
{
    if (gethostname(session.host, sizeof session.host - 1)) strcpy(session.host, "localhost");
    session.host[sizeof session.host - 1] = '\0';
    for (char *c = session.host; *c; c++)
        if (*c == '/') *c = '_';
}

static void describe_entrypoint(void)
{
    const char *name = session.settings.entrypoint;
    bool blank = true;

    if (!*name) name = program_invocation_short_name;
    for (const char *c = name; *c; c++)
        blank &= *c == ' ' || (*c >= '\t' && *c <= '\r');
    if (blank) name = "program";
    size_t length = jsonl_prefix(name, strlen(name), sizeof session.entrypoint - 1);
    memcpy(session.entrypoint, name, length);
    session.entrypoint[length] = '\0';
}

static char *put_padded(char *out, unsigned value, unsigned width)
{
    for (unsigned i = width; i-- > 0; value /= 10)
        out[i] = (char)('0' + value % 10);
    return out + width;
}

/* doc/spec/trace.md 13.7. Days to a date: Hinnant, "chrono-Compatible Low-Level Date Algorithms",
 * civil_from_days. */
static void describe_time(int64_t realtime_ns)
{
    uint64_t ms = (uint64_t)realtime_ns / 1000000, day = ms / 86400000 + 719468, rest = ms % 86400000;
    unsigned era = (unsigned)(day / 146097), of_era = (unsigned)(day % 146097);
    unsigned year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned shifted = (5 * of_year + 2) / 153, month = shifted < 10 ? shifted + 3 : shifted - 9;
    char *out = put_padded(session.timestamp, year_of_era + era * 400 + (month <= 2), 4);

    *out++ = '-';
    out = put_padded(out, month, 2);
    *out++ = '-';
    out = put_padded(out, of_year - (153 * shifted + 2) / 5 + 1, 2);
    *out++ = 'T';
    out = put_padded(out, (unsigned)(rest / 3600000), 2);
    *out++ = ':';
    out = put_padded(out, (unsigned)(rest / 60000 % 60), 2);
    *out++ = ':';
    out = put_padded(out, (unsigned)(rest / 1000 % 60), 2);
    *out++ = '.';
    out = put_padded(out, (unsigned)(rest % 1000), 3);
    strcpy(out, "Z");

    out = jsonl_literal(session.run_id, "run-");
    out = jsonl_u64(out, (uint64_t)session.pid);
    *out++ = '-';
    *jsonl_u64(out, (uint64_t)realtime_ns) = '\0';
}

/* /proc/self/stat field 22; 0 when it cannot be read. */
static uint64_t process_start(void)
{
    char text[1024], *at;
    uint64_t value = 0;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (fd >= 0) close(fd);
    if (length <= 0) return 0;
    text[length] = '\0';
    at = strrchr(text, ')'); /* a name may hold blanks and brackets; field 3 follows the last */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    for (; at && at[1] >= '0' && at[1] <= '9'; at++)
        value = value * 10 + (uint64_t)(at[1] - '0');
    return value;
}

/* ---- the file ---- */

struct layout {
    uint64_t publication, rings, strings, stacks;
};

/* The sparse size stays under RLIMIT_FSIZE, which counts holes. */
static bool lay_out(struct layout *layout)
{
    struct rlimit limit;
    uint64_t header = up(sizeof(struct cap_header) + meta_bound() + 1);

    layout->publication = header;
    layout->rings = header + up(2 * sizeof(struct cap_publication));
    layout->strings = layout->rings + up(CAP_RINGS_MAX * sizeof(struct cap_ring));
    layout->stacks = layout->strings + STRINGS_BYTES;
    session.slots_offset = layout->stacks + STACKS_BYTES;
    session.slots_bytes = 0;
    session.slots_limit = SLOTS_LIMIT;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY) return true;
    if (limit.rlim_cur < session.slots_offset + SLOTS_SMALL) return false;
    if (limit.rlim_cur - session.slots_offset < SLOTS_LIMIT)
        session.slots_limit = (limit.rlim_cur - session.slots_offset) & ~(uint64_t)(PAGE - 1);
    return true;
}

/* The parent's capture file, in a forked child: its strings are wanted once more. */
static struct {
    struct cap_header *header;
    size_t bytes;
} parent;

static bool write_names(void)
{
    struct cap_header *header = session.header;

    header->api_count = hook_api_count;
    if (parent.header) {
        header->api_first = parent.header->api_first;
        return strings_inherit((const char *)parent.header + parent.header->strings_offset,
                               atomic_load_explicit(&parent.header->strings_used, memory_order_acquire));
    }
    strings_append("", 0, 0);
    header->api_first = (uint32_t)(atomic_load_explicit(&header->strings_used, memory_order_relaxed) / 8);
    for (uint32_t i = 0; i < hook_api_count; i++)
        if (!strings_append(hook_api_names[i], strlen(hook_api_names[i]), 0)) return false;
    return true;
}

static void fill_header(const struct layout *layout)
{
    struct cap_header *header = session.header;

    record_early_gaps();
    header->version = CAP_VERSION;
    header->endian = CAP_ENDIAN;
    header->file_bytes = session.slots_offset + session.slots_limit;
    header->publication_offset = layout->publication;
    header->rings_offset = layout->rings;
    header->strings_offset = layout->strings;
    header->strings_bytes = STRINGS_BYTES;
    header->stacks_offset = layout->stacks;
    header->stacks_bytes = STACKS_BYTES;
    header->pid = session.pid;
    header->rank = session.rank;
    header->process_start_ticks = process_start();
    memcpy(header->part_path, session.part.path, sizeof header->part_path);
    memcpy(header->trace_path, session.trace_path, sizeof header->trace_path);
}

static int map_file(const struct layout *layout)
{
    size_t bytes = layout->stacks + STACKS_BYTES;
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_descriptor(&session.capture), 0);

    if (map == MAP_FAILED) return errno;
    session.map_bytes = bytes;
    session.header = (struct cap_header *)map;
    session.publication = (struct cap_publication *)(map + layout->publication);
    session.rings = (struct cap_ring *)(map + layout->rings);
    session.strings = map + layout->strings;
    return 0;
}

/* ---- opening ---- */

static bool refuse(const char *what, const char *path, int error)
{
    say(session.quiet, what, path, ": ", say_error(error), "; the program runs unprofiled", NULL);
    return false;
}

static void remove_files(void)
{
    if (session.capture.path[0]) unlink(session.capture.path);
    unlink(session.part.path);
    file_close(&session.capture);
    file_close(&session.part);
}

static bool make_files(void)
{
    struct layout layout;
    const char *path;
    bool elsewhere;
    int error;

    if (!lay_out(&layout))
        return refuse("the limit of file sizes (RLIMIT_FSIZE) leaves no room for a capture", "", EFBIG);
    if ((error = paths_create_part(&path)) != 0) return refuse("cannot create ", path, error);
    error = paths_create_capture(layout.strings, &elsewhere);
    if (error) {
        unlink(session.part.path);
        file_close(&session.part);
        return refuse("cannot create the capture file beside ", session.trace_path, error);
    }
    if (elsewhere)
        say(session.quiet, "the capture file is kept in ",
            session.capture.path[0] ? session.capture.path : "memory",
            ", because the trace's folder cannot hold it", NULL);
    if ((error = map_file(&layout)) != 0) {
        remove_files();
        return refuse("cannot map ", session.capture.path, error);
    }
    fill_header(&layout);
    return true;
}

/* What a child has from its parent and must not touch. */
static void forget_parent(void)
{
    if (session.pid == 0) return;
    for (unsigned i = 0; i < CAP_RINGS_MAX && session.views[i].slots; i++)
        munmap(session.views[i].slots, (session.rings[i].slots) * (size_t)CAP_SLOT);
    parent.header = session.header;
    parent.bytes = session.map_bytes;
    session.header = NULL;
    file_close(&session.capture);
    file_close(&session.part);
    memset(session.views, 0, sizeof session.views);
}

/* The cost of one record here, on a slot of no ring. */
static uint32_t measure_record(void)
{
    enum { ROUNDS = 256 };
    struct cap_record slot;
    uint64_t begin = record_tick(), end, sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        memset(&slot, 0, sizeof slot);
        slot.begin = record_tick();
        slot.ticks = record_tick() - slot.begin;
        __asm__ volatile("" : : "r"(&slot) : "memory");
        sum += slot.ticks;
    }
    end = record_tick();
    (void)sum;
    return (uint32_t)((unsigned __int128)(end - begin) * session.header->clock.mult * 1024 >>
                      session.header->clock.shift) /
           ROUNDS;
}

static bool fill_session(void)
{
    struct cap_header *header = session.header;
    const struct meta_settled nothing = {
        .phase = session.settings.phase == CG_PHASE_SET_TRAIN ? CG_PHASE_TRAIN : CG_PHASE_INFER};
    uint64_t magic;
    int error;

    live_reset();
    deferred_reset();
    ranges_reset();
    names_reset();
    session.span_block = CAP_SPAN_REGION + 1;
    session.storage = 0;
    session.writer_failed = false;
    memset(session.lost_type, 0, sizeof session.lost_type);
    if (!strings_reset() || !write_names())
        return refuse("no room for names in ", session.capture.path, ENOMEM);
    session.rate_known = clock_start(&header->clock, &header->first);
    header->last = header->first;
    describe_time(header->first.realtime_ns);
    session.record_ns_1024 = measure_record();
    *meta_write(header->meta, &nothing) = '\0';
    if (!ring_prepare(false)) return refuse("no room for a ring in ", session.capture.path, ENOMEM);
    if ((error = writer_open()) != 0) return refuse("cannot write ", session.part.path, error);
    memcpy(&magic, CAP_MAGIC, sizeof magic);
    /* Release: the magic last, so that a file which has it is whole. */
    atomic_store_explicit((_Atomic uint64_t *)(void *)header->magic, magic, memory_order_release);
    return true;
}

static bool open_locked(void)
{
    char error[512];
    uint64_t begin = record_tick();
    const char *wrong = NULL;

    forget_parent();
    session.pid = getpid();
    if (session.settings.disable) return false;
    if (!session.settings_good) wrong = session.settings_error;
    session.rank = settings_rank();
    if (!wrong && session.rank >= 0 && !settings_has_rank(session.settings.ranks, (uint32_t)session.rank))
        return false;
    if (!wrong) wrong = meta_read_files(error, sizeof error);
    if (wrong) {
        say(session.quiet, wrong, "; the program runs unprofiled", NULL);
        return false;
    }
    session.families = session.settings.record;
    describe_host();
    describe_entrypoint();
    if (!make_files()) return false;
    bool filled = fill_session();
    if (parent.header) munmap(parent.header, parent.bytes);
    parent.header = NULL;
    if (!filled) {
        remove_files();
        return false;
    }
    session.fixed_ns = cap_ns(&session.header->clock, session.header->clock.tick0 + (record_tick() - begin));
    return true;
}

bool session_open(void)
{
    bool open;

    session_load();
    lock_take(&record_page->open_lock);
    if (atomic_load_explicit(&record_page->state, memory_order_relaxed) == SESSION_CLOSED) {
        if (open_locked()) {
            record_device_reset(++generations, &session.header->clock);
            atomic_store_explicit(&record_page->generation, generations, memory_order_relaxed);
            /* Release: all of the session comes before the state that lets other threads in. */
            atomic_store_explicit(&record_page->state, SESSION_OPEN, memory_order_release);
            writer_start();
        } else {
            atomic_store_explicit(&record_page->state, SESSION_DISABLED, memory_order_relaxed);
        }
    }
    open = atomic_load_explicit(&record_page->state, memory_order_relaxed) == SESSION_OPEN;
    lock_give(&record_page->open_lock);
    return open;
}

/* ---- loading ---- */

static void child_page(void)
{
    /* A fork inside a hook returns through it in the child: no slot of the parent's may be written there. */
    record_self.check_at = 0;
}

static void child_page_by_hand(void)
{
    child_page();
    memset(record_page, 0, sizeof *record_page);
}

/* Early: other libraries' constructors may record before this one's turn (session_open() calls it then). */
__attribute__((constructor(101))) void session_load(void)
{
    static bool loaded;
    const char *quiet = getenv("CGTRACE_QUIET");

    if (loaded) return;
    loaded = true;
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool wiped = page != MAP_FAILED && madvise(page, PAGE, MADV_WIPEONFORK) == 0;

    say_init();
    clock_choose();
    ring_init();
    session.settings_good =
        settings_read(&session.settings, session.settings_error, sizeof session.settings_error);
    session.quiet = quiet && strcmp(quiet, "1") == 0;
    if (page != MAP_FAILED) record_page = page;
    pthread_atfork(NULL, NULL, wiped ? child_page : child_page_by_hand);
}
