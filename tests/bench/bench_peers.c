/* A span of cgtrace.h against what other tracers record, each drained while it records. A span is two
 * records, its begin and its end: one of them is held against a tracepoint of five fields of LTTng-UST, the
 * whole span against a zone of Tracy. Nanoseconds for one record, or for one span and one zone, as the median
 * of runs. Each is a program of its own (peer_*), run in turns; a peer that is not built, or cannot be run,
 * is skipped. */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/cgtrace.h"
#include "tests/bench/child.h"
#include "tests/bench/peer.h"

/* Runs of a pair: so many, or as many as begin in so long. */
enum { RUNS = 15, RUNS_S = 90 };

static void run_spans(void)
{
    for (int i = 0; i < PEER_COUNT; i++)
        cgtrace_span_end(cgtrace_span_begin("forward"));
}

static int child(void)
{
    if (cgtrace_scalar("recorded?", 0) != CGTRACE_OK) return 1;
    peer_report(run_spans);
    return 0;
}

/* What a child reports; false: it does not run. *alone: whether its rounds had the core alone so far. */
static bool run(const char *command, double *ns, bool *alone)
{
    static const char *const marks[] = {"NS ", "ALONE "};
    double numbers[2];

    child_numbers(command, marks, numbers, 2);
    *ns = numbers[0];
    *alone &= numbers[1] >= ROUNDS_LEAST;
    return numbers[0] > 0;
}

/* Medians of runs of both in turns, for the row of this name; false: one of them does not run. */
static bool compare(const char *row, const char *ours, const char *theirs, double *a, double *b)
{
    double of_ours[RUNS], of_theirs[RUNS], end = now_ns() + RUNS_S * 1e9;
    int runs = 0, shared = 0;

    while (runs < RUNS && (runs == 0 || now_ns() < end)) {
        bool alone = true;

        if (!run(theirs, &of_theirs[runs], &alone) || !run(ours, &of_ours[runs], &alone)) return false;
        runs++;
        shared += !alone;
    }
    if (shared > 0) printf("NOTE %s %d of %d runs are those of a shared core\n", row, shared, runs);
    *a = part(of_ours, runs, 2);
    *b = part(of_theirs, runs, 2);
    return true;
}

static bool runnable(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/bench-tools/%s", child_build(), name);
    return access(path, X_OK) == 0;
}

/* ---- LTTng ---- */

/* A session whose channel is read all the time by the consumer; a daemon of our own where none runs. */
static const char start_lttng[] =
    "exec >/dev/null 2>&1; cd %s; lttng list || lttng-sessiond --no-kernel --daemonize "
    "--pidfile=%s/sessiond.pid;"
    "lttng create cgtrace_bench --output=%s/lttng && lttng enable-channel -u -s cgtrace_bench "
    "--subbuf-size=4M "
    "--num-subbuf=4 all && lttng enable-event -u -s cgtrace_bench -c all cgtrace_bench:launch && lttng start "
    "cgtrace_bench";
static const char stop_lttng[] =
    "exec >/dev/null 2>&1; lttng destroy cgtrace_bench; [ ! -f %s/sessiond.pid ] || "
    "kill $(cat %s/sessiond.pid)";

static void bench_lttng(const char *ours, const char *folder)
{
    char peer[512], command[4096];
    double a, b;

    if (!runnable("peer_lttng", peer, sizeof peer)) {
        puts("SKIP record.lttng no lttng/tracepoint.h when this was built (scripts/deps bench installs it)");
        return;
    }
    snprintf(command, sizeof command, start_lttng, folder, folder, folder);
    if (system(command) != 0) {
        puts("SKIP record.lttng no session of lttng could be started");
    } else {
        snprintf(command, sizeof command, "env -u LD_PRELOAD LTTNG_UST_REGISTER_TIMEOUT=-1 %s", peer);
        if (compare("record.lttng", ours, command, &a, &b))
            printf("BENCH record.lttng %.2f %.2f %.3f >=3 ns\n", a / 2, b, b / (a / 2));
        else
            puts("SKIP record.lttng its tracepoints were not enabled");
    }
    snprintf(command, sizeof command, stop_lttng, folder, folder);
    if (system(command)) fprintf(stderr, "bench_peers: lttng's daemon was not stopped\n");
}

/* ---- Tracy ---- */

/* A span is a call into a library, which can be left out, and which programs of any language share. So is a
 * zone where the client is a library, as it must be when more than the program itself is traced: that is the
 * one to be held against. Compiled into a program of C++ its zone is the two readings of the clock, which
 * alone take 18.97 of its 19.06 ns, and some stores; the call, the look at the text, and a second record, for
 * what is open when a process is killed, add 0.4 ns to them.
 *
 * Runs of one program differ by 0.5 % (of ten, a span took 19.36 to 19.46 ns, a zone 19.39 to 19.49): what is
 * not slower by a hundredth is not seen to be slower. */
static void bench_tracy(const char *ours)
{
    static const struct {
        const char *peer, *row, *goal;
    } rows[] = {{"peer_tracy", "span.tracy", "<=1.01"},
                {"peer_tracy_c", "span.tracy_c", "<=1.01"},
                {"peer_tracy_linked", "span.tracy_linked", "<=1.05"}};

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char peer[512];
        double a, b;

        if (!runnable(rows[i].peer, peer, sizeof peer))
            printf("SKIP %s no sources of Tracy when this was built (scripts/deps bench fetches them, "
                   "TRACY_HOME names them)\n",
                   rows[i].row);
        else if (!compare(rows[i].row, ours, peer, &a, &b))
            printf("SKIP %s its program does not run\n", rows[i].row);
        else
            printf("BENCH %s %.2f %.2f %.3f %s ns\n", rows[i].row, a, b, a / b, rows[i].goal);
    }
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/bench_peers.XXXXXX", ours[2048], command[1024];

    if (argc > 1 && !strcmp(argv[1], "child")) return child();
    if (!mkdtemp(folder)) return 1;
    snprintf(ours, sizeof ours,
             "CGTRACE_QUIET=1 CGTRACE_OUTPUT=%s/%%p.jsonl LD_PRELOAD=%s/libcgtrace.so %s child", folder,
             child_build(), argv[0]);
    bench_tracy(ours);
    bench_lttng(ours, folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}
