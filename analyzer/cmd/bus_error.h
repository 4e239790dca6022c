/* Files that are mapped (an index, a capture that was cut off) and become shorter while they are looked at.
 */
#ifndef CGTRACE_ANALYZER_CMD_BUS_ERROR_H
#define CGTRACE_ANALYZER_CMD_BUS_ERROR_H

/* From now on that ends the program with one line and CG_EXIT_IO. Before there are threads: it must not be
 * blocked in any, as the program's parent may have left it. */
void bus_error_setup(void);

#endif
