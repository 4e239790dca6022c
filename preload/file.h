/* A file of ours in a process that is not ours: programs close descriptors that they do not know, and then
 * the number may name a file of theirs. */
#ifndef CGTRACE_PRELOAD_FILE_H
#define CGTRACE_PRELOAD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/types.h>

struct file {
    int fd; /* -1: not open */
    dev_t device;
    ino_t inode;
    char path[1024];
};

/* Creates path for reading and writing; fails when it exists. 0, or an errno. */
int file_create(struct file *file, const char *path);
/* Takes a descriptor that has no path (memfd). */
int file_adopt(struct file *file, int fd);
/* The descriptor, after making sure that it still is this file, opening it again by its path when it is not;
 * -1: it cannot be had. */
int file_descriptor(struct file *file);
/* All of the bytes at this offset. 0, or an errno; SIGXFSZ is not delivered. */
int file_write(struct file *file, const void *bytes, size_t length, uint64_t offset);
/* Takes space for [offset, offset + length). 0, or an errno; EOPNOTSUPP when the file system cannot promise.
 */
int file_allocate(struct file *file, uint64_t offset, uint64_t length);
void file_close(struct file *file);

/* A write that fails may send its thread a signal (SIGXFSZ over a limit, SIGPIPE where nobody reads), which
 * would be the program's: held between the two calls. sent: the write's error says that it was sent. */
struct held_signal {
    int number;
    bool pending; /* already before: it stays the program's */
    sigset_t past;
};
void signal_hold(struct held_signal *held, int number);
void signal_release(const struct held_signal *held, bool sent);

#endif
