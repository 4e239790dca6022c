/* What the first line of a trace says of the run: host, entry point, time, and what a session is asked for
 * with. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/jsonl_text.h"
#include "preload/record/declared.h"
#include "preload/record/session.h"

void run_describe_process(void)
{
    if (gethostname(session.host, sizeof session.host - 1)) strcpy(session.host, "localhost");
    session.host[sizeof session.host - 1] = '\0';
    for (char *c = session.host; *c; c++)
        if (*c == '/') *c = '_';
}

static bool blank(const char *text)
{
    for (; *text; text++)
        if (*text != ' ' && (*text < '\t' || *text > '\r')) return false;
    return true;
}

static void describe_entrypoint(const char *name)
{
    if (!name || blank(name)) name = session.settings.entrypoint;
    if (blank(name)) name = program_invocation_short_name;
    if (blank(name)) name = "program";
    size_t length = jsonl_prefix(name, strlen(name), sizeof session.run.entrypoint - 1);
    memcpy(session.run.entrypoint, name, length);
    session.run.entrypoint[length] = '\0';
}

static char *copy_text(struct capture_text *to, const struct capture_text *from, char *room)
{
    if (!from->bytes) return room;
    memcpy(room, from->bytes, from->length);
    *to = (struct capture_text){room, from->length};
    return room + from->length;
}

/* The request's texts are its owner's, and what is declared may change: kept until the first line is written.
 */
static int copy_texts(const struct capture_request *request, const struct capture_text *declared)
{
    struct session_run *run = &session.run;
    const struct capture_text *const from[] = {
        &request->correlation, request->identity.bytes ? &request->identity : &declared[DECLARED_IDENTITY],
        request->contract.bytes ? &request->contract : &declared[DECLARED_CONTRACT], &request->tags,
        &declared[DECLARED_TAGS]};
    struct capture_text *const to[] = {&run->correlation, &run->identity, &run->contract, &run->tags,
                                       &run->more_tags};
    enum { TEXTS = sizeof from / sizeof *from };
    size_t bytes = 0;
    char *room;

    for (int i = 0; i < TEXTS; i++)
        bytes += from[i]->bytes ? from[i]->length : 0;
    if (bytes == 0) return 0;
    room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return errno;
    session.run.copies = room;
    session.run.copies_bytes = bytes;
    for (int i = 0; i < TEXTS; i++)
        room = copy_text(to[i], from[i], room);
    return 0;
}

int run_describe(const struct capture_request *request)
{
    struct session_run *run = &session.run;
    int error;

    *run =
        (struct session_run){.phase = request->phase ? request->phase : session.settings.phase,
                             .capture_step = request->capture_step ? request->capture_step : session.number,
                             .own_identity = request->identity.bytes != NULL,
                             .own_contract = request->contract.bytes != NULL,
                             .identity = session.identity,
                             .contract = session.contract};
    run->warmup_steps = request->warmup_steps == UINT64_MAX ? run->capture_step - 1 : request->warmup_steps;
    describe_entrypoint(request->entrypoint);
    error = copy_texts(request, declared_hold());
    declared_let_go();
    return error;
}

void run_redeclare(void)
{
    const struct capture_text *declared = declared_hold();
    struct session_run *run = &session.run;

    if (!run->own_identity)
        run->identity = declared[DECLARED_IDENTITY].bytes ? declared[DECLARED_IDENTITY] : session.identity;
    if (!run->own_contract)
        run->contract = declared[DECLARED_CONTRACT].bytes ? declared[DECLARED_CONTRACT] : session.contract;
    run->more_tags = declared[DECLARED_TAGS];
}

void run_forget(void)
{
    if (session.run.copies) munmap(session.run.copies, session.run.copies_bytes);
    session.run.copies = NULL;
}

size_t run_bound(void)
{
    const struct session_run *run = &session.run;

    return 6 * strlen(session.settings.tags) + 6 * (2 * sizeof run->entrypoint + sizeof session.host) +
           6 * run->correlation.length + run->identity.length + run->contract.length + run->tags.length +
           run->more_tags.length;
}

static char *put_padded(char *out, unsigned value, unsigned width)
{
    for (unsigned i = width; i-- > 0; value /= 10)
        out[i] = (char)('0' + value % 10);
    return out + width;
}

/* doc/spec/trace.md 13.7. Days to a date: Hinnant, "chrono-Compatible Low-Level Date Algorithms",
 * civil_from_days. */
void run_describe_time(int64_t realtime_ns)
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
