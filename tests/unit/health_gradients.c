/* Health of gradients: their records, the contract, the manifest (doc/spec/trace.md 11 and 16.4). */
#include "tests/unit/health.h"

static void put_gradient(struct text *text, const char *id, const char *root, const char *key,
                         const char *state)
{
    put(text,
        "{\"kind\":\"gradient\",\"event_id\":\"%s\",\"root\":\"%s\",\"key\":\"%s\",\"state\":\"%s\"%s}\n", id,
        root, key, state,
        !strcmp(state, "present") ? ",\"norm\":0.5"
        : !strcmp(state, "zero")  ? ",\"norm\":0"
                                  : "");
}

void test_gradient_records(void **state) /* 11.1 */
{
    (void)state;
    static const struct {
        const char *fields;
        bool consistent;
    } norms[] = {{"\"present\",\"norm\":0.1", true},    {"\"present\",\"norm\":0", false},
                 {"\"present\",\"norm\":-1", false},    {"\"present\"", false},
                 {"\"present\",\"norm\":5e-324", true}, {"\"zero\",\"norm\":0", true},
                 {"\"zero\",\"norm\":-0.0", false},     {"\"zero\",\"norm\":1", false},
                 {"\"zero\",\"norm\":null", false},     {"\"missing\"", true},
                 {"\"missing\",\"norm\":0", false},     {"\"non_finite\",\"norm\":null", true},
                 {"\"non_finite\",\"norm\":1", false}};
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
        struct text text = {0};
        put_minimal(&text);
        put(&text, "{\"kind\":\"gradient\",\"event_id\":\"g\",\"root\":\"r\",\"key\":\"k\",\"state\":%s}\n",
            norms[i].fields);
        put_end(&text, 5);
        expect(&text, norms[i].consistent ? "" : "error gradient_state_norm_inconsistent r k\n");
    }

    struct text text = {0};
    put_minimal(&text);
    put_gradient(&text, " ", "r", "k", "missing");
    put_gradient(&text, " ", "", "k", "missing");
    put_gradient(&text, "g", "r", "\\t", "missing");
    put_gradient(&text, "g", " ", " ", "missing");
    put_end(&text, 5);
    expect(&text, "error empty_gradient_event_id r k\nerror empty_gradient_event_id  k\n"
                  "error empty_gradient_parameter_key  k\nerror duplicate_gradient_event_id  \n"
                  "error empty_gradient_parameter_key r \t\nerror empty_gradient_parameter_key    \n"
                  "error duplicate_gradient_event_id g\n");
}

#define GRADIENTS(level, contract) "\"gradients\":\"" level "\"," contract LEVELS_NONE
#define CONTRACT(digest, expected, families)                                                                 \
    "\"gradient_contract\":{\"manifest_sha256\":\"sha256:" digest "\",\"expected\":[" expected               \
    "],\"families\":[" families "]},"
#define ENTRY(root, key, family) "{\"root\":\"" root "\",\"key\":\"" key "\",\"family\":\"" family "\"}"
#define FAMILY(name, expectation, minimum)                                                                   \
    "{\"family\":\"" name "\",\"expectation\":\"" expectation "\",\"min_present\":" minimum "}"
/* 16.4 */
#define DIGEST_NONE "1a7019dd31b542e1d63c1ef86f0c96c188b624427fac0f6145678c3c453da80a"
#define DIGEST_RKF  "de70e615a9b5de77aa4865f5447e560a1520ae6b2e07a972b75d7255822c66ee"

void test_digests(void **state) /* 16.4 */
{
    (void)state;
    static const struct {
        const char *expected, *digest;
    } cases[] = {
        {"", "sha256:" DIGEST_NONE},
        {ENTRY("r", "k", "f"), "sha256:" DIGEST_RKF},
        {ENTRY("vb", "w", "all"), "sha256:b672f934b48f71b84aa038d83d4f0e8be37b0f8320947be73003203b7205d6cf"},
        {ENTRY("vb", "\u00e9", "f"),
         "sha256:508f375206650ebfe68581e1af21f3fdba150ba5e28f60c997d09e1b4f27b629"},
        {ENTRY("vb", "encoder.weight", "encoder") "," ENTRY("vb", "head.bias", "head"),
         "sha256:7f1983ed6a3b87d5dfb81e8565e7c3177dc21b82be07503396367f7416a18502"},
        {ENTRY("vb", "head.bias", "head") "," ENTRY("vb", "encoder.weight", "encoder"),
         "sha256:000cc8c3270fc369301dc410ffce1762350caf2e502228ceaa56417f2e7fe27a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        put(&text,
            META_WITH("infer", "\"gradient_contract\":{\"manifest_sha256\":\"\",\"expected\":[%s],"
                               "\"families\":[]}," LEVELS_NONE),
            cases[i].expected);
        put_end(&text, 5);
        struct cg_trace *trace = load(&text);
        char digest[GRADIENT_DIGEST_SIZE];
        assert_true(gradient_manifest_digest(trace, &trace->run.capture_contract.gradient_contract, digest));
        assert_string_equal(digest, cases[i].digest);
        trace_free(trace);
    }
}

