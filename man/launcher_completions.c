/* Writes completions of cgtrace for a shell from the tables of commands and settings, to standard output.
 * usage: launcher_completions bash|zsh|fish */
#include <stdio.h>
#include <string.h>

#include "common/settings.h"
#include "man/shell.h"

static const struct setting {
    const char *variable, *allowed, *meaning;
    enum cg_setting_type type;
} settings[] = {
#define SETTING(member, name, type, initial, allowed, meaning) {name, allowed, meaning, CG_TYPE_##type},
    CG_SETTINGS(SETTING)};
static const struct command {
    const char *name, *about;
} commands[] = {
#define COMMAND(name, about) {#name, about},
#include "launcher/commands.def"
};
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const char *option_of(const struct setting *setting)
{
    static char name[64];

    settings_option(setting->variable, name, sizeof name);
    return name;
}

static bool has_words(const struct setting *setting)
{
    return setting->type == CG_TYPE_CHOICE || setting->type == CG_TYPE_WORDS;
}

/* The words that are allowed, with a blank between two. */
static void put_words(const struct setting *setting)
{
    for (const char *c = setting->allowed; *c; c++)
        putchar(*c == '|' ? ' ' : *c);
}

static void put_command_names(void)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        printf("%s ", commands[i].name);
}

/* ---- bash ---- */

static const char bash_head[] =
    "# bash completion of cgtrace\n"
    "_cgtrace_program() {\n"
    "    if declare -F _command_offset >/dev/null; then _command_offset \"$1\"; return; fi\n"
    "    if [ \"$1\" = \"$COMP_CWORD\" ]; then mapfile -t COMPREPLY < <(compgen -c -- \"$word\"; compgen -f "
    "-- "
    "\"$word\")\n"
    "    else mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); fi\n"
    "}\n"
    "_cgtrace() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} option= list= at\n"
    "    COMPREPLY=()\n";
/* A value stands behind its option or behind the option and an equals sign, which bash makes a word. */
static const char bash_walk[] =
    "    for ((at = 2; at < COMP_CWORD; at++)); do\n"
    "        option=${COMP_WORDS[at]}\n"
    "        case $command:$option in\n"
    "        record:--) _cgtrace_program $((at + 1)); return ;;\n"
    "        %s) at=$((at + 1)); [ \"${COMP_WORDS[at]}\" != = ] || at=$((at + 1)) ;;\n"
    "        record:-*) ;;\n"
    "        record:*) _cgtrace_program \"$at\"; return ;;\n"
    "        esac\n"
    "    done\n"
    "    if [ \"$at\" -gt \"$COMP_CWORD\" ]; then\n"
    "        [ \"$word\" != = ] || word=\n"
    "        case $option in\n";

static void bash_value(const struct setting *setting)
{
    if (!has_words(setting) && setting->type != CG_TYPE_PATH && setting->type != CG_TYPE_FILE &&
        setting->type != CG_TYPE_FOLDER)
        return;
    printf("        --%s) ", option_of(setting));
    if (setting->type == CG_TYPE_WORDS) fputs("list=${word%\"${word##*,}\"}; ", stdout);
    fputs("mapfile -t COMPREPLY < <(compgen ", stdout);
    if (has_words(setting)) {
        fputs(setting->type == CG_TYPE_WORDS ? "-P \"$list\" -W '" : "-W '", stdout);
        put_words(setting);
        puts(setting->type == CG_TYPE_WORDS ? "' -- \"${word##*,}\") ;;" : "' -- \"$word\") ;;");
    } else {
        printf("-%c -- \"$word\") ;;\n", setting->type == CG_TYPE_FOLDER ? 'd' : 'f');
    }
}

static void bash(void)
{
    char values[2048] = "";
    size_t used = 0;

    for (size_t i = 0; i < COUNT_OF(settings) && used < sizeof values; i++)
        if (settings[i].type != CG_TYPE_FLAG)
            used += (size_t)snprintf(values + used, sizeof values - used, "%srecord:--%s", used ? "|" : "",
                                     option_of(&settings[i]));
    fputs(bash_head, stdout);
    fputs("    if [ \"$COMP_CWORD\" = 1 ] || { [ \"$COMP_CWORD\" = 2 ] && [ \"$command\" = help ]; }; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W '",
          stdout);
    put_command_names();
    puts("--help --version' -- \"$word\")\n        return\n    fi");
    printf(bash_walk, values);
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        bash_value(&settings[i]);
    fputs("        esac\n        return\n    fi\n    case $command:$word in\n"
          "    record:-*) mapfile -t COMPREPLY < <(compgen -W '--help",
          stdout);
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        printf(" --%s", option_of(&settings[i]));
    puts("' -- \"$word\") ;;\n"
         "    check:-* | doctor:-*) mapfile -t COMPREPLY < <(compgen -W --help -- \"$word\") ;;\n"
         "    record:* | check:*) _cgtrace_program \"$COMP_CWORD\" ;;\n"
         "    esac\n}\ncomplete -o filenames -F _cgtrace cgtrace");
}

/* ---- zsh ---- */

