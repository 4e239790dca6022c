/* Names of functions as people write them. */
#ifndef CGTRACE_ANALYZER_SYMBOLIZE_DEMANGLE_H
#define CGTRACE_ANALYZER_SYMBOLIZE_DEMANGLE_H

/* The demangled form of a C++ or Rust symbol, malloc'd; NULL when the symbol is neither, or memory is short.
 */
char *demangle(const char *symbol);

#endif