void test_gate(void **state) /* 11.2 */
{
    (void)state;
    static const struct {
        const char *meta, *issue;
    } cases[] = {
        {META_WITH("infer", GRADIENTS("complete", "")), "error gradient_contract_missing\n"},
        {META_WITH("infer", GRADIENTS("partial", "")), ""},
        {META_WITH("infer", GRADIENTS("partial", CONTRACT("", "", ""))),
         "error gradient_contract_without_complete_coverage\n"},
        {META_WITH("infer", CONTRACT("", "", "") LEVELS_NONE),
         "error gradient_contract_without_complete_coverage\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        put(&text, "%s", cases[i].meta);
        put_span(&text, "a", "", 0, 5, true);
        put_end(&text, 5);
        expect(&text, cases[i].issue);
    }
}

/* Puts the digest of a manifest in its name's place. They are Python's hashlib's. */
static void put_digests(char *out, size_t size, const char *contract)
{
    static const struct {
        const char *name, *digest;
    } digests[] = {
        {"@blank", "61597cf15dbff9089fe4dcd12179129f7de5515e56743c273fe6e0435d979a34"},
        {"@twice", "c2a96cd69955cc6f727f3f16cbccf74fc2e7887b071d486d11aa2063c49b41db"},
        {"@two", "f1d19fd786322bb352b875533bc04d1c115ff8aaf948ba51acba3c6b40875943"},
    };
    snprintf(out, size, "%s", contract);
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++) {
        const char *mark = strstr(contract, digests[i].name);
        if (mark)
            snprintf(out, size, "%.*s%s%s", (int)(mark - contract), contract, digests[i].digest,
                     mark + strlen(digests[i].name));
    }
}

void test_contract(void **state) /* 11.2: the rules in their order */
{
    (void)state;
    static const struct {
        const char *contract, *fault;
    } cases[] = {
        {CONTRACT("x", "", ""), "it expects no gradient"},
        {CONTRACT("x", ENTRY("", "", ""), ""), "it has no family"},
        {CONTRACT("x", ENTRY("", "", ""), FAMILY("f", "active", "1")),
         "manifest_sha256 is not the digest of its expected gradients"},
        {CONTRACT("DE70E615A9B5DE77AA4865F5447E560A1520AE6B2E07A972B75D7255822C66EE", ENTRY("r", "k", "f"),
                  FAMILY("f", "active", "1")),
         "manifest_sha256 is not the digest of its expected gradients"},
        {CONTRACT("@blank", ENTRY("r", " ", "f"), FAMILY("f", "active", "1")),
         "entry 1 has a blank root, key or family"},
        {CONTRACT("@twice", ENTRY("r", "k", "f") "," ENTRY("r", "k", "g"), FAMILY("f", "active", "1")),
         "gradient \"r\" \"k\" is expected more than once"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("\\u2003", "active", "1")),
         "the name of family 1 is blank"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"),
                  FAMILY("f", "active", "1") "," FAMILY("f", "active", "1")),
         "family \"f\" occurs more than once"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("g", "active", "1")),
         "family \"g\" has no gradient"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("f", "inactive", "1")),
         "the inactive family \"f\" asks for 1 gradients instead of 0"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("f", "active", "0")),
         "family \"f\" asks for 0 gradients, which is not between 1 and the number of its gradients"},
        {CONTRACT(DIGEST_RKF, ENTRY("r", "k", "f"), FAMILY("f", "data_conditional", "2")),
         "family \"f\" asks for 2 gradients, which is not between 1 and the number of its gradients"},
        {CONTRACT("@two", ENTRY("r", "k", "f") "," ENTRY("r", "l", "g"), FAMILY("f", "active", "1")),
         "family \"g\" of an expected gradient is not declared"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char contract[1024];
        put_digests(contract, sizeof contract, cases[i].contract);
        struct text text = {0};
        put(&text, META_WITH("infer", "\"gradients\":\"complete\",%s" LEVELS_NONE), contract);
        put_span(&text, "a", "", 0, 5, true);
        put_gradient(&text, "g1", "r", "unheard-of", "present"); /* not judged: the gate stops */
        put_end(&text, 5);
        struct cg_trace *trace = load(&text);
        struct health health;
        assert_true(health_make(trace, &health));
        assert_int_equal(health.gradient_contract_fault, 0);
        assert_int_equal(health.issues[0].code, HEALTH_GRADIENT_CONTRACT_INVALID);
        assert_int_equal(health.issues[0].severity, HEALTH_ERROR);
        char message[HEALTH_MESSAGE_SIZE], expected[HEALTH_MESSAGE_SIZE];
        snprintf(expected, sizeof expected, "the gradient contract is not valid: %s", cases[i].fault);
        health_message(trace, &health.issues[0], message);
        assert_string_equal(message, expected);
        /* Nothing of the manifest after it, only what is absent. */
        assert_non_null(strstr(health_code_name(health.issues[1].code), "_absent"));
        health_seen[HEALTH_GRADIENT_CONTRACT_INVALID] = true;
        health_free(&health);
        trace_free(trace);
    }
}

