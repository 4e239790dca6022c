/* A program that records through preload/record/record.h without any driver: the tests' hand on the recording
 * core.
 *
 * usage: drive COMMAND [N...]; what it did is printed as `key value` lines. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/record/record.h"

enum { MALLOC, FREE, LAUNCH, COPY, SYNC, RESET };
const char *const hook_api_names[] = {"cuMemAlloc_v2",       "cuMemFree_v2",
                                      "cuLaunchKernel_ptsz", "cuMemcpyHtoD_v2_ptds",
                                      "cuCtxSynchronize",    "cuDevicePrimaryCtxReset_v2"};
const uint32_t hook_api_count = sizeof hook_api_names / sizeof *hook_api_names;

static uint32_t intern(const char *text)
{
    return record_string(text, strlen(text));
}

static void allocate(uint64_t address, uint64_t bytes, int result)
{
    struct record_call call;

    if (!record_enter(&call, MALLOC)) return;
    call.device = 0;
    record_alloc(&call, result, CAP_MEMORY_DEVICE, address, bytes, 0, 77);
}

static void release(uint64_t address, int result)
{
    struct record_call call;
    struct record_storage storage;

    if (!record_enter(&call, FREE)) return;
    call.device = 0;
    record_free_begin(&call, address, &storage);
    record_free(&call, result, &storage, 0);
}

static void launch(uint32_t name, uint32_t stream)
{
    const struct record_launch what = {name, {2, 3, 4}, {32, 2, 1}, 48, stream};
    struct record_call call;

    if (!record_enter(&call, LAUNCH)) return;
    call.device = 0;
    record_launch(&call, 0, &what);
}

static void synchronise(void)
{
    struct record_call call;

    if (!record_enter(&call, SYNC)) return;
    call.device = 0;
    record_op(&call, 0, 0, 0);
}

static uint64_t begin_span(enum cap_span_source source, uint32_t name)
{
    const struct record_range range = {.name = name};
    struct record_call call;
    uint64_t span;

    if (!record_enter_followed(&call, 0)) return 0;
    span = record_span_open(&call, source, &range);
    record_leave(&call);
    return span;
}

static void end_span(uint64_t span)
{
    struct record_call call;

    if (span == 0 || !record_enter_end(&call, 0)) return;
    if (record_span_close_explicit(&call, span) >= RECORD_SPAN_NOT_OPEN)
        record_gap(RECORD_GAP_UNKNOWN_SPAN_END, 1);
    record_leave(&call);
}

/* One of everything, in a known order. */
static void everything(void)
{
    struct record_call call;
    uint64_t outer, inner;
    uint32_t stream, kernel;

    record_device(0, "Simulated \"device\"", 1u << 30);
    record_driver(13000);
    allocate(0x1000, 4096, 0);
    stream = intern("stream:1");
    kernel = intern("_Z6kernelPf");
    outer = begin_span(CAP_SOURCE_API, intern("trainer/update-000000000010/forward"));
    launch(kernel, stream);
    inner = begin_span(CAP_SOURCE_NVTX, intern("layer\n\"1\"\\\x01 \xff\xc3\xa9"));
    allocate(0x2000, 100, 0);
    end_span(inner);
    end_span(inner); /* not open any more */
    allocate(0x3000, UINT64_C(1) << 60, 2);
    if (record_enter(&call, COPY)) {
        call.device = 0;
        record_sample(&call, 0, 10, 90, UINT64_MAX, 100);
        record_copy(&call, 0, RECORD_COPY_HTOD, 0x1000, 0x9000, 4096, stream);
    }
    end_span(outer);
    outer = begin_span(CAP_SOURCE_API, intern("backward"));
    release(0x2000, 0);
    release(0x2000, 0);   /* not known any more */
    release(0x1000, 700); /* fails: lives on */
    end_span(outer);
    if (record_enter(&call, RESET)) {
        call.device = 0;
        record_owner_end(&call, 77, CAP_END_PRIMARY_RESET);
        record_op(&call, 0, 0, 0);
    }
    allocate(0x4000, 8, 0); /* retained */
    begin_span(CAP_SOURCE_API, intern("never ended"));
    synchronise();
}