static void zsh_option(const struct setting *setting)
{
    printf(" \\\n        '--%s%s[", option_of(setting), setting->type == CG_TYPE_FLAG ? "" : "=");
    shell_zsh_about(setting->meaning);
    putchar(']');
    if (setting->type != CG_TYPE_FLAG) fputs(":value:", stdout);
    if (setting->type == CG_TYPE_CHOICE) putchar('(');
    if (setting->type == CG_TYPE_WORDS) fputs("_values -s , value ", stdout);
    if (has_words(setting)) put_words(setting);
    if (setting->type == CG_TYPE_CHOICE) putchar(')');
    if (setting->type == CG_TYPE_PATH || setting->type == CG_TYPE_FILE) fputs("_files", stdout);
    if (setting->type == CG_TYPE_FOLDER) fputs("_files -/", stdout);
    putchar('\'');
}

static void zsh(void)
{
    puts("#compdef cgtrace\n# zsh completion of cgtrace\n"
         "_cgtrace_program() {\n    if [[ ${words[1]} == -- ]]; then shift words; (( CURRENT-- )); fi\n    "
         "_normal\n}\n"
         "_cgtrace() {\n    local -a commands=(");
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        printf("        '%s:", commands[i].name);
        shell_zsh_about(commands[i].about);
        puts("'");
    }
    puts("    )\n"
         "    if (( CURRENT == 2 )) || [[ $CURRENT == 3 && ${words[2]} == help ]]; then\n"
         "        _describe command commands\n        return\n    fi\n"
         "    local command=${words[2]}\n    shift words\n    (( CURRENT-- ))\n    case $command in");
    fputs("    record) _arguments -S -A '-*' '(-h --help)'{-h,--help}'[show help]'", stdout);
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        zsh_option(&settings[i]);
    puts(" \\\n        '(-):program: _alternative commands\\:command\\:_command_names\\ -e "
         "files\\:file\\:_files' "
         "'*::argument: _cgtrace_program' ;;\n"
         "    check) _arguments '(-h --help)'{-h,--help}'[show help]' ':program: _alternative "
         "commands\\:command\\:_command_names\\ -e files\\:file\\:_files' ;;\n"
         "    doctor) _arguments '(-h --help)'{-h,--help}'[show help]' ;;\n"
         "    esac\n}\n_cgtrace \"$@\"");
}

/* ---- fish ---- */

static void fish_functions(void)
{
    fputs("function __cgtrace_command\n    set -l words (commandline -cop)\n    contains -- \"$words[2]\" "
          "$argv\nend\n"
          "# The program and its words behind the options of record, the unfinished one included. False: "
          "there is none.\n"
          "function __cgtrace_program\n    __cgtrace_command record; or return 1\n"
          "    set -l words (commandline -cop) (commandline -ct)\n    set -e words[1..2]\n"
          "    while set -q words[2]\n        switch $words[1]\n        case --\n"
          "            printf '%s\\n' $words[2..]\n            return 0\n        case",
          stdout);
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (settings[i].type != CG_TYPE_FLAG) printf(" --%s", option_of(&settings[i]));
    puts(
        "\n            set -e words[1..2]\n        case '-*'\n            set -e words[1]\n        case '*'\n"
        "            break\n        end\n    end\n"
        "    set -q words[1]; and not string match -q -- '-*' $words[1]; and printf '%s\\n' $words\nend");
}

static void fish_option(const struct setting *setting)
{
    printf("complete -c cgtrace -n '__cgtrace_command record; and not __cgtrace_program >/dev/null' -l %s",
           option_of(setting));
    if (setting->type == CG_TYPE_FOLDER)
        fputs(" -x -a '(__fish_complete_directories)'", stdout);
    else if (setting->type == CG_TYPE_PATH || setting->type == CG_TYPE_FILE)
        fputs(" -r -F", stdout);
    else if (setting->type != CG_TYPE_FLAG)
        fputs(" -x", stdout);
    if (has_words(setting)) {
        fputs(setting->type == CG_TYPE_WORDS ? " -a '(__fish_append , " : " -a '", stdout);
        put_words(setting);
        fputs(setting->type == CG_TYPE_WORDS ? ")'" : "'", stdout);
    }
    fputs(" -d ", stdout);
    shell_quoted(setting->meaning);
    putchar('\n');
}

static void fish(void)
{
    puts("# fish completion of cgtrace");
    fish_functions();
    puts("complete -c cgtrace -f\n"
         "complete -c cgtrace -n 'not __cgtrace_program >/dev/null' -s h -l help -d 'show help'\n"
         "complete -c cgtrace -n __fish_use_subcommand -s V -l version -d 'show the version'");
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        printf("complete -c cgtrace -n __fish_use_subcommand -a %s -d ", commands[i].name);
        shell_quoted(commands[i].about);
        printf("\ncomplete -c cgtrace -n '__cgtrace_command help' -a %s\n", commands[i].name);
    }
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        fish_option(&settings[i]);
    puts("complete -c cgtrace -n '__cgtrace_command check' -F -a '(__fish_complete_command)'\n"
         "complete -c cgtrace -n '__cgtrace_program >/dev/null' -F -a "
         "'(__fish_complete_subcommand --commandline (__cgtrace_program))'");
}

int main(int argc, char **argv)
{
    return shell_main(argc, argv, &(struct shell_writers){bash, zsh, fish});
}
