/* Opening and closing one capture: its files, the capture file's layout, clock, first rings, writer. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/jsonl_text.h"
#include "preload/drain/meta.h"
#include "preload/drain/state.h"
#include "preload/drain/writer.h"
#include "preload/limits.h"
#include "preload/record/clock.h"
#include "preload/record/device.h"
#include "preload/record/live.h"
#include "preload/record/pages.h"
#include "preload/record/paths.h"
#include "preload/record/record.h"
#include "preload/record/session.h"
#include "preload/record/stacks.h"
#include "preload/record/write.h"
#include "preload/say.h"
#include "preload/signals.h"

#define SLOTS_LIMIT (256u << 20)
#define SLOTS_SMALL (1u << 20) /* with less, no session */
#define SPARE_RINGS 8u         /* made beforehand for threads that have recorded before, at most */

static uint64_t
    generations; /* the last one given out; an ordinary variable, so a child goes on from its parent's */

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

/* The sparse size stays under RLIMIT_FSIZE, which counts holes; of the memory that the program is limited to,
 * rings take a quarter of what is left at most. */
static bool lay_out(struct layout *layout)
{
    uint64_t file_limit = limits_file_bytes(), memory = limits_memory_left();
    uint64_t header = pages_up(sizeof(struct cap_header) + meta_bound() + 1);

    layout->publication = header;
    layout->rings = header + pages_up(2 * sizeof(struct cap_publication));
    layout->strings = layout->rings + pages_up(CAP_RINGS_MAX * sizeof(struct cap_ring));
    layout->stacks = layout->strings + STRINGS_BYTES;
    session.slots_offset = layout->stacks + STACKS_BYTES;
    session.slots_bytes = 0;
    session.slots_limit = SLOTS_LIMIT;
    if (memory / 4 < session.slots_limit) session.slots_limit = pages_down(memory / 4);
    if (file_limit < session.slots_offset + SLOTS_SMALL) return false;
    if (file_limit - session.slots_offset < session.slots_limit)
        session.slots_limit = pages_down(file_limit - session.slots_offset);
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
    header->api_count = hook_api_count;
    header->api_first = session.api_first;
    header->pid = session.pid;
    header->rank = session.rank;
    header->process_start_ticks = process_start();
    header->region = session.region;
    memcpy(header->part_path, session.part.path, sizeof header->part_path);
    memcpy(header->trace_path, session.trace_path, sizeof header->trace_path);
}

/* Where header to stacks of every session are mapped: what a thread that a session ended under may still add
 * to there is another session's then, or nobody's, but never a fault. */
static char *map_place(size_t bytes)
{
    if (session.header && bytes <= session.map_bytes) return (char *)session.header;
    void *place =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) return NULL;
    session.map_bytes = bytes;
    return place;
}

static int map_file(const struct layout *layout)
{
    size_t bytes = layout->stacks + STACKS_BYTES;
    char *map = map_place(bytes);

    if (!map) return errno;
    if (!file_map(&session.capture, map, bytes, 0)) return errno;
    session.header = (struct cap_header *)map;
    session.publication = (struct cap_publication *)(map + layout->publication);
    session.rings = (struct cap_ring *)(map + layout->rings);
    session.stacks = map + layout->stacks;
    return 0;
}

