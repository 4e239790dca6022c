/* What a bundle costs beside what it cannot do without: verification against `openssl dgst -sha256` of the
 * same files; publication, less the derivation of the evidence (`import`) and the making of the page (`view`
 * less its reading), against cp, sync and that digest.
 *
 * Times are processor time of whole processes, which begin on a processor whose core nobody shares; taken in
 * turn until the least of each was seen twice, or ROUNDS_MOST times. The trace has about 1 GB;
 * with CGTRACE_BENCH_SMALL=1 a tenth of that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/child.h"
#include "tests/bench/core.h"
#include "tests/bench/sizes.h"

enum { ROUNDS = 3, ROUNDS_MOST = 6, SEEK_MS = 1000 };

static char folder[] = "/tmp/cgtrace-bench-XXXXXX";

/* Runs a shell command in the folder; processor time in seconds of all its processes, negative when it
 * failed. $P is the folder of the programs. */
static double timed(const char *command)
{
    struct rusage before, after;
    getrusage(RUSAGE_CHILDREN, &before);
    pid_t child = fork();
    if (child == 0) {
        if (chdir(folder) == 0) execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return -1.0;
    getrusage(RUSAGE_CHILDREN, &after);
    return (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec -
                    before.ru_stime.tv_sec) +
           1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
                           before.ru_stime.tv_usec);
}

static int measure(void)
{
    static const char *const commands[] = {
        "rm -rf b; $P/cg-analyze report t.jsonl --bundle b >/dev/null",
        "$P/cg-analyze import t.jsonl -o e.json",
        "$P/cg-analyze view t.jsonl -o v.html",
        "$P/cg-analyze query t.jsonl --kind capabilities -o q.json",
        "rm -rf c; mkdir c; cp b/* c/ && sync c/* c && openssl dgst -sha256 c/* >/dev/null",
        "$P/cg-analyze verify b >/dev/null",
        "openssl dgst -sha256 b/* >/dev/null"};
    enum { REPORT, IMPORT, VIEW, QUERY, COPY, VERIFY, DIGEST, COMMANDS };
    struct least times[COMMANDS] = {{.count = 0}};
    double seconds[COMMANDS];
    bool settled = false;
    for (int round = 0; round < ROUNDS_MOST && (round < ROUNDS || !settled); round++) {
        settled = true;
        for (int i = 0; i < COMMANDS; i++) {
            core_seek(SEEK_MS);
            double took = timed(commands[i]);
            if (took < 0) {
                fprintf(stderr, "bench_bundle: failed: %s\n", commands[i]);
                return 1;
            }
            least_add(&times[i], took);
            settled &= least_settled(&times[i]);
            seconds[i] = times[i].best;
        }
    }
    for (int i = 0; i < COMMANDS; i++)
        least_say(&times[i], i == VERIFY || i == DIGEST ? "bundle_verify" : "bundle_report_less_ingest");
    double report = seconds[REPORT] - seconds[IMPORT] - (seconds[VIEW] - seconds[QUERY]);
    printf("BENCH bundle_verify %.3f %.3f %.2f <=1.3 s\n", seconds[VERIFY], seconds[DIGEST],
           seconds[VERIFY] / seconds[DIGEST]);
    printf("BENCH bundle_report_less_ingest %.3f %.3f %.2f <=1.5 s\n", report, seconds[COPY],
           report / seconds[COPY]);
    return 0;
}

int main(void)
{
    const char *build = getenv("BUILD");
    char *programs = realpath(build ? build : "build", NULL), command[128];
    if (!programs || setenv("P", programs, 1) != 0 || !mkdtemp(folder)) return 1;
    int status = 1;
    if (timed("command -v openssl >/dev/null") < 0) {
        printf("SKIP bundle_verify openssl is not installed\nSKIP bundle_report_less_ingest openssl is not "
               "installed\n");
        status = 0;
    } else {
        snprintf(command, sizeof command, "$P/bench-tools/generate-trace mixed %s > t.jsonl",
                 bench_full_size("bundle", 1.1e9) ? "5000000" : "500000");
        if (timed(command) >= 0) status = measure();
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (timed(command) < 0) status = 1;
    free(programs);
    return status;
}
