#include "man/shell.h"

#include <stdio.h>
#include <string.h>

void shell_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
    putchar('\'');
}

void shell_zsh_about(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            printf(strchr("[]:\\", *text) ? "\\%c" : "%c", *text);
    }
}

int shell_main(int argc, char **argv, const struct shell_writers *writers)
{
    const char *shell = argc == 2 ? argv[1] : "";
    void (*write)(void) = strcmp(shell, "bash") == 0   ? writers->bash
                          : strcmp(shell, "zsh") == 0  ? writers->zsh
                          : strcmp(shell, "fish") == 0 ? writers->fish
                                                       : NULL;

    if (!write) {
        fprintf(stderr, "usage: %s bash|zsh|fish\n", argv[0]);
        return 2;
    }
    write();
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