/* ---- threads ---- */

struct work {
    pthread_t thread;
    unsigned index, count, limit;
};

static void *work(void *argument)
{
    const struct work *work = argument;
    char name[32];
    uint32_t kernel;
    uint64_t span = 0;

    synchronise(); /* opens the session, so that the names below are kept */
    snprintf(name, sizeof name, "kernel_%u", work->index);
    kernel = intern(name);
    for (unsigned i = 0; i < work->count; i++) {
        uint64_t address = ((uint64_t)work->index + 1) << 40 | (uint64_t)i << 8;

        if (i % 16 == 0) span = begin_span(CAP_SOURCE_API, kernel);
        switch (i % 4) {
        case 0:
            allocate(address, i, 0);
            break;
        case 3:
            release(address - (3 << 8), 0);
            break;
        default:
            launch(kernel, 0);
        }
        if (i % 16 == 15) end_span(span);
    }
    return NULL;
}

static void threads(unsigned count, unsigned records)
{
    struct work *all = calloc(count, sizeof *all);

    if (!all) exit(1);
    for (unsigned i = 0; i < count; i++) {
        all[i].index = i;
        all[i].count = records;
        pthread_create(&all[i].thread, NULL, work, &all[i]);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(all[i].thread, NULL);
    free(all);
}

/* ---- journals: what each thread has committed, told through standard output ---- */

struct journal_line {
    uint32_t thread, number;
};
/* Of all threads together; then they wait for the end, which comes late on a busy machine. */
enum { JOURNAL_NUMBERS = 16000 };
static _Atomic bool told;

/* All records of one number: a launch (grid x: number, block x: thread), every 8th time a graph of several
 * slots, every 4th an allocation of `number` bytes, and its free two numbers later. */
static void write_number(uint32_t kernel, uint32_t thread, uint32_t number)
{
    const struct record_launch what = {kernel, {number, 1, 1}, {thread, 1, 1}, 0, 0};
    struct record_graph graph = {.number = number, .node_count = CAP_NODE_TYPE_COUNT, .kernel_count = 1};
    struct record_call call;

    if (record_enter(&call, LAUNCH)) record_launch(&call, 0, &what);
    if (number % 8 == 0) {
        for (unsigned i = 0; i < graph.node_count; i++)
            graph.nodes[i] = (uint64_t)i << 32 | (number + i);
        graph.kernels[0] = (uint64_t)kernel << 32 | thread;
        if (record_enter(&call, SYNC)) record_graph(&call, 0, &graph);
    }
    if (number % 4 == 0) allocate((uint64_t)thread << 40 | (uint64_t)number << 8, number, 0);
    if (number % 4 == 2 && number > 2) release((uint64_t)thread << 40 | (uint64_t)(number - 2) << 8, 0);
}

/* Numbers from 1 to the limit; every `count`th goes to standard output once it is committed. */
static void journal_to(const struct work *work)
{
    struct journal_line line = {work->index + 1, 0};

    synchronise();
    uint32_t kernel = intern("numbered");
    while (line.number < work->limit) {
        write_number(kernel, line.thread, ++line.number);
        if (line.number % work->count != 0) continue;
        if (write(STDOUT_FILENO, &line, sizeof line) != sizeof line) return;
        atomic_store(&told, true);
    }
}

static void *journal(void *argument)
{
    journal_to(argument);
    while (true)
        pause();
    return NULL;
}

static struct work *start_journals(unsigned count, unsigned every)
{
    struct work *all = calloc(count, sizeof *all);

    if (!all) exit(1);
    for (unsigned i = 0; i < count; i++) {
        all[i].index = i;
        all[i].count = every;
        all[i].limit = JOURNAL_NUMBERS / count;
        pthread_create(&all[i].thread, NULL, journal, &all[i]);
    }
    return all;
}

static void journals(unsigned count, unsigned every)
{
    struct work *all = start_journals(count, every);

    for (unsigned i = 0; i < count; i++)
        pthread_join(all[i].thread, NULL);
}

/* A child's journal is told as that of this thread. */
enum { CHILD_THREAD = 1000, CHILD_NUMBERS = 1000 };

/* What is told behind this may have come too late for the trace. */
static void tell_end(void)
{
    const struct journal_line line = {0, 0};

    if (write(STDOUT_FILENO, &line, sizeof line) != sizeof line) exit(1);
}

/* The child works on; then it returns from main(), or is killed in the midst. */
static int forked(unsigned every, bool killed)
{
    struct work work = {.index = CHILD_THREAD - 1, .count = every, .limit = CHILD_NUMBERS};
    pid_t pid = fork();

    if (pid == 0) {
        journal_to(&work);
        if (killed) raise(SIGKILL);
        return 0;
    }
    waitpid(pid, NULL, 0);
    tell_end();
    _exit(0);
}

/* Journals that go on while this thread ends the process in the way named, after so many microseconds. */
static int die(const char *how, unsigned count, unsigned every, unsigned microseconds)
{
    synchronise();
    start_journals(count, every);
    while (!atomic_load(&told))
        usleep(50);
    usleep(microseconds);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "_exit") == 0) {
        tell_end();
        _exit(7);
    }
    if (strcmp(how, "exec") == 0) execl("/bin/true", "true", (char *)NULL);
    if (strcmp(how, "fork") == 0) return forked(every, false);
    if (strcmp(how, "fork-kill") == 0) return forked(every, true);
    return 2;
}