#define MANIFEST_DIGEST "356ca82f69dedb467131a517c324b54ad526934344fa53faa27851af7a48dc79"
/* Families: act (a1 a2 a3, at least 2), off (o1), cond (c1 c2, at least 2). */
/* clang-format off */
#define MANIFEST_ENTRIES                                                                                     \
    ENTRY("r", "a1", "act") "," ENTRY("r", "a2", "act") "," ENTRY("r", "a3", "act") ","                      \
    ENTRY("r", "o1", "off") "," ENTRY("r", "c1", "cond") "," ENTRY("r", "c2", "cond")
#define MANIFEST_FAMILIES                                                                                    \
    FAMILY("act", "active", "2") "," FAMILY("off", "inactive", "0") "," FAMILY("cond", "data_conditional", "2")
/* clang-format on */
#define MANIFEST                                                                                             \
    META_WITH("infer", GRADIENTS("complete", CONTRACT(MANIFEST_DIGEST, MANIFEST_ENTRIES, MANIFEST_FAMILIES)))

/* states: one letter for each of a1 a2 a3 o1 c1 c2: p(resent) m(issing) z(ero) n(on-finite) - (no record). */
static void put_manifest(struct text *text, const char *states)
{
    static const char *const keys[] = {"a1", "a2", "a3", "o1", "c1", "c2"};
    put(text, MANIFEST);
    put_span(text, "a", "", 0, 5, true);
    for (size_t i = 0; i < 6; i++) {
        const char *state = states[i] == 'p'   ? "present"
                            : states[i] == 'm' ? "missing"
                            : states[i] == 'z' ? "zero"
                                               : "non_finite";
        if (states[i] != '-') put_gradient(text, keys[i], "r", keys[i], state);
    }
}

void test_manifest(void **state) /* 11.3 and 11.4 */
{
    (void)state;
    static const struct {
        const char *states, *complete, *failed;
    } cases[] = {
        {"pppmpp", "", ""},
        {"ppmmmm", "", ""}, /* two of three are enough; a conditional family may have none */
        {"pzmmmm", "error gradient_active_family_below_minimum act 1\n",
         "error gradient_active_family_below_minimum act 1\n"},
        {"pp-mmm", "error gradient_manifest_missing_key r a3\n",
         "warning gradient_manifest_missing_key r a3\n"},
        {"p--mmm",
         "error gradient_manifest_missing_key r a2\nerror gradient_manifest_missing_key r a3\n"
         "error gradient_active_family_below_minimum act 1\n",
         "warning gradient_manifest_missing_key r a2\nwarning gradient_manifest_missing_key r a3\n"},
        {"pppzmm", "error gradient_inactive_family_leakage off 1\n",
         "error gradient_inactive_family_leakage off 1\n"},
        {"pppnmm", "error gradient_family_non_finite off 1\nerror gradient_inactive_family_leakage off 1\n",
         "error gradient_family_non_finite off 1\nerror gradient_inactive_family_leakage off 1\n"},
        {"pppmpm", "error gradient_conditional_family_below_minimum cond 1\n",
         "error gradient_conditional_family_below_minimum cond 1\n"},
        {"pppmp-",
         "error gradient_manifest_missing_key r c2\nerror gradient_conditional_family_below_minimum cond 1\n",
         "warning gradient_manifest_missing_key r c2\n"},
        {"pnnmzn",
         "error gradient_family_non_finite act 2\nerror gradient_active_family_below_minimum act 1\n"
         "error gradient_family_non_finite cond 1\n",
         "error gradient_family_non_finite act 2\nerror gradient_active_family_below_minimum act 1\n"
         "error gradient_family_non_finite cond 1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = {0};
        put_manifest(&text, cases[i].states);
        put_end(&text, 5);
        expect(&text, cases[i].complete);
        char expected[1024];
        snprintf(expected, sizeof expected, "warning capture_failed killed\n%s", cases[i].failed);
        put_manifest(&text, cases[i].states);
        put_failed(&text, 5);
        expect(&text, expected);
    }

    /* Observed keys in byte order; the first record of a key is the one that counts. */
    struct text text = {0};
    put_manifest(&text, "pp-mmm");
    put_gradient(&text, "x1", "s", "a1", "missing");
    put_gradient(&text, "x2", "r", "zz", "missing");
    put_gradient(&text, "x3", "r", "a1", "non_finite");
    put_gradient(&text, "x4", "r", "a1", "missing");
    put_gradient(&text, "x5", "r", "zz", "missing");
    put_end(&text, 5);
    expect(&text,
           "error gradient_manifest_duplicate_key r a1 3\nerror gradient_manifest_duplicate_key r zz 2\n"
           "error gradient_manifest_undeclared_key r zz\nerror gradient_manifest_undeclared_key s a1\n"
           "error gradient_manifest_missing_key r a3\n");
}
