/* Options of `cgtrace record`: one for each setting, --ring-bytes for CGTRACE_RING_BYTES and so on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/settings.h"
#include "common/suggest.h"
#include "launcher/launcher.h"

enum { NAME_BYTES = 64 };

struct setting {
    const char *variable, *initial, *allowed, *meaning;
    enum cg_setting_type type;
};

static const struct setting settings[] = {
#define SETTING(member, name, type, initial, allowed, meaning)                                               \
    {name, initial, allowed, meaning, CG_TYPE_##type},
    CG_SETTINGS(SETTING)
#undef SETTING
};
enum { SETTING_COUNT = sizeof settings / sizeof *settings };

/* The setting of `--name` or `--name=value`; NULL when there is none. length is that of name. */
static const struct setting *find(const char *name, size_t length)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char known[NAME_BYTES];
        settings_option(settings[i].variable, known, sizeof known);
        if (strlen(known) == length && memcmp(known, name, length) == 0) return &settings[i];
    }
    return NULL;
}

static int unknown_option(const char *word, size_t length)
{
    static char nearest[NAME_BYTES];
    struct suggestion search = suggest_start(word, length);

    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char known[NAME_BYTES];
        settings_option(settings[i].variable, known, sizeof known);
        if (!suggest_nearer(&search, known, strlen(known))) continue;
        strcpy(nearest, known);
        search.word = nearest;
    }
    return complain(EXIT_USAGE, "unknown option --%.*s%s%s; `cgtrace record --help` lists them", (int)length,
                    word, search.word ? ": did you mean --" : "", search.word ? search.word : "");
}

/* One option at argv[*at]; *at moves to its last word. */
static int read_option(int argc, char **argv, int *at)
{
    const char *word = argv[*at] + 2, *value = strchr(word, '=');
    size_t length = value ? (size_t)(value - word) : strlen(word);
    const struct setting *setting = find(word, length);

    if (!setting) return unknown_option(word, length);
    if (value) {
        if (setting->type == CG_TYPE_FLAG)
            return complain(EXIT_USAGE, "--%.*s takes no value", (int)length, word);
        value++;
    } else if (setting->type == CG_TYPE_FLAG) {
        value = "1";
    } else if (*at + 1 < argc && strcmp(argv[*at + 1], "--") != 0) {
        value = argv[++*at];
    } else {
        return complain(EXIT_USAGE, "--%s needs a value: %s", word, setting->allowed);
    }
    if (setenv(setting->variable, value, 1) != 0) return complain(EXIT_CANNOT_RECORD, "out of memory");
    return 0;
}

int options_read(int argc, char **argv, int *first)
{
    int at = 1;

    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (strcmp(argv[at], "-h") == 0 || strcmp(argv[at], "--help") == 0) return -1;
        if (strncmp(argv[at], "--", 2) != 0)
            return complain(EXIT_USAGE, "unknown option %s; `cgtrace record --help` lists them", argv[at]);
        int status = read_option(argc, argv, &at);
        if (status != 0) return status;
    }
    if (at >= argc)
        return complain(EXIT_USAGE, "no program named: cgtrace record [options] -- program [arguments]");
    *first = at;
    return 0;
}

/* A file with something in it that begins as an object does. */
static const char *file_fault(const char *path)
{
    FILE *file = fopen(path, "re");
    int first;

    if (!file) return strerror(errno);
    while ((first = getc(file)) == ' ' || first == '\t' || first == '\n' || first == '\r') {
    }
    bool failed = ferror(file) != 0;
    fclose(file);
    return failed ? "it cannot be read" : first == '{' ? NULL : "it holds no JSON object";
}

bool options_files_readable(void)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *path = settings[i].type == CG_TYPE_FILE ? getenv(settings[i].variable) : NULL;
        const char *fault = path && *path ? file_fault(path) : NULL;
        if (!fault) continue;
        complain(EXIT_USAGE, "%s: %s: %s; allowed: %s", settings[i].variable, path, fault,
                 settings[i].allowed);
        return false;
    }
    return true;
}

void options_help(void)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings[i];
        char name[NAME_BYTES];
        settings_option(setting->variable, name, sizeof name);
        printf("  --%s%s\n      %s\n", name, setting->type == CG_TYPE_FLAG ? "" : " VALUE", setting->meaning);
        if (setting->type != CG_TYPE_FLAG)
            printf("      allowed: %s%s%s\n", setting->allowed, *setting->initial ? "; default: " : "",
                   setting->initial);
        printf("      environment: %s\n", setting->variable);
    }
}