/* A child that meets a string before it records anything, behind one of its parent's; the parent is killed.
 */
static void strings_of_two(void)
{
    int go[2];
    char byte = 0;

    synchronise();
    if (pipe(go) != 0) exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        if (read(go[0], &byte, 1) >= 0) intern("of the child");
        _exit(0);
    }
    launch(intern("of the parent"), 0);
    close(go[1]);
    waitpid(pid, NULL, 0);
    raise(SIGKILL);
}

/* ---- a signal handler that records, whatever its thread is at ---- */

static uint32_t handler_name;
static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    handled++;
    launch(handler_name, 0);
}

static void signals(unsigned count)
{
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

    synchronise();
    uint32_t name = intern("loop");
    handler_name = intern("handler");
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; i < count; i++) {
        launch(name, 0);
        /* As much time outside of calls as in them. */
        for (volatile unsigned k = 0; k < 100 && i & 1024; k++)
            continue;
        if (i % 64 == 0) end_span(begin_span(CAP_SOURCE_API, name));
    }
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN);
    printf("handled %d\n", (int)handled);
}

/* ---- a signal handler that never goes back to what it has interrupted ---- */

static sigjmp_buf out;
enum left { LEFT_HOOK, LEFT_SLOT, LEFT_QUICK, LEFT_COUNT };

static void jump_out(int number)
{
    (void)number;
    siglongjmp(out, 1);
}

__attribute__((noinline)) static void leave_call(enum left how)
{
    struct record_call call;
    struct record_plain plain;
    bool inside = how == LEFT_QUICK ? record_enter_plain(&plain) : record_enter(&call, LAUNCH);

    if (inside && how == LEFT_SLOT) inside = ring_slot(call.thread, RING_MAY_DROP) != NULL;
    if (inside) raise(SIGUSR1);
    puts("not left");
}

/* Lower than the frames of launch_here(), however they come out. */
__attribute__((noinline)) static void leave_low_call(enum left how)
{
    volatile char room[1024];

    room[0] = 0;
    leave_call(how);
    room[1] = room[0];
}

__attribute__((noinline)) static void launch_here(uint32_t name)
{
    launch(name, 0);
}

/* From deeper than the call that was left: as far as anybody can tell, from inside of it. */
__attribute__((noinline)) static void launch_deeper(uint32_t name)
{
    volatile char room[4096];

    room[0] = 0;
    launch_here(name);
    room[1] = room[0];
}

