/* cgtrace, the launcher: sets the recorder up for one program, runs it, and ends as it ended. */
#ifndef CGTRACE_LAUNCHER_LAUNCHER_H
#define CGTRACE_LAUNCHER_LAUNCHER_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/settings.h"

/* Exit statuses of our own; all others are the program's. Those of a program that cannot be run are a
 * shell's. */
enum {
    EXIT_CANNOT_CHECK = 1,
    EXIT_USAGE = 2,
    EXIT_CANNOT_RECORD = 3,
    EXIT_CANNOT_WRITE = 5,
    EXIT_CANNOT_EXECUTE = 126,
    EXIT_NOT_FOUND = 127
};

/* One line on standard error: "cgtrace: ...". Returns status, for `return complain(...)`. */
int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* cgtrace record [options] -- program [arguments]: argv[0] is "record". Returns the exit status; when the
 * program was killed by a signal, it ends this process by the same one. */
int command_record(int argc, char **argv);
void help_record(void);

/* Reads the options in front of the program, one for each setting, into the environment; *first is the index
 * of the program's name. 0, EXIT_USAGE after a message, or -1 when help was asked for. */
int options_read(int argc, char **argv, int *first);
/* Whether the files that settings name hold what may be an object; false after a message. */
bool options_files_readable(void);
/* Writes one line for each option. */
void options_help(void);

/* Why the dynamic loader will not let a library be preloaded into a program. */
enum preload_obstacle {
    OBSTACLE_NONE,
    OBSTACLE_NOT_ELF,     /* no executable that we know: left to the kernel */
    OBSTACLE_STATIC,      /* statically linked */
    OBSTACLE_PRIVILEGED,  /* set-user-id, set-group-id or file capabilities */
    OBSTACLE_OTHER_CLASS, /* another architecture or word size than the library */
    OBSTACLE_OTHER_LIBC,  /* its dynamic loader is not glibc's, which the library needs */
    OBSTACLE_UNREADABLE,
};
/* Looks at an executable file; scripts are followed to their interpreter. *culprit is the file that the
 * answer is about: path itself or the interpreter, kept in a static buffer. */
enum preload_obstacle inspect_program(const char *path, const char **culprit);
/* What it means, for people: the end of a sentence that begins with the file's name. */
const char *obstacle_text(enum preload_obstacle obstacle);

/* The dynamic loader that an executable of ours names, in buffer; false when it names none. */
bool program_loader(const char *path, char *buffer, size_t size);

/* cgtrace check PROGRAM: how it reaches CUDA and what will be seen. Runs nothing of it. */
int command_check(int argc, char **argv);
void help_check(void);
/* cgtrace doctor: what of this machine and this environment recording depends on. */
int command_doctor(int argc, char **argv);
void help_doctor(void);

/* The file that execvp() would run, in buffer; false with errno set when there is none. */
bool find_program(const char *name, char *buffer, size_t size);
/* libcgtrace.so beside this executable, or in ../lib, there also under its SONAME alone, in buffer; false
 * when it is in neither. */
bool find_library(char *buffer, size_t size);

/* What must be known before the program runs, to tell afterwards why it died. */
struct death_watch {
    uint64_t oom_kills;
    int64_t begin_ns;
};
void death_watch(struct death_watch *watch);
/* Writes how the program ended beside each capture file that it left unfinished; recovery states it as the
 * reason. */
void death_write(const struct death_watch *watch, const struct settings *settings, pid_t pid, int status);

/* The folder that traces are to be in, as the settings say: relative to the current one, fields in it. */
void trace_folder(const struct settings *settings, char *path, size_t size);

/* The files in that folder before the program runs. */
struct trace_watch {
    char folder[PATH_MAX];
    bool known;
    struct trace_file *files; /* by inode */
    size_t count;
};
void trace_watch(struct trace_watch *watch, const struct settings *settings);
/* One line when the program was to leave a trace there and has left none, nor a capture file. Frees what
 * trace_watch() took. */
void trace_tell(struct trace_watch *watch, const struct settings *settings);

#endif
