/* The option parser; its rules are those of doc/spec/cli.md 1.2. */
#include "analyzer/cmd/commands.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/suggest.h"
#include "common/utf8.h"

struct parser {
    const struct command *command;
    struct arguments *arguments;
    struct cg_error *error;
    char **words;
    int count, next;
    const struct option_spec *list; /* the list option that takes bare words just now */
};

static int find_option(const struct command *command, const char *name, size_t length)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (strlen(command->options[i].name) == length && memcmp(command->options[i].name, name, length) == 0)
            return (int)i;
    return -1;
}

const struct option_value *argument(const struct arguments *arguments, const char *name)
{
    int index = find_option(arguments->command, name, strlen(name));
    assert(index >= 0);
    return &arguments->values[index];
}

static int usage(struct parser *parser, const char *message, const char *subject)
{
    return cg_fail(parser->error, CG_EXIT_USAGE, "%s: %s '%s' (see 'cg-analyze help %s')",
                   parser->command->name, message, subject, parser->command->name);
}

static int unknown_option(struct parser *parser, const char *word)
{
    const char *name = word + strspn(word, "-");
    size_t length = strcspn(name, "=");
    struct suggestion best = suggest_start(name, length);
    for (size_t i = 0; word[1] == '-' && i < parser->command->option_count; i++)
        suggest_offer(&best, parser->command->options[i].name);
    if (!best.word) return usage(parser, "unknown option", word);
    return cg_fail(parser->error, CG_EXIT_USAGE, "%s: unknown option '%s': did you mean '--%s'?",
                   parser->command->name, word, best.word);
}

static int set_word(struct parser *parser, const struct option_spec *spec, const char *text)
{
    const char *word, *about;
    struct suggestion best = suggest_start(text, strlen(text));
    char all[512] = "";
    for (size_t i = 0; spec->words(i, &word, &about); i++) {
        if (strcmp(word, text) == 0) return CG_EXIT_DONE;
        suggest_offer(&best, word);
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", word);
    }
    if (best.word)
        return cg_fail(parser->error, CG_EXIT_USAGE, "%s: --%s has no '%s': did you mean '%s'?",
                       parser->command->name, spec->name, text, best.word);
    return cg_fail(parser->error, CG_EXIT_USAGE, "%s: --%s has no '%s': it is one of %s",
                   parser->command->name, spec->name, text, all);
}

static int set_number(struct parser *parser, const struct option_spec *spec, const char *text,
                      uint64_t *number)
{
    uint64_t value = 0;
    bool good = *text != '\0';
    for (const char *c = text; *c && good; c++) {
        good = *c >= '0' && *c <= '9' && !__builtin_mul_overflow(value, UINT64_C(10), &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value);
    }
    *number = value;
    if (good && value >= spec->minimum && value <= spec->maximum) return CG_EXIT_DONE;
    return cg_fail(parser->error, CG_EXIT_USAGE, "%s: --%s takes a whole number from %llu to %llu, not '%s'",
                   parser->command->name, spec->name, (unsigned long long)spec->minimum,
                   (unsigned long long)spec->maximum, text);
}

static bool is_path(enum option_type type)
{
    return type == OPTION_FILE || type == OPTION_DIR || type == OPTION_PATHS;
}

/* Takes one value of an option. */
static int set_value(struct parser *parser, int index, const char *text)
{
    const struct option_spec *spec = &parser->command->options[index];
    struct option_value *value = &parser->arguments->values[index];
    if (is_path(spec->type) && *text == '\0')
        return cg_fail(parser->error, CG_EXIT_USAGE, "%s: --%s needs a path, not an empty text",
                       parser->command->name, spec->name);
    if (spec->type == OPTION_TEXT && utf8_valid_length(text, strlen(text)) != strlen(text))
        return cg_fail(parser->error, CG_EXIT_USAGE, "%s: --%s is not UTF-8: no name can be equal to it",
                       parser->command->name, spec->name);
    value->given = true;
    value->text = text;
    if (spec->type == OPTION_WORD) return set_word(parser, spec, text);
    if (spec->type == OPTION_NUMBER) return set_number(parser, spec, text, &value->number);
    if (spec->type == OPTION_PATHS) {
        const char **list = realloc(value->list, (value->count + 1) * sizeof *list);
        if (!list) return cg_out_of_memory(parser->error);
        value->list = list;
        list[value->count++] = text;
    }
    return CG_EXIT_DONE;
}