static void jumps(unsigned count)
{
    synchronise();
    const uint32_t here = intern("here"), deeper = intern("deeper");
    signal(SIGUSR1, jump_out);
    for (volatile unsigned i = 0; i < count * LEFT_COUNT; i++) {
        if (sigsetjmp(out, 1) == 0) leave_low_call(i % LEFT_COUNT);
        launch_deeper(deeper);
        launch_here(here);
        launch_deeper(deeper);
    }
}

/* As many open spans as asked for, begun and ended over and over in a ring that is full: none may stay open.
 */
static void full_ring(unsigned count)
{
    uint64_t address = 0x100000;

    for (unsigned i = 0; i < count; i++) {
        uint64_t outer = begin_span(CAP_SOURCE_API, intern("outer"));

        allocate(address + ((uint64_t)i << 8), 256, 0);
        for (int k = 0; k < 8; k++)
            launch(0, 0);
        uint64_t inner = begin_span(CAP_SOURCE_API, intern("inner"));
        release(address + ((uint64_t)i << 8), 0);
        end_span(inner);
        end_span(outer);
    }
}

/* All descriptors that we do not know are closed, and a file of ours takes their numbers. By system calls:
 * that others' are closed under them is what this is about, and not for a sanitizer to report. */
static void close_all(void)
{
    synchronise();
    for (int fd = 3; fd < 1024; fd++)
        syscall(SYS_close, fd);
    for (int fd = 3; fd < 600; fd++)
        syscall(SYS_dup, STDOUT_FILENO);
    everything();
}

static void names(void)
{
    char name[3000];

    synchronise();
    memset(name, 'x', sizeof name);
    for (int i = 0; i < 3; i++) {
        launch(record_string(name, sizeof name), 0);
        launch(record_string(name, 256), 0);
        launch(record_string(name, 257), 0);
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        char one[3] = {'a', (char)byte, 'b'};
        launch(record_string(one, 3), 0);
    }
}

/* The exit status of the process. */
static int forks(void)
{
    everything();
    if (fork() == 0) {
        everything();
        return 3;
    }
    wait(NULL);
    everything();
    return 0;
}

static void fork_names(void)
{
    synchronise();
    uint32_t kernel = intern("known before the fork");
    if (fork() == 0) {
        launch(kernel, 0);
        launch(intern("known before the fork"), 0);
        launch(intern("new in the child"), 0);
        exit(0);
    }
    wait(NULL);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    unsigned first = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    unsigned second = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;

    if (strcmp(command, "nothing") == 0) return 0;
    if (strcmp(command, "everything") == 0) {
        everything();
    } else if (strcmp(command, "threads") == 0) {
        threads(first, second);
    } else if (strcmp(command, "names") == 0) {
        names();
    } else if (strcmp(command, "journal") == 0) {
        journals(first, second);
    } else if (strcmp(command, "die") == 0 && argc > 5) {
        return die(argv[5], first, second, (unsigned)strtoul(argv[4], NULL, 10));
    } else if (strcmp(command, "signals") == 0) {
        signals(first);
    } else if (strcmp(command, "jumps") == 0) {
        jumps(first);
    } else if (strcmp(command, "strings-of-two") == 0) {
        strings_of_two();
    } else if (strcmp(command, "full-ring") == 0) {
        full_ring(first);
    } else if (strcmp(command, "close-all") == 0) {
        close_all();
    } else if (strcmp(command, "exec") == 0) {
        everything();
        execl("/bin/true", "true", (char *)NULL);
    } else if (strcmp(command, "_exit") == 0) {
        everything();
        _exit(7);
    } else if (strcmp(command, "quick_exit") == 0) {
        everything();
        quick_exit(8);
    } else if (strcmp(command, "abort") == 0) {
        everything();
        abort();
    } else if (strcmp(command, "fork") == 0) {
        return forks();
    } else if (strcmp(command, "fork-names") == 0) {
        fork_names();
    } else if (strcmp(command, "come-and-go") == 0) {
        for (unsigned i = 0; i < first; i++)
            threads(4, second);
    } else {
        fprintf(stderr, "drive: unknown command '%s'\n", command);
        return 2;
    }
    return 0;
}
