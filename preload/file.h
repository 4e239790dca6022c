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
    int fd; /* -1: not open, or opened for each use */
    dev_t device;
    ino_t inode;
    char path[1024];
};

/* Creates path for reading and writing; fails when it exists. 0, or an errno. */
int file_create(struct file *file, const char *path);
/* Takes a descriptor that has no path (memfd). */
int file_adopt(struct file *file, int fd);

/* The uses of a file make sure that the descriptor still is this file, and open it again by its path when it
 * is not. Those that return an int give 0 or an errno, and leave errno itself alone; none is a point of
 * cancellation; SIGXFSZ is not delivered; a call that signals interrupt over and over is given up (EINTR).
 * Several threads may use one file. */

/* All of the bytes at this offset. For the writer: where the process has no descriptor left it waits for one,
 * a second at most. */
int file_write(const struct file *file, const void *bytes, size_t length, uint64_t offset);
int file_read(const struct file *file, void *bytes, size_t length, uint64_t offset);
/* The first bytes of another one. */
int file_read_from(int fd, void *bytes, size_t length);
/* Takes space for [offset, offset + length); EOPNOTSUPP when the file system cannot promise. */
int file_allocate(const struct file *file, uint64_t offset, uint64_t length);
/* The same for what is still to be written behind the end, where the file then stays. Advice, and asked once.
 */
int file_reserve(const struct file *file, uint64_t offset, uint64_t length);
int file_resize(const struct file *file, uint64_t length);
int file_sync(const struct file *file);
/* The same, where its descriptor is kept; else nothing: one of its own would be the program's need for as
 * long as that takes, and where there is none to be had nothing is wrong with the file. */
int file_sync_kept(const struct file *file);
/* Has the disk begin with [offset, offset + length), and does not wait for it. */
int file_begin_sync(const struct file *file, uint64_t offset, uint64_t length);
/* Maps it shared, to be read and written; at place when that is not NULL. NULL with errno: it cannot be. */
void *file_map(const struct file *file, void *place, size_t bytes, uint64_t offset);
/* Whether its path still leads to it. */
bool file_in_place(const struct file *file);
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
