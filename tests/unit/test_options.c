/* The option parser with a command of its own that has every type of option (doc/spec/cli.md 1.2), and
 * did-you-mean. */
#include "common/suggest.h"
#include "tests/unit/cmocka_tap.h"

#include <string.h>

#include "analyzer/cmd/commands.h"

static bool colours(size_t index, const char **word, const char **about)
{
    static const char *const words[] = {"red", "green"};
    if (index >= 2) return false;
    *word = words[index];
    *about = "a colour";
    return true;
}

static const struct option_spec options[] = {
    {.name = "baseline", .letter = 'b', .type = OPTION_PATHS, .argument = "P", .about = "a list"},
    {.name = "candidate", .type = OPTION_PATHS, .argument = "P", .about = "a list"},
    {.name = "manifest",
     .type = OPTION_FILE,
     .argument = "FILE",
     .about = "a file",
     .conflicts = {"baseline"}},
    {.name = "colour", .type = OPTION_WORD, .argument = "C", .about = "a word", .words = colours},
    {.name = "number",
     .letter = 'n',
     .type = OPTION_NUMBER,
     .argument = "N",
     .about = "a number",
     .minimum = 2,
     .maximum = 5},
    {.name = "flag", .letter = 'f', .type = OPTION_FLAG, .about = "a flag", .needs = "number"},
    {.name = "must", .type = OPTION_TEXT, .argument = "T", .about = "a text", .required = true},
};
static const struct command command = {
    .name = "try", .positional = "INPUT", .positional_optional = true, OPTION_LIST(options)};

static struct arguments arguments;
static struct cg_error error;
static bool help;

/* Parses the words, of which the last is NULL. */
static int parse(const char *const *words)
{
    char *argv[16];
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)words[argc];
    memset(&error, 0, sizeof error);
    return arguments_parse(&command, argc, argv, &arguments, &help, &error);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void refused(int status, const char *part)
{
    assert_int_equal(status, CG_EXIT_USAGE);
    if (!strstr(error.message, part)) fail_msg("'%s' is not in '%s'", part, error.message);
    arguments_free(&arguments);
}

static void list_is(const char *name, size_t count, const char *const *values)
{
    const struct option_value *value = argument(&arguments, name);
    assert_int_equal(value->count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(value->list[i], values[i]);
}
#define LIST_IS(name, ...)                                                                                   \
    list_is(name, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *const[]){__VA_ARGS__})

static void lists_take_words_up_to_the_next_option(void **state)
{
    (void)state;
    assert_int_equal(
        PARSE("--must", "t", "--baseline", "a", "b", "c", "--candidate", "d", "--baseline", "e", "f"), 0);
    LIST_IS("baseline", "a", "b", "c", "e", "f");
    LIST_IS("candidate", "d");
    assert_null(arguments.input);
    arguments_free(&arguments);

    assert_int_equal(PARSE("in", "--must=t", "-b", "a", "b"), 0);
    LIST_IS("baseline", "a", "b");
    assert_string_equal(arguments.input, "in");
    arguments_free(&arguments);

    assert_int_equal(PARSE("--must=t", "--baseline", "a", "--", "in"), 0); /* -- ends the list as well */
    LIST_IS("baseline", "a");
    assert_string_equal(arguments.input, "in");
    arguments_free(&arguments);
}

static void a_list_with_an_equals_sign_takes_one(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--must=t", "--baseline=a", "--baseline=b", "-b=c", "-bd"), 0);
    LIST_IS("baseline", "a", "b", "c", "d");
    arguments_free(&arguments);
    refused(PARSE("in", "--must=t", "--baseline=a", "b"), "unexpected argument 'b'");
    assert_int_equal(PARSE("--must=t", "--baseline=a", "b"), 0); /* without an input yet, it is the input */
    assert_string_equal(arguments.input, "b");
    arguments_free(&arguments);
}

