/* Writes completions for a shell from the table of commands, to standard output.
 * usage: completions bash|zsh|fish */
#include <stdio.h>
#include <string.h>

#include "analyzer/cmd/commands.h"
#include "man/shell.h"

static bool is_path(const struct option_spec *option)
{
    return option->type == OPTION_FILE || option->type == OPTION_DIR || option->type == OPTION_PATHS;
}

/* ---- bash ---- */

static void bash_values(const struct command *command)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option_spec *option = &command->options[i];
        const char *word, *about;
        if (option->type == OPTION_FLAG) continue;
        printf("        %s:--%s", command->name, option->name);
        if (option->letter) printf("|%s:-%c", command->name, option->letter);
        fputs(") ", stdout);
        if (option->type == OPTION_WORD) {
            fputs("mapfile -t COMPREPLY < <(compgen -W '", stdout);
            for (size_t k = 0; option->words(k, &word, &about); k++)
                printf("%s%s", k ? " " : "", word);
            fputs("' -- \"$word\")", stdout);
        } else if (is_path(option)) {
            printf("mapfile -t COMPREPLY < <(compgen -%c -- \"$word\")",
                   option->type == OPTION_FILE ? 'f' : 'd');
        } else {
            putchar(':');
        }
        fputs("; return ;;\n", stdout);
    }
}

static void bash_names(void)
{
    for (size_t i = 0; i < command_count; i++)
        printf("%s ", commands[i]->name);
    fputs("help", stdout);
}

static void bash(void)
{
    fputs(
        "# bash completion of cg-analyze\n_cg_analyze() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
        "    COMPREPLY=()\n"
        "    # --option=value is three words here.\n"
        "    if [ \"$word\" = = ]; then word=\n"
        "    elif [ \"$last\" = = ]; then last=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
        "    if [ \"$COMP_CWORD\" = 1 ] || { [ \"$COMP_CWORD\" = 2 ] && [ \"$command\" = help ]; }; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W '",
        stdout);
    bash_names();
    fputs(" --help --version' -- \"$word\")\n        return\n    fi\n    case $command:$last in\n", stdout);
    for (size_t i = 0; i < command_count; i++)
        bash_values(commands[i]);
    fputs("    esac\n    case $word in\n    -*) case $command in\n", stdout);
    for (size_t i = 0; i < command_count; i++) {
        printf("        %s) mapfile -t COMPREPLY < <(compgen -W '--help", commands[i]->name);
        for (size_t k = 0; k < commands[i]->option_count; k++)
            printf(" --%s", commands[i]->options[k].name);
        fputs("' -- \"$word\") ;;\n", stdout);
    }
    fputs("        esac ;;\n    *) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n    esac\n}\n"
          "complete -o filenames -F _cg_analyze cg-analyze\n",
          stdout);
}

/* ---- zsh ---- */

static void zsh_option(const struct option_spec *option)
{
    const char *word, *about;
    const char *repeat = option->type == OPTION_PATHS ? "*" : "";
    if (option->letter)
        printf(" \\\n        '(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name, option->letter,
               option->argument ? "+" : "", option->name, option->argument ? "=" : "");
    else
        printf(" \\\n        '%s--%s%s[", repeat, option->name, option->argument ? "=" : "");
    shell_zsh_about(option->about);
    putchar(']');
    if (option->argument) {
        printf(":%s:", option->argument);
        if (option->type == OPTION_WORD) {
            putchar('(');
            for (size_t k = 0; option->words(k, &word, &about); k++)
                printf("%s%s", k ? " " : "", word);
            putchar(')');
        } else if (is_path(option)) {
            fputs(option->type == OPTION_FILE ? "_files" : "_files -/", stdout);
        }
    }
    putchar('\'');
}

static void zsh(void)
{
    fputs("#compdef cg-analyze\n# zsh completion of cg-analyze\n_cg_analyze() {\n"
          "    local -a commands=(\n",
          stdout);
    for (size_t i = 0; i < command_count; i++) {
        printf("        '%s:", commands[i]->name);
        shell_zsh_about(commands[i]->about);
        fputs("'\n", stdout);
    }
    fputs("        'help:show all about one command'\n    )\n"
          "    if (( CURRENT == 2 )) || [[ $CURRENT == 3 && ${words[2]} == help ]]; then\n"
          "        _describe command commands\n        return\n    fi\n"
          "    local command=${words[2]}\n    shift words\n    (( CURRENT-- ))\n    case $command in\n",
          stdout);
    for (size_t i = 0; i < command_count; i++) {
        printf("    %s) _arguments '(-h --help)'{-h,--help}'[show help]'", commands[i]->name);
        for (size_t k = 0; k < commands[i]->option_count; k++)
            zsh_option(&commands[i]->options[k]);
        if (commands[i]->positional)
            printf(" \\\n        '%s:%s:_files'", commands[i]->positional_many ? "*" : "",
                   commands[i]->positional);
        fputs(" ;;\n", stdout);
    }
    fputs("    esac\n}\n_cg_analyze \"$@\"\n", stdout);
}

/* ---- fish ---- */

static void fish_option(const struct command *command, const struct option_spec *option)
{
    const char *word, *about;
    printf("complete -c cg-analyze -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
    if (option->letter) printf(" -s %c", option->letter);
    if (option->type == OPTION_DIR)
        fputs(" -x -a '(__fish_complete_directories)'", stdout);
    else if (option->type != OPTION_FLAG)
        fputs(is_path(option) ? " -r -F" : " -x", stdout);
    if (option->type == OPTION_WORD) {
        fputs(" -a '", stdout);
        for (size_t k = 0; option->words(k, &word, &about); k++)
            printf("%s%s", k ? " " : "", word);
        putchar('\'');
    }
    fputs(" -d ", stdout);
    shell_quoted(option->about);
    putchar('\n');
}

static void fish(void)
{
    fputs("# fish completion of cg-analyze\n"
          "complete -c cg-analyze -n __fish_use_subcommand -f -a help -d 'show all about one command'\n"
          "complete -c cg-analyze -s h -l help -d 'show help'\n"
          "complete -c cg-analyze -n __fish_use_subcommand -s V -l version -d 'show the version'\n",
          stdout);
    for (size_t i = 0; i < command_count; i++) {
        printf("complete -c cg-analyze -n __fish_use_subcommand -f -a %s -d ", commands[i]->name);
        shell_quoted(commands[i]->about);
        printf("\ncomplete -c cg-analyze -n '__fish_seen_subcommand_from help' -f -a %s\n",
               commands[i]->name);
        for (size_t k = 0; k < commands[i]->option_count; k++)
            fish_option(commands[i], &commands[i]->options[k]);
    }
}

int main(int argc, char **argv)
{
    return shell_main(argc, argv, &(struct shell_writers){bash, zsh, fish});
}
