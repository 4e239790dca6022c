/* Threads that allocate, free and nest ranges through preload/record/record.h without pause, while the first
 * thread opens and closes sessions under them.
 *
 * usage: stress THREADS SESSIONS [fences|refused]; prints how many were captured. With a word the kernel
 * refuses membarrier: from the start, or behind the first session. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/record/capture_session.h"
#include "preload/record/record.h"

enum { MALLOC, FREE, LAUNCH };
const char *const hook_api_names[] = {"cuMemAlloc_v2", "cuMemFree_v2", "cuLaunchKernel"};
const uint32_t hook_api_count = 3;

enum { HELD = 512, SHARED = 256 };

static _Atomic bool stop;
static _Atomic uint64_t next_address = 0x10000;
/* Storages that any thread may free; 0: none. */
static _Atomic uint64_t shared[SHARED];

static uint64_t allocate(uint64_t bytes)
{
    uint64_t address = atomic_fetch_add(&next_address, 0x100);
    struct record_call call;

    if (record_enter_followed(&call, MALLOC)) {
        call.device = 0;
        if (bytes % 64 == 0) usleep(100); /* the real call may take long */
        record_alloc(&call, 0, CAP_MEMORY_DEVICE, address, bytes, 0, 7);
    }
    return address;
}

static void release(uint64_t address, bool slow)
{
    struct record_call call;
    struct record_storage storage;

    if (!record_enter_followed(&call, FREE)) return;
    call.device = 0;
    record_free_begin(&call, address, &storage);
    if (slow) usleep(300);
    record_free(&call, slow && address % 0x1000 == 0 ? 1 : 0, &storage, 0);
    if (slow && address % 0x1000 == 0) release(address, false); /* it failed: once more */
}

static void launch(uint32_t name)
{
    const struct record_launch what = {.name = name, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    struct record_call call;

    if (!record_enter(&call, LAUNCH)) return;
    call.device = 0;
    record_launch(&call, 0, &what);
}

static void push(const char *name, uint32_t stack)
{
    struct record_range range = {.stack = (uint16_t)stack};
    struct record_call call;

    if (!record_enter_followed(&call, 0)) return;
    range.name = record_text(name);
    record_range_push(&call, &range);
}

static void pop(uint32_t stack)
{
    struct record_call call;

    if (record_enter_end(&call, 0)) record_range_pop(&call, stack);
}

static uint32_t random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void *work(void *argument)
{
    uint64_t state = (uintptr_t)argument, held[HELD] = {0};
    uint32_t depth = 0;

    while (!stop) {
        uint32_t dice = random_of(&state), at = random_of(&state) % HELD;

        switch (dice % 8) {
        case 0:
        case 1:
        case 2:
            if (held[at]) release(held[at], dice % 512 == 0);
            held[at] = held[at] ? 0 : allocate(dice % 4096 + 1);
            break;
        case 3: {
            uint64_t given = allocate(64), taken = atomic_exchange(&shared[at % SHARED], given);

            if (taken) release(taken, dice % 512 == 3);
            break;
        }
        case 4:
            if (depth < 5) {
                push(dice % 16 < 8 ? "forward" : "layer", dice % 3);
                depth++;
            }
            break;
        case 5:
            if (depth > 0) {
                pop(dice % 3);
                depth--;
            }
            break;
        default:
            launch(0);
        }
        if (dice % 16 == 0) usleep(300);
    }
    for (int i = 0; i < HELD; i++)
        if (held[i]) release(held[i], false);
    return NULL;
}

/* A thread that comes and goes beside them. */
static void *visit(void *unused)
{
    uint64_t address = allocate(99);

    push("visit", 0);
    launch(0);
    if ((address & 0x100) != 0) pop(0);
    release(address, false);
    return unused;
}

static void pause_us(long us)
{
    const struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

static void refuse_membarrier(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)) {
        perror("seccomp");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 8,
             sessions = argc > 2 ? (unsigned)atoi(argv[2]) : 200;
    pthread_t *all = calloc(threads, sizeof *all), visitor;
    unsigned captured = 0, number = 0;

    const char *refused = argc > 3 ? argv[3] : "";

    if (strcmp(refused, "fences") == 0) refuse_membarrier();
    if (!all || capture_explicit_only() != CAPTURE_DONE) return 1;
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, work, (void *)(uintptr_t)(i + 1))) return 1;
    pause_us(20000);
    for (; number < sessions; number++) {
        const struct capture_request request = {
            .region = "step", .capture_step = number + 1, .warmup_steps = UINT64_MAX, .own_region = false};

        push("around", 9);
        if (capture_begin(&request) != CAPTURE_DONE) {
            fprintf(stderr, "begin: %s\n", capture_error());
            return 1;
        }
        if (pthread_create(&visitor, NULL, visit, NULL)) return 1;
        push("inside", 0);
        launch(0);
        pause_us((long)(number % 7) * 300);
        pop(0);
        pthread_join(visitor, NULL);
        if (capture_end(false, NULL, NULL, 0) == CAPTURE_DONE)
            captured++;
        else
            fprintf(stderr, "end: %s\n", capture_error());
        pop(9);
        pause_us(500);
        if (number == 0 && strcmp(refused, "refused") == 0) refuse_membarrier();
    }
    stop = true;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    for (unsigned i = 0; i < SHARED; i++)
        if (shared[i]) release(shared[i], false);
    free(all);
    printf("captured %u\n", captured);
    return 0;
}