static void lists_are_not_empty(void **state)
{
    (void)state;
    refused(PARSE("--must=t", "--baseline"), "--baseline needs a value");
    refused(PARSE("--baseline", "--must=t"), "--baseline needs a value");
    refused(PARSE("--must=t", "--baseline", ""), "--baseline needs a path");
    refused(PARSE("--must=t", "--baseline", "a", ""), "--baseline needs a path");
    refused(PARSE("--must=t", "--baseline="), "--baseline needs a path");
}

static void options_that_belong_or_do_not_belong_together(void **state)
{
    (void)state;
    refused(PARSE("--must=t", "--manifest", "m", "--baseline", "a"),
            "--manifest and --baseline exclude each other");
    refused(PARSE("--must=t", "--baseline", "a", "--manifest", "m"), "exclude each other");
    refused(PARSE("--must=t", "-f"), "--flag needs --number too");
    assert_int_equal(PARSE("--must=t", "-f", "-n3"), 0);
    assert_true(argument(&arguments, "flag")->given);
    assert_int_equal(argument(&arguments, "number")->number, 3);
    arguments_free(&arguments);
    refused(PARSE("in"), "--must T is missing");
}

static void values(void **state)
{
    (void)state;
    refused(PARSE("--must=t", "--number", "1"), "from 2 to 5, not '1'");
    refused(PARSE("--must=t", "--number", "6"), "from 2 to 5, not '6'");
    refused(PARSE("--must=t", "--number", "3x"), "not '3x'");
    refused(PARSE("--must=t", "--number", "+3"), "not '+3'");
    refused(PARSE("--must=t", "--number", " 3"), "not ' 3'");
    refused(PARSE("--must=t", "--colour", "rde"), "did you mean 'red'?");
    refused(PARSE("--must=t", "--colour", "blue"), "it is one of red, green");
    refused(PARSE("--must=t", "-fx"), "--flag takes no value");
    refused(PARSE("--must=t", "-z"), "unknown option '-z'");
    refused(PARSE("--must", "-x"), "--must needs a value");
    assert_int_equal(PARSE("--must", "-", "-"), 0);
    assert_string_equal(argument(&arguments, "must")->text, "-");
    assert_string_equal(arguments.input, "-");
    arguments_free(&arguments);
}

static void help_ends_the_reading(void **state)
{
    (void)state;
    assert_int_equal(PARSE("-h", "--nothing"), 0);
    assert_true(help);
    arguments_free(&arguments);
    refused(PARSE("--nothing", "-h"), "unknown option"); /* what comes before it is looked at */
}

static const char *meant(const char *given, const char *const *words)
{
    struct suggestion search = suggest_start(given, strlen(given));
    for (; *words; words++)
        suggest_offer(&search, *words);
    return search.word;
}
#define MEANT(given, ...) meant(given, (const char *const[]){__VA_ARGS__, NULL})

static void did_you_mean(void **state)
{
    (void)state;
    assert_string_equal(MEANT("ovreview", "import", "overview"), "overview"); /* a swap is one mistake */
    assert_string_equal(MEANT("sumary", "summary"), "summary");               /* a letter left out */
    assert_string_equal(MEANT("memorry", "memory"), "memory");                /* one too many */
    assert_string_equal(MEANT("spans", "tensors", "spams"), "spams");         /* another letter */
    assert_string_equal(MEANT("gpu", "gpu-kernels", "gpu-status"),
                        "gpu-kernels"); /* a beginning: the first */
    assert_string_equal(MEANT("tensor", "tensor-stats", "tensors"), "tensor-stats");
    assert_null(MEANT("xyz", "import", "query"));
    assert_null(MEANT("", "import"));
    assert_null(MEANT("ab", "xy")); /* nothing of it is left */
    assert_null(MEANT("0123456789012345678901234567890123456789012345678901234567890123456789", "import"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_take_words_up_to_the_next_option),
        cmocka_unit_test(a_list_with_an_equals_sign_takes_one),
        cmocka_unit_test(lists_are_not_empty),
        cmocka_unit_test(options_that_belong_or_do_not_belong_together),
        cmocka_unit_test(values),
        cmocka_unit_test(help_ends_the_reading),
        cmocka_unit_test(did_you_mean),
    };
    return run_tap(tests);
}