/* Memory of nobody's takes the place of the file, which stays where that is refused. */
static void unmap_file(void)
{
    if (session.header)
        (void)mmap(session.header, session.map_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* ---- opening ---- */

static char refusal[2048];

static const char *refuse(const char *what, const char *path, int error)
{
    const char *const parts[] = {what, path, ": ", say_error(error)};
    char *out = refusal;

    for (int i = 0; i < 4; i++)
        out = jsonl_bytes(out, parts[i], strnlen(parts[i], 500));
    *out = '\0';
    return refusal;
}

static void remove_files(void)
{
    strings_detach();
    stacks_detach();
    rings_unmap(false);
    unmap_file();
    if (session.capture.path[0]) unlink(session.capture.path);
    unlink(session.part.path);
    file_close(&session.capture);
    file_close(&session.part);
    run_forget();
}

static const char *make_files(void)
{
    struct layout layout;
    const char *path, *wrong;
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
    if (elsewhere && session.number == 1)
        say(session.quiet, "the capture file is kept in ",
            session.capture.path[0] ? session.capture.path : "memory",
            ", because the trace's folder cannot hold it", NULL);
    if ((error = map_file(&layout)) != 0) {
        wrong = refuse("cannot map ", session.capture.path, error);
        remove_files();
        return wrong;
    }
    fill_header(&layout);
    return NULL;
}

/* The cost of one record here, on a slot of no ring: 1024ths of a nanosecond. */
static uint32_t measure_record(void)
{
    enum { ROUNDS = 256 };
    static uint32_t measured;
    struct cap_record slot;
    uint64_t begin, end, sum = 0;

    if (measured) return measured;
    begin = record_tick();
    for (int i = 0; i < ROUNDS; i++) {
        memset(&slot, 0, sizeof slot);
        slot.begin = record_tick();
        slot.ticks = record_tick() - slot.begin;
        __asm__ volatile("" : : "r"(&slot) : "memory");
        sum += slot.ticks;
    }
    end = record_tick();
    (void)sum;
    measured = (uint32_t)((unsigned __int128)(end - begin) * session.header->clock.mult * 1024 >>
                          session.header->clock.shift) /
               ROUNDS;
    return measured;
}

/* Rings for the threads that there are, so that they need not make them in the region. */
static bool make_rings(bool opener)
{
    uint32_t wanted = 1;

    for (struct record_peer *peer = opener ? peer_first() : NULL; peer && wanted < SPARE_RINGS;
         peer = peer->next)
        wanted++;
    if (!ring_prepare(false)) return false;
    while (--wanted > 0)
        ring_prepare(false);
    return true;
}

static void reset(void)
{
    names_reset();
    ranges_rewind();
    peers_rewind();
    session.span_block = CAP_SPAN_REGION + 1;
    session.measured = false;
    session.writer_failed = false;
    memset(session.lost_type, 0, sizeof session.lost_type);
}

static void write_meta(void)
{
    const struct meta_settled nothing = {.phase = session.run.phase == CG_PHASE_SET_TRAIN ? CG_PHASE_TRAIN
                                                                                          : CG_PHASE_INFER};

    *meta_write(session.header->meta, &nothing) = '\0';
}

/* Everything but what belongs to the moment at which the region begins. */
static const char *prepare(uint64_t generation, bool opener)
{
    int error;

    reset();
    deferred_open(generation);
    write_meta(); /* as long as it will be, but for times */
    if (!strings_attach() || !stacks_attach(generation) || !make_rings(opener))
        return refuse("no room for names, stacks and a ring in ", session.capture.path, ENOMEM);
    if ((error = writer_open()) != 0) return refuse("cannot write ", session.part.path, error);
    if (session.comes_and_goes && !live_show(generation, drain_preexisting))
        return refuse("cannot write what is alive into ", session.part.path,
                      writer.error ? writer.error : ENOMEM);
    if (session.comes_and_goes && record_show_storages && !record_show_storages(generation))
        return refuse("cannot write what is alive into ", session.part.path,
                      writer.error ? writer.error : ENOMEM);
    if ((error = drain_opened()) != 0) return refuse("cannot write ", session.part.path, error);
    return NULL;
}

/* Time 0 is now. */
static void begin_time(void)
{
    struct cap_header *header = session.header;
    uint64_t magic;

    session.rate_known = clock_start(&header->clock, &header->first);
    header->last = header->first;
    writer.state.clock = header->clock;
    atomic_store_explicit(&session.opened, header->clock.tick0, memory_order_relaxed);
    run_describe_time(header->first.realtime_ns);
    session.record_ns_1024 = measure_record();
    write_meta();
    memcpy(&magic, CAP_MAGIC, sizeof magic);
    /* Release: the magic last, so that a file which has it is whole. */
    atomic_store_explicit((_Atomic uint64_t *)(void *)header->magic, magic, memory_order_release);
}

const char *session_open(const struct capture_request *request, const struct cap_region *region,
                         struct record_thread *thread)
{
    SIGNALS_HELD;
    uint64_t begin = record_tick(), generation = ++generations;
    const char *wrong;
    int error;

    session.number++;
    session.output = request->output;
    session.region = *region;
    if ((error = run_describe(request)) != 0)
        return refuse("no memory for what the run says of itself", "", error);
    wrong = make_files();
    if (wrong) {
        run_forget();
        return wrong;
    }
    wrong = prepare(generation, thread != NULL);
    if (wrong) {
        deferred_open(0);
        remove_files();
        return wrong;
    }
    writer_start();
    session.run.synchronised = request->synchronised;
    begin_time();
    record_device_reset(generation, &session.header->clock);
    session.generation = generation;
    session.stack_ticks = peers_cost_ticks(RECORD_COST_STACKS);
    /* The opener's open ranges may begin in its ring now; other threads join when the state says so. Release:
     * one that has read the state in the session before may join already, and finds all of this one. */
    atomic_store_explicit(&record_page->generation, generation, memory_order_release);
    if (thread) ring_acquire(thread, generation, true);
    session.fixed_ns = cap_ns(&session.header->clock, session.header->clock.tick0 + (record_tick() - begin));
    /* Release: all of the session comes before the state that lets other threads in. */
    atomic_store_explicit(&record_page->state, SESSION_OPEN, memory_order_release);
    writer_go();
    return NULL;
}

/* ---- closing ---- */

/* The session is over, and its rings and files are nobody's any more. */
static void give_back(bool leak)
{
    deferred_open(0);
    strings_detach();
    stacks_detach();
    rings_unmap(leak);
    unmap_file();
    file_close(&session.capture);
    file_close(&session.part);
    run_forget();
}

static void add_to_sum(void)
{
    struct session_sum *sum = &session.placed;

    if (sum->traces++ == 0) memcpy(sum->first, session.trace_path, sizeof sum->first);
    for (int type = 0; type < CAP_TYPE_COUNT; type++)
        sum->records += writer.state.written.records[type];
    sum->lost += writer.end.lost;
    sum->overhead_ns += writer.end.overhead_ns;
    sum->time_ns += writer.end_ns + session.fixed_ns; /* opening is before time 0 */
}

/* Nobody is in it any more: drained, ended, given back. *stuck: the writer still works on it. */
static bool close_one(const struct session_end *end, bool *stuck)
{
    struct session_end closing = *end;
    uint64_t generation = session.generation, calls = 0;
    bool left = false;

    /* Sequentially consistent: before the loads of what the threads are at (rings_leave). */
    atomic_store(&record_page->generation, RECORD_GENERATION_NONE);
    if (session.comes_and_goes) left = rings_leave(generation, &calls);
    if (left) closing.last = record_tick();
    atomic_fetch_add_explicit(&session.header->gaps[CAP_GAP_STRADDLING], calls, memory_order_relaxed);
    record_device_drain(end->limit_ms / 2);
    /* Between sessions there is no thread of ours: a process ends with its last one, which must be its own.
     */
    if (session.comes_and_goes && record_backend_thread) record_device_retire();
    *stuck = !writer_finish(&closing);
    if (*stuck) return false;
    if (!writer.error) add_to_sum();
    if (session.comes_and_goes) give_back(!left);
    return !writer.error;
}

bool session_close(const struct session_end *end)
{
    bool stuck, done = close_one(end, &stuck);

    /* Release: the session is put away before another one can begin. */
    atomic_store_explicit(&record_page->state,
                          stuck || !session.comes_and_goes ? SESSION_ENDED : SESSION_WAITING,
                          memory_order_release);
    return done;
}
