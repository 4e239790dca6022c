/* Programs measured in turns: children that run a round when they are told to, so that each of them meets
 * the same machine, on the same core. */
#ifndef CGTRACE_TESTS_BENCH_TURNS_H
#define CGTRACE_TESTS_BENCH_TURNS_H

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/rounds.h"

/* ---- in the child ---- */

struct turn_answer {
    double ns;
    bool alone;
};

/* There are enough processors for that. */
static inline bool turn_possible(void)
{
    return CPU_COUNT(core_allowed()) > 1;
}

/* The calling thread to this processor, the others to the rest: threads of the recorder's would else now run
 * beside the program's and now behind it, and what they read is then in another cache or in the same. */
static inline void turn_apart(int processor)
{
    cpu_set_t others = *core_allowed();
    DIR *threads = opendir("/proc/self/task");
    struct dirent *entry;

    if (!threads || !turn_possible()) exit(1);
    CPU_CLR((size_t)processor, &others);
    while ((entry = readdir(threads))) {
        pid_t thread = atoi(entry->d_name);
        if (thread > 0 && thread != getpid()) sched_setaffinity(thread, sizeof others, &others);
    }
    closedir(threads);
    core_take(processor);
}

/* Rounds of `count` on the processor that is asked for, until nobody asks any more; behind each, rest(). The
 * exit status of the child. */
static inline int turn_serve(void (*run)(void), int count, void (*rest)(void))
{
    int asked, processor = -1;

    while (read(STDIN_FILENO, &asked, sizeof asked) == (ssize_t)sizeof asked) {
        struct turn_answer answer = {.alone = true};

        if (asked != processor) turn_apart(processor = asked);
        answer.ns = time_round(run, count, &answer.alone);
        if (rest) rest();
        if (write(STDOUT_FILENO, &answer, sizeof answer) != (ssize_t)sizeof answer) return 1;
    }
    return 0;
}

/* ---- in the bench ---- */

struct turn {
    pid_t pid;
    int talk;
    int rounds; /* that it ran */
};

/* Starts a child: a command of the shell's. */
static inline bool turn_open(struct turn *turn, const char *command)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return false;
    *turn = (struct turn){.pid = fork(), .talk = pair[0]};
    if (turn->pid == 0) {
        dup2(pair[1], STDIN_FILENO);
        dup2(pair[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    return turn->pid > 0;
}

/* Nanoseconds; negative: the child failed. */
static inline double turn_round(struct turn *turn, int processor, bool *alone)
{
    struct turn_answer answer;

    turn->rounds++;
    if (write(turn->talk, &processor, sizeof processor) != (ssize_t)sizeof processor ||
        recv(turn->talk, &answer, sizeof answer, MSG_WAITALL) != (ssize_t)sizeof answer)
        return -1;
    *alone &= answer.alone;
    return answer.ns;
}

/* Waits for its end. */
static inline bool turn_close(struct turn *turn)
{
    int status;

    close(turn->talk);
    return waitpid(turn->pid, &status, 0) == turn->pid && status == 0;
}

/* Rounds of so many commands in turns, ROUNDS_THINGS at most; `turns` and `rounds` hold what was found.
 * False: a child failed. Behind each child's turn its recorder has time to write and to read. */
static inline bool turns_measure(const char *const *commands, int things, struct turn *turns,
                                 struct rounds *rounds)
{
    double ns[ROUNDS_THINGS];
    bool good = true;
    int opened = 0;

    rounds_begin(rounds, ROUNDS_S);
    signal(SIGPIPE, SIG_IGN);
    for (; good && opened < things; opened++)
        good = turn_open(&turns[opened], commands[opened]);
    while (good && rounds_go_on(rounds)) {
        int processor = core_seek(ROUNDS_SEEK_MS);
        bool alone = true;
        for (int i = 0; i < things; i++) {
            ns[i] = turn_round(&turns[i], processor, &alone);
            good &= ns[i] >= 0;
            pause_ms(8);
        }
        rounds_add(rounds, ns, things, alone);
    }
    core_anywhere();
    for (int i = 0; i < opened; i++)
        good &= turn_close(&turns[i]);
    return good;
}

#endif
