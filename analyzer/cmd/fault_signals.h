/* Files that are mapped (an index, a capture that was cut off) and change while they are looked at: what
 * becomes shorter is a bus error, and what was checked before and is another number now any fault. */
#ifndef CGTRACE_ANALYZER_CMD_FAULT_SIGNALS_H
#define CGTRACE_ANALYZER_CMD_FAULT_SIGNALS_H

/* From now on that ends the program with one line and CG_EXIT_IO; a fault that no file explains ends it as it
 * would any other. Before there are threads: the signals must not be blocked in any, as the program's parent
 * may have left them. */
void fault_signals_setup(void);

#endif
