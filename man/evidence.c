/* Writes cgtrace-evidence(5) (mdoc) from the shapes of the packet to standard output. */
#include <stdio.h>

#include "analyzer/evidence/packet_shape.h"
#include "man/mdoc.h"
#include "man/shape_page.h"

static const char head[] =
    ".\\\" Made from the shapes of the packet; see man/evidence.c.\n.Dd " MDOC_DATE
    "\n.Dt CGTRACE-EVIDENCE 5\n.Os\n"
    ".Sh NAME\n.Nm cgtrace-evidence\n.Nd what follows from a trace, candle-graph/evidence/5\n.Sh "
    "DESCRIPTION\n"
    "The evidence packet is one JSON object, which\n.Xr cg-analyze-import 1\nwrites and a bundle holds as\n"
    ".Pa evidence.json ;\nsee\n.Xr cgtrace-bundle 5 .\n"
    "It follows from the trace and the reports of Nsight Systems alone: the same inputs and the same version "
    "of the\n"
    "program give the same bytes.\n.Pp\n"
    "Integers are unsigned and have up to 64 bits.\n"
    "What was not measured is left out or null, never 0.\n"
    "Members that are not known are passed over.\n.Pp\n"
    "Whether a plane can be relied on is said by\n.Va capabilities :\n"
    "each has a level, what it was judged by, and the reason.\n"
    "A finding names the capabilities that it needs and is no better than the weakest of them.\n"
    ".Sh MEMBERS\nThe members of each object, in the order in which they are written.";

int main(void)
{
    mdoc_page(stdout, head);
    if (!shape_page("packet", &shape_of_packet)) return 1;
    puts(".Sh EXAMPLES\nWhat can the capture say, and what can it not?\n.Bd -literal -offset indent\n"
         "cg-analyze import trainer.jsonl -o packet.json\n"
         "python3 -m json.tool packet.json | grep -A 3 outer_wall_time\n.Ed\n"
         ".Sh SEE ALSO\n.Xr cg-analyze 1 ,\n.Xr cg-analyze-import 1 ,\n.Xr cgtrace-bundle 5 ,\n.Xr "
         "cgtrace-nsight 5 ,\n"
         ".Xr cgtrace-trace 5 ,\n.Xr cgtrace 7");
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
