/* SHA-256 against the vectors of FIPS 180-4's examples and of doc/spec/trace.md 16.4. */
#include <stdio.h>
#include <string.h>

#include "common/hash256.h"
#include "tests/unit/cmocka_tap.h"

static void expect(struct hash256 *hash, const char *hex)
{
    unsigned char digest[HASH256_BYTES];
    char text[2 * HASH256_BYTES + 1];

    hash256_finish(hash, digest);
    for (int i = 0; i < HASH256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, hex);
}

static void expect_of(const char *text, const char *hex)
{
    struct hash256 hash;

    hash256_start(&hash);
    hash256_add(&hash, text, strlen(text));
    expect(&hash, hex);
}

static void test_standard(void **state)
{
    struct hash256 hash;
    static char thousand[1000];

    (void)state;
    expect_of("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_of("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(thousand, 'a', sizeof thousand);
    hash256_start(&hash);
    for (int i = 0; i < 1000; i++)
        hash256_add(&hash, thousand, sizeof thousand);
    expect(&hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Where the padding begins a block of its own, and where the bytes come one by one. */
static void test_lengths(void **state)
{
    static const struct {
        size_t length;
        const char *hex;
    } cases[] = {
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hash256 hash;

        hash256_start(&hash);
        for (size_t k = 0; k < cases[i].length; k++)
            hash256_add(&hash, "a", 1);
        expect(&hash, cases[i].hex);
    }
}

static void add_text(struct hash256 *hash, const char *text)
{
    unsigned char length[8] = {(unsigned char)strlen(text)};

    hash256_add(hash, length, sizeof length);
    hash256_add(hash, text, strlen(text));
}

static void test_manifests(void **state)
{
    static const struct {
        const char *texts[7];
        const char *hex;
    } cases[] = {
        {{NULL}, "1a7019dd31b542e1d63c1ef86f0c96c188b624427fac0f6145678c3c453da80a"},
        {{"r", "k", "f"}, "de70e615a9b5de77aa4865f5447e560a1520ae6b2e07a972b75d7255822c66ee"},
        {{"vb", "\xc3\xa9", "f"}, "508f375206650ebfe68581e1af21f3fdba150ba5e28f60c997d09e1b4f27b629"},
        {{"vb", "encoder.weight", "encoder", "vb", "head.bias", "head"},
         "7f1983ed6a3b87d5dfb81e8565e7c3177dc21b82be07503396367f7416a18502"},
        {{"vb", "head.bias", "head", "vb", "encoder.weight", "encoder"},
         "000cc8c3270fc369301dc410ffce1762350caf2e502228ceaa56417f2e7fe27a"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hash256 hash;

        hash256_start(&hash);
        hash256_add(&hash, "candle-graph/gradient-manifest/1", sizeof "candle-graph/gradient-manifest/1");
        for (size_t k = 0; cases[i].texts[k]; k++)
            add_text(&hash, cases[i].texts[k]);
        expect(&hash, cases[i].hex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standard),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_manifests),
    };

    return run_tap(tests);
}
