/* Writes cgtrace-nsight(5) (mdoc) from the table of reports and the shape of the manifest to standard output.
 */
#include <stdio.h>

#include "analyzer/evidence/gpu.h"
#include "analyzer/evidence/nsight_private.h"
#include "analyzer/evidence/packet_shape.h"
#include "man/mdoc.h"
#include "man/shape_page.h"

static const char head[] =
    ".\\\" Made from the table of reports; see man/nsight.c.\n.Dd " MDOC_DATE "\n.Dt CGTRACE-NSIGHT 5\n.Os\n"
    ".Sh NAME\n.Nm cgtrace-nsight\n.Nd reports of Nsight Systems as evidence\n.Sh DESCRIPTION\n"
    "A run that was profiled with Nsight Systems can stand beside its trace: a folder with the report and "
    "the tables\n"
    "that\n.Ql nsys stats --format csv\nmakes of it, and\n.Pa capture-manifest.json ,\nwhich\n"
    ".Xr cg-analyze-nsight-manifest 1\nwrites and which says of which run they are.\n"
    "The option\n.Fl Fl nsight-dir\nof several commands of\n.Xr cg-analyze 1\nreads such a folder; what it "
    "gives is the "
    "member\n.Va gpu\nof\n.Xr cgtrace-evidence 5 .\n.Pp\n"
    "Times of Nsight Systems are on a clock of their own.\nThey are never mixed with those of the trace.\n"
    ".Sh FILES\nThe folder is flat: folders in it are not looked into, links are not followed.\n.Bl -tag "
    "-width Ds\n"
    ".It Pa capture-manifest.json\nThe manifest.\n"
    ".It Pa *.nsys-rep , *.qdrep\nThe reports of Nsight Systems, kept and bound, not read.\n"
    ".It Pa *.csv\nTables; which one is told by the file's name, by the title that\n.Ql nsys stats\nprints, "
    "or by the "
    "columns.\nOne file may hold several.\n"
    ".It Pa status.txt\nWhere there is no table, its line\n.Ql reason=\nsays why.\n.El\n"
    ".Sh TABLES\nThe reports of\n.Ql nsys stats\nthat are read, the member of\n.Va gpu\nthat holds their "
    "rows, and how many "
    "are kept at most.\nOlder names and older columns are known, too.";

static const char tail[] =
    "A table without rows is available and empty; one that is missing is unknown, never zero.\n"
    "A table that cannot be read is named in\n.Va diagnostics ;\nthe others still count.\n"
    ".Sh MANIFEST\nOne JSON object, schema candle-graph/nsight-capture/1; members that are not known are "
    "passed over.";

static const char binding[] =
    ".Sh BINDING\nWhether the folder belongs to the run is the member\n.Va binding :\n.Bl -tag -width Ds\n"
    ".It Li bound\nThe manifest names the run and the correlation of the trace, its labels are those of the "
    "trace's "
    "contract, there is a report, and every file is declared with its size and its digest.\n"
    ".It Li partial\nThere is no manifest that could be read.\n"
    ".It Li mismatch\nSomething differs; each difference is in\n.Va diagnostics .\n.El\n.Pp\n"
    "A manifest that is bad lowers what the rows prove, and keeps them.\n"
    ".Sh LABELS\nThe labels of the trace's contract are looked for among the names of the NVTX ranges, with "
    "or without the "
    "colon that newer versions write in front.\n"
    "A range whose operations are all found in the table of the GPU's work has a busy time; for an "
    "incomplete one none is "
    "given.\n"
    ".Sh EXAMPLES\nBind the files of a folder to a run, and publish them with its trace:\n.Bd -literal "
    "-offset indent\n"
    "cg-analyze nsight-manifest nsys --trace trainer.jsonl --tool-version 2026.1\n"
    "cg-analyze report trainer.jsonl --nsight-dir nsys --bundle runs/nsys\n"
    "cg-analyze query runs/nsys --kind gpu-kernels\n.Ed\n"
    ".Sh SEE ALSO\n.Xr cg-analyze 1 ,\n.Xr cg-analyze-nsight-manifest 1 ,\n.Xr cg-analyze-report 1 ,\n"
    ".Xr cgtrace-bundle 5 ,\n.Xr cgtrace-evidence 5 ,\n.Xr cgtrace 7";

int main(void)
{
    static const struct {
        const char *kind, *rows;
    } reports[] = {
#define REPORT(constant, coverage, kind, rows) {kind, #rows},
        GPU_REPORTS(REPORT)};

    mdoc_page(stdout, head);
    puts(".Bl -tag -width Ds");
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        printf(".It Li %s\n.Va %s ,\n%d rows.\n", reports[i].kind, reports[i].rows,
               i >= GPU_REPORT_NVTX_RANGES ? NSIGHT_TIMELINE_LIMIT : NSIGHT_SUMMARY_LIMIT);
    puts(".El");
    mdoc_page(stdout, tail);
    if (!shape_page("manifest", &shape_of_manifest)) return 1;
    mdoc_page(stdout, binding);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