/* A following word is a value unless it looks like an option; "-" alone is a value (standard output). */
static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* One option at parser->words[parser->next]; attached is the value written in the same word, or NULL. */
static int take_option(struct parser *parser, int index, const char *attached)
{
    const struct option_spec *spec = &parser->command->options[index];
    parser->next++;
    if (spec->type != OPTION_PATHS && parser->arguments->values[index].given)
        return cg_fail(parser->error, CG_EXIT_USAGE, "%s: --%s is given twice: give it once",
                       parser->command->name, spec->name);
    if (spec->type == OPTION_FLAG) {
        if (attached)
            return cg_fail(parser->error, CG_EXIT_USAGE, "%s: --%s takes no value", parser->command->name,
                           spec->name);
        parser->arguments->values[index].given = true;
        return CG_EXIT_DONE;
    }
    if (attached) return set_value(parser, index, attached);
    if (parser->next == parser->count || looks_like_option(parser->words[parser->next]))
        return cg_fail(parser->error, CG_EXIT_USAGE,
                       "%s: --%s needs a value: --%s %s (one that starts with - is written --%s=-...)",
                       parser->command->name, spec->name, spec->name, spec->argument, spec->name);
    if (spec->type == OPTION_PATHS) parser->list = spec;
    return set_value(parser, index, parser->words[parser->next++]);
}

static int take_positional(struct parser *parser, const char *word)
{
    if (parser->list) return set_value(parser, (int)(parser->list - parser->command->options), word);
    if (!parser->command->positional || (parser->arguments->input && !parser->command->positional_many))
        return usage(parser, "unexpected argument", word);
    if (*word == '\0')
        return cg_fail(parser->error, CG_EXIT_USAGE, "%s: %s needs a path, not an empty text",
                       parser->command->name, parser->command->positional);
    if (parser->command->positional_many) {
        struct arguments *to = parser->arguments;
        const char **inputs = realloc(to->inputs, (to->input_count + 1) * sizeof *inputs);
        if (!inputs) return cg_out_of_memory(parser->error);
        to->inputs = inputs;
        inputs[to->input_count++] = word;
    }
    if (!parser->arguments->input) parser->arguments->input = word;
    return CG_EXIT_DONE;
}

/* One word that looks like an option. */
static int take_dashed(struct parser *parser, const char *word, bool *help)
{
    parser->list = NULL;
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
        *help = true;
        return CG_EXIT_DONE;
    }
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        int index = find_option(parser->command, word + 2, length);
        if (index < 0) return unknown_option(parser, word);
        return take_option(parser, index, word[2 + length] == '=' ? word + 2 + length + 1 : NULL);
    }
    for (size_t i = 0; i < parser->command->option_count; i++)
        if (parser->command->options[i].letter == word[1]) {
            const char *attached = word[2] == '\0' ? NULL : word + 2 + (word[2] == '=');
            return take_option(parser, (int)i, attached);
        }
    return unknown_option(parser, word);
}

/* What can be told only when all words are read. */
static int check_together(struct parser *parser)
{
    const struct command *command = parser->command;
    const struct option_value *values = parser->arguments->values;
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option_spec *spec = &command->options[i];
        if (spec->required && !values[i].given)
            return cg_fail(parser->error, CG_EXIT_USAGE, "%s: --%s %s is missing (see 'cg-analyze help %s')",
                           command->name, spec->name, spec->argument, command->name);
        if (!values[i].given) continue;
        for (size_t k = 0; k < 3 && spec->conflicts[k]; k++)
            if (argument(parser->arguments, spec->conflicts[k])->given)
                return cg_fail(parser->error, CG_EXIT_USAGE,
                               "%s: --%s and --%s exclude each other: give one of them", command->name,
                               spec->name, spec->conflicts[k]);
        if (spec->needs && !argument(parser->arguments, spec->needs)->given)
            return cg_fail(parser->error, CG_EXIT_USAGE, "%s: --%s needs --%s too", command->name, spec->name,
                           spec->needs);
    }
    if (command->positional && !command->positional_optional && !parser->arguments->input)
        return cg_fail(parser->error, CG_EXIT_USAGE, "%s: %s is missing (see 'cg-analyze help %s')",
                       command->name, command->positional, command->name);
    return CG_EXIT_DONE;
}

int arguments_parse(const struct command *command, int argc, char **argv, struct arguments *arguments,
                    bool *help, struct cg_error *error)
{
    *arguments = (struct arguments){.command = command};
    struct parser parser = {
        .command = command, .arguments = arguments, .error = error, .words = argv, .count = argc};
    bool options_end = false;
    *help = false;
    while (parser.next < argc) {
        const char *word = argv[parser.next];
        int status;
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
            parser.list = NULL;
            parser.next++;
            continue;
        }
        if (!options_end && looks_like_option(word)) {
            status = take_dashed(&parser, word, help);
            if (*help) return CG_EXIT_DONE;
        } else {
            parser.next++;
            status = take_positional(&parser, word);
        }
        if (status != CG_EXIT_DONE) return status;
    }
    return check_together(&parser);
}

void arguments_free(struct arguments *arguments)
{
    free(arguments->inputs);
    for (size_t i = 0; i < COMMAND_OPTIONS_MAX; i++)
        free(arguments->values[i].list);
}
