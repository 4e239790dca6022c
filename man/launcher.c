/* Writes cgtrace(1) (mdoc) from the table of settings to standard output. */
#include <stdio.h>
#include <string.h>

#include "common/settings.h"
#include "man/mdoc.h"

static const struct setting {
    const char *variable, *type, *initial, *allowed, *meaning;
} settings[] = {
#define SETTING(member, name, type, initial, allowed, meaning) {name, #type, initial, allowed, meaning},
    CG_SETTINGS(SETTING)};
enum { SETTINGS = sizeof settings / sizeof *settings };

static void put_options(void)
{
    puts(".Sh OPTIONS\nOptions of\n.Cm record ,\nand the variables of\n.Sx ENVIRONMENT\nthat they set:\n"
         ".Bl -tag -width Ds");
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct setting *setting = &settings[i];
        char name[64];
        settings_option(setting->variable, name, sizeof name);
        printf(".It Fl Fl %s%s\n", name, strcmp(setting->type, "FLAG") == 0 ? "" : " Ar value");
        mdoc_sentence(stdout, setting->meaning);
        printf("Sets\n.Ev %s .\n", setting->variable);
    }
    puts(".It Fl h , Fl Fl help\nShow a short help text.\n.El");
}

static void put_environment(void)
{
    puts(".Sh ENVIRONMENT\nThe library reads these once, whether the launcher set them or not:\n"
         ".Bl -tag -width Ds");
    for (size_t i = 0; i < SETTINGS; i++) {
        const struct setting *setting = &settings[i];
        printf(".It Ev %s\nAllowed:\n", setting->variable);
        mdoc_text(stdout, setting->allowed, strlen(setting->allowed));
        if (*setting->initial) {
            puts(".br\nDefault:");
            mdoc_text(stdout, setting->initial, strlen(setting->initial));
        }
    }
    puts(".It Ev RANK , OMPI_COMM_WORLD_RANK , SLURM_PROCID , PMI_RANK\nThe rank that a launcher of ranks "
         "gave "
         "the process; the first that is set.\n"
         ".It Ev LD_PRELOAD\n.Cm record\nputs\n.Pa libcgtrace.so\nin front of what is there.\n.El");
}

static const char head[] =
    ".\\\" Made from the table of settings; see man/launcher.c.\n.Dd " MDOC_DATE "\n.Dt CGTRACE 1\n.Os\n"
    ".Sh NAME\n.Nm cgtrace\n.Nd record what a CUDA program does\n"
    ".Sh SYNOPSIS\n.Nm\n.Cm record\n.Op Ar options\n.Op Fl Fl\n.Ar program\n.Op Ar arguments\n"
    ".Nm\n.Cm check\n.Ar program\n.Nm\n.Cm doctor\n.Nm\n.Cm help\n.Op Ar command\n.Nm\n.Fl V | Fl Fl "
    "version\n"
    ".Sh DESCRIPTION\n.Bl -tag -width Ds\n"
    ".It Cm record\nRuns the program with\n.Pa libcgtrace.so\npreloaded and ends as it ends: with its exit\n"
    "status, or by its signal.\nEach option sets a variable of the environment.\n"
    "The library is looked for beside the launcher and in\n.Pa ../lib .\n"
    "A program that the library cannot be loaded into (statically linked, privileged, of another\n"
    "architecture or C library) is not run.\n"
    "When the program dies, how it ended is left beside its capture file, where\n"
    ".Xr cg-analyze-recover 1\nfinds it.\n"
    "A program that makes no CUDA call leaves no trace; when none is in the folder that the settings name,\n"
    "one line says so.\n"
    ".It Cm check\nSays how the program reaches CUDA, whether it marks ranges with NVTX, and what of it\n"
    "will be seen.\nReads its file and those of its libraries; runs nothing of it.\n"
    ".It Cm doctor\nSays what of this machine and this environment recording depends on: the library, the\n"
    "settings, the driver and its devices, other tools, the rank, the folder of the trace, the clock.\n"
    ".It Cm help\nShows how a command is used.\n.El\n.Pp\n"
    "The same is had without the launcher by setting\n.Ev LD_PRELOAD\nto the library.";

static const char tail[] =
    ".Sh FILES\n.Bl -tag -width Ds\n"
    ".It Pa cgtrace.HOST.PID.jsonl\nThe trace, unless\n.Ev CGTRACE_OUTPUT\nsays otherwise; see\n"
    ".Xr cgtrace-trace 5 .\n"
    ".It Pa TRACE.cgt , TRACE.part\nThe capture while the program runs, and after it died; see\n"
    ".Xr cgtrace-capture 5 .\n.El\n"
    ".Sh EXIT STATUS\n.Cm record\nends with the program's own status.\nOf ours are:\n.Bl -tag -width Ds\n"
    ".It 0\n.Cm check :\nthe program can be recorded.\n.Cm doctor :\nrecording will work.\n"
    ".It 1\n.Cm check :\nit cannot be recorded.\n.Cm doctor :\nsomething keeps recording from working.\n"
    ".It 2\nThe command line or a setting is not understood; nothing was run.\n"
    ".It 3\nThe program cannot be recorded; it was not run.\n"
    ".It 5\nWhat was to be said on standard output could not be written.\n"
    ".It 126\nThe program cannot be executed.\n.It 127\nThe program was not found.\n.El\n"
    ".Sh EXAMPLES\nRecord a program, then look at the trace:\n.Bd -literal -offset indent\n"
    "$ cgtrace record --output trainer.jsonl -- ./trainer_nvtx 20\n"
    "training on ...\nstep    1  loss 1.4659\nstep   20  loss 0.2047\ncgtrace: ...\n"
    "$ cg-analyze query trainer.jsonl --kind peak --by span\n\\&...\n"
    "  name                                           storages      bytes ...\n"
    "  trainer_nvtx / process / train_step / backward         7  130.0 KiB ...\n"
    "\\&...\n.Ed\n.Pp\n"
    "Record the tenth occurrence of a range alone:\n.Bd -literal -offset indent\n"
    "$ cgtrace record --range train_step --step 10 -- ./trainer_nvtx 10\n\\&...\n.Ed\n"
    ".Sh SEE ALSO\n.Xr cg-analyze 1 ,\n.Xr cg-analyze-recover 1 ,\n.Xr libcgtrace 3 ,\n.Xr cgtrace-bundle 5 "
    ",\n"
    ".Xr cgtrace-capture 5 ,\n.Xr cgtrace-trace 5 ,\n.Xr cgtrace 7 ,\n.Xr cgtrace-tutorial 7";

int main(void)
{
    mdoc_page(stdout, head);
    put_options();
    put_environment();
    mdoc_page(stdout, tail);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
