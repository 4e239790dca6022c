/* Health of semantic labels (doc/spec/trace.md 10.1, steps 19 and 20). */
#include "tests/unit/health.h"

#define LABELS(required, gpu, cpu)                                                                           \
    META_WITH("infer", LEVELS_NONE ",\"required_semantic_labels\":[" required                                \
                                   "],\"gpu_expected_semantic_labels\":[" gpu                                \
                                   "],\"cpu_only_semantic_labels\":[" cpu "]")

void test_labels(void **state) /* steps 19 and 20 */
{
    (void)state;
    static const struct {
        const char *meta, *issues; /* spans are named a, b, b */
    } cases[] = {
        {LABELS("\"a\"", "", ""), ""},
        {LABELS("\"b\",\"c\",\"a\"", "", ""), "required_semantic_label_cardinality b 2\n"
                                              "required_semantic_label_cardinality c\n"},
        {LABELS("\" \",\"c\",\" \"", "", ""),
         "empty_required_semantic_label  \nrequired_semantic_label_cardinality  \n"
         "required_semantic_label_cardinality c\n"
         "empty_required_semantic_label  \nduplicate_required_semantic_label  \n"
         "required_semantic_label_cardinality  \n"},
        {LABELS("\"a\"", "\"a\"", ""), ""},
        {LABELS("\"a\"", "", "\"a\""), ""},
        {LABELS("\"a\"", "\"a\"", "\"a\""), "overlapping_semantic_label_classification a\n"},
        {LABELS("\"a\"", "\"a\",\"a\"", ""), "duplicate_semantic_label_classification a\n"
                                             "overlapping_semantic_label_classification a\n"},
        {LABELS("\"a\"", "\"a\"", "\"\""), "empty_semantic_label_classification \n"
                                           "unrequired_semantic_label_classification \n"
                                           "incomplete_semantic_label_partition\n"},
        {LABELS("\"a\"", "", "\"x\""), "unrequired_semantic_label_classification x\n"
                                       "incomplete_semantic_label_partition\n"},
        {LABELS("", "\"x\"", ""), "unrequired_semantic_label_classification x\n"
                                  "incomplete_semantic_label_partition\n"},
        {LABELS("\"a\",\"a\"", "\"a\"", ""), "duplicate_required_semantic_label a\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int failed = 0; failed < 2; failed++) { /* all of them are soft */
            struct text text = {0}, expected = {0};
            put(&text, "%s", cases[i].meta);
            put_span(&text, "a", "", 0, 5, true);
            for (int j = 0; j < 2; j++)
                put(&text,
                    "{\"kind\":\"span_start\",\"id\":\"s%d\",\"parent_id\":\"a\",\"name\":\"b\",\"start_ns\":"
                    "0,"
                    "\"span_kind\":\"op\"}\n{\"kind\":\"span_end\",\"id\":\"s%d\"}\n",
                    j, j);
            put(&expected, "%s", failed ? "warning capture_failed killed\n" : "");
            for (const char *line = cases[i].issues; *line; line += strcspn(line, "\n") + 1)
                put(&expected, "%s %.*s\n", failed ? "warning" : "error", (int)strcspn(line, "\n"), line);
            if (failed)
                put_failed(&text, 5);
            else
                put_end(&text, 5);
            expect(&text, expected.bytes);
            free(expected.bytes);
        }
    }
}
