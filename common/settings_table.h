/* The settings of the recorder, once: the parser in the library, the launcher's options and cgtrace(1) are
 * made from this table.
 *
 * A setting is S(member, "CGTRACE_NAME", TYPE, "default", "what is allowed", "meaning"):
 *   TEXT    any text
 *   PATH    of a file
 *   FOLDER  path of a folder
 *   PAIRS   key=value, separated by commas; no key is empty
 *   CHOICE  one of the words of "what is allowed", separated by '|'; held as its index
 *   BYTES   a number of bytes, with K, M or G for powers of 1024
 *   NUMBER  a whole number; "what is allowed" begins with the least and the greatest: 0 to 100
 *   FLAG    0 or 1
 *   FILE    path of a JSON file that holds one object
 *   WORDS   words of "what is allowed", separated by commas; held as a set of bits
 *   RANKS   ranks: 0,2,4-7; empty: all
 *   NUMBERS numbers from 1 to 2147483647: 10-14,20; empty: none given
 * A new type needs a line in parse_setting() of common/settings.c. */
#ifndef CGTRACE_COMMON_SETTINGS_TABLE_H
#define CGTRACE_COMMON_SETTINGS_TABLE_H

#define CG_STACKS_WORDS "alloc|all|off"

#define CG_SETTINGS(S)                                                                                       \
    S(output, "CGTRACE_OUTPUT", PATH, "",                                                                    \
      "a path; %h host, %r rank, %p process, %n capture, %% a percent sign",                                 \
      "where the trace goes; a name that exists gets a number. Default cgtrace.%h.%p.jsonl, with .r%r "      \
      "before .jsonl when a rank is known, and .%n when regions are selected")                               \
    S(dir, "CGTRACE_DIR", FOLDER, "", "a folder",                                                            \
      "folder of the trace when CGTRACE_OUTPUT is a relative path")                                          \
    S(range, "CGTRACE_RANGE", TEXT, "", "name of an NVTX range or API span, or domain/name",                 \
      "capture this range alone: a trace for each selected occurrence, with it as the measured region")      \
    S(step, "CGTRACE_STEP", NUMBERS, "", "occurrences from 1 to 2147483647, such as 10-14,20",               \
      "which occurrences of CGTRACE_RANGE, counted from 1 over all threads; default: the first")             \
    S(sync, "CGTRACE_SYNC", CHOICE, "both", "both|start|end|off",                                            \
      "where a region waits for the device: then its length holds the device's work")                        \
    S(entrypoint, "CGTRACE_ENTRYPOINT", TEXT, "", "text that is not blank",                                  \
      "name of what is run, in the trace; default: the program's file name")                                 \
    S(phase, "CGTRACE_PHASE", CHOICE, "auto", "auto|train|infer",                                            \
      "training or inference; auto: training when a backward or optimizer range was seen")                   \
    S(tags, "CGTRACE_TAGS", PAIRS, "", "key=value,key=value", "free provenance, written into the trace")     \
    S(identity, "CGTRACE_IDENTITY", FILE, "", "path of a JSON file that holds one object",                   \
      "comparison identity, written into the trace")                                                         \
    S(contract, "CGTRACE_CONTRACT", FILE, "", "path of a JSON file that holds one object",                   \
      "capture contract, written into the trace; its levels are lowered to what was seen")                   \
    S(record, "CGTRACE_RECORD", WORDS, "memory,launch,copy,call,span", "memory|launch|copy|call|span",       \
      "families to record")                                                                                  \
    S(timing, "CGTRACE_TIMING", CHOICE, "auto", "auto|events|off",                                           \
      "times of work on the device: by pairs of events within CGTRACE_BUDGET, of all work, or of none")      \
    S(budget, "CGTRACE_BUDGET", NUMBER, "5", "1 to 100",                                                     \
      "percent of the wall time that CGTRACE_TIMING=auto may cost; beyond it not every call is timed")       \
    S(memory_sample_ms, "CGTRACE_MEMORY_SAMPLE_MS", NUMBER, "100", "0 to 3600000",                           \
      "milliseconds between samples of a device's memory, taken while there is work; 0: none but those of "  \
      "failed allocations")                                                                                  \
    S(ranks, "CGTRACE_RANKS", RANKS, "", "ranks from 0 to 2147483647, such as 0,2,4-7",                      \
      "ranks that record; processes without a rank always do")                                               \
    S(stacks, "CGTRACE_STACKS", CHOICE, "alloc", CG_STACKS_WORDS,                                            \
      "records with the calls that led to them: allocations, all operations or none")                        \
    S(stack_depth, "CGTRACE_STACK_DEPTH", NUMBER, "32", "1 to 128",                                          \
      "calls kept of a stack, innermost first")                                                              \
    S(ring_bytes, "CGTRACE_RING_BYTES", BYTES, "4M", "64K to 256M", "size of each thread's ring")            \
    S(overflow, "CGTRACE_OVERFLOW", CHOICE, "drop", "drop|block",                                            \
      "when a ring is full: drop the record and count it, or wait for the writer")                           \
    S(verbose, "CGTRACE_VERBOSE", FLAG, "0", "0 or 1", "say on standard error what is done and why")         \
    S(quiet, "CGTRACE_QUIET", FLAG, "0", "0 or 1", "say nothing on standard error, bad settings included")   \
    S(disable, "CGTRACE_DISABLE", FLAG, "0", "0 or 1", "record nothing")

/* Words of CGTRACE_RECORD, in the order of its list. */
enum cg_record_family {
    CG_RECORD_MEMORY = 1 << 0,
    CG_RECORD_LAUNCH = 1 << 1,
    CG_RECORD_COPY = 1 << 2,
    CG_RECORD_CALL = 1 << 3,
    CG_RECORD_SPAN = 1 << 4,
};
enum cg_timing { CG_TIMING_AUTO, CG_TIMING_EVENTS, CG_TIMING_OFF };
enum cg_stacks { CG_STACKS_ALLOC, CG_STACKS_ALL, CG_STACKS_OFF };
enum cg_sync { CG_SYNC_BOTH, CG_SYNC_START, CG_SYNC_END, CG_SYNC_OFF };
/* The types of the table. */
enum cg_setting_type {
    CG_TYPE_TEXT,
    CG_TYPE_PATH,
    CG_TYPE_FOLDER,
    CG_TYPE_PAIRS,
    CG_TYPE_FILE,
    CG_TYPE_RANKS,
    CG_TYPE_NUMBERS,
    CG_TYPE_NUMBER,
    CG_TYPE_CHOICE,
    CG_TYPE_WORDS,
    CG_TYPE_FLAG,
    CG_TYPE_BYTES
};

enum cg_overflow { CG_OVERFLOW_DROP, CG_OVERFLOW_BLOCK };
enum cg_phase_setting { CG_PHASE_AUTO, CG_PHASE_SET_TRAIN, CG_PHASE_SET_INFER };

#endif
