/* Writes cgtrace-capture(5) (mdoc) from capture.h, its tables and its structures, to standard output.
 * usage: capture CAPTURE.H */
#include <stdio.h>

#include "common/capture.h"
#include "man/mdoc.h"

struct item {
    const char *name, *meaning;
};
#define TYPE(suffix, member, meaning) {#suffix, meaning},
static const struct item types[] = {CAP_TYPES(TYPE)};

static const char head[] =
    ".\\\" Made from common/capture.h; see man/capture.c.\n.Dd " MDOC_DATE "\n.Dt CGTRACE-CAPTURE 5\n.Os\n"
    ".Sh NAME\n.Nm cgtrace-capture\n.Nd what the threads of a recorded program have committed\n"
    ".Sh DESCRIPTION\nWhile a program is recorded, its trace\n.Pa TRACE\nis being made in two files.\n"
    ".Pa TRACE.cgt ,\nthe capture file, is mapped and shared: what a thread has stored there survives\n"
    "the program's death by any signal.\n.Pa TRACE.part\nholds the lines that are written already.\n"
    "The writer appends lines, publishes in the capture file how many bytes of them are whole and up to\n"
    "where each ring is in them, and only then gives the slots back.\n"
    "When the capture ends,\n.Pa TRACE.part\nbecomes\n.Pa TRACE\nand the capture file is removed.\n.Pp\n"
    "Where they are left over,\n.Xr cg-analyze-recover 1\nmakes a valid trace of them, of outcome\n"
    ".Ql failed .\n.Pa TRACE.cgt" CAP_END_SUFFIX "\n"
    "is one line of text that\n.Xr cgtrace 1\nleaves when it saw the program die: how that was.\n.Pp\n"
    "On a network or user-space file system the capture file is in\n.Pa /dev/shm\nor a local folder.\n.Pp\n"
    "The file is of the machine and the version that made it: numbers are in the machine's byte order, and\n"
    "a reader refuses another version.\n"
    "It holds, in this order:\n.Bl -tag -width Ds\n"
    ".It header\nMagic, version, byte order, clock, counts, the places of all else.\n"
    ".It publication\nTwo copies, each with a checksum; the one with the greater valid sequence counts.\n"
    ".It rings\nA directory: where the slots of each thread are, and how many are committed.\n"
    ".It strings\nEach once, a head and its bytes, at a multiple of 8; its number is the offset divided by "
    "8.\n"
    ".It stacks\nModules and call stacks, each once.\n"
    ".It slots\nOf 64 bytes; a record is one, and those that hold its words.\n.El";

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: capture CAPTURE.H\n", stderr);
        return 2;
    }
    mdoc_page(stdout, head);
    printf(".Sh HEADER\nThe magic is\n.Ql cgtrace\nand an end of line; the version is %u.\n"
           "There is room for %u rings.\n",
           CAP_VERSION, CAP_RINGS_MAX);
    puts(".Sh KINDS OF RECORDS\nTypes, by the number that stands in\n.Va type :\n.Bl -tag -width Ds");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        printf(".It %zu Dv %s\n", i, types[i].name);
        mdoc_sentence(stdout, types[i].meaning);
    }
    puts(".El\n.Sh STRUCTURES");
    if (!mdoc_declarations(stdout, argv[1])) {
        fprintf(stderr, "capture: %s cannot be read\n", argv[1]);
        return 1;
    }
    puts(".Sh SEE ALSO\n.Xr cg-analyze-recover 1 ,\n.Xr cgtrace 1 ,\n.Xr cgtrace-trace 5 ,\n.Xr cgtrace 7");
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
