/* What the completions of both programs share: texts as the shells want them. */
#ifndef CGTRACE_MAN_SHELL_H
#define CGTRACE_MAN_SHELL_H

/* A text in single quotes for any of the shells, to standard output. */
void shell_quoted(const char *text);
/* Text inside of the brackets or behind the colon of a zsh specification, in single quotes that the caller
 * writes: [ ] : and \ have a meaning there. */
void shell_zsh_about(const char *text);
/* Calls one of the writers for bash, zsh or fish, as argv[1] says. The exit status of main(). */
struct shell_writers {
    void (*bash)(void), (*zsh)(void), (*fish)(void);
};
int shell_main(int argc, char **argv, const struct shell_writers *writers);

#endif
