/* Activations (doc/spec/evidence.md 10): random traces against a direct reading of 10.4 to 10.6. */
#include "tests/unit/activations_trace.h"

#define OPS      14
#define STORAGES 16

struct naive_op {
    int span, name, output; /* output -1: none */
    uint64_t time, duration;
    bool tensor_output, logical;
    uint64_t count, live, retained;
    unsigned __int128 bytes, product;
};

struct naive_storage {
    int span, name, tensor, alias; /* name, alias -1: none */
    bool activation;
    uint64_t bytes, start, end; /* end MAX: never */
};

struct naive {
    struct naive_op ops[OPS];
    struct naive_storage storages[STORAGES];
    int op_count, storage_count;
    bool activation_tensor[6];
    uint64_t lost; /* activations without an op */
};

/* Spans: 0 the root, 1 the measured one, 2 below it, 3 beside it. */
static const char *const span_ids[] = {"root", "m", "in", "by"};
static const uint64_t measured_start = 20, measured_end = 60;

static bool has_tensor(const struct naive_storage *storage, int tensor)
{
    return tensor >= 0 && (storage->tensor == tensor || storage->alias == tensor);
}

/* Counts the candidates of a level; *only is the last one found. */
static int candidates(int level, const struct naive_storage *storage, const struct naive_op *ops, int count,
                      int *only)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        bool span = ops[i].span == storage->span, name = ops[i].name == storage->name;
        bool tensor = has_tensor(storage, ops[i].output);
        bool candidate = level == 1   ? span && name
                         : level == 2 ? span && name && tensor
                         : level == 3 ? span && tensor
                                      : tensor;
        if (!candidate) continue;
        found++;
        *only = i;
    }
    return found;
}

static int naive_link(const struct naive_storage *storage, const struct naive_op *ops, int count)
{
    int only = -1, named = storage->name < 0 ? 0 : candidates(1, storage, ops, count, &only);
    if (named == 1) return only;
    if (named > 1) return candidates(2, storage, ops, count, &only) == 1 ? only : -1;
    if (candidates(3, storage, ops, count, &only) == 1) return only;
    return candidates(4, storage, ops, count, &only) == 1 ? only : -1;
}

static void put_random_ops(struct naive *n, struct text *text, uint64_t *random)
{
    for (int i = 0; i < n->op_count; i++) {
        n->ops[i] = (struct naive_op){
            .span = (int)draw(random, 4), .name = (int)draw(random, 3), .output = (int)draw(random, 7) - 1};
        n->ops[i].time = n->ops[i].span == 1   ? 20 + draw(random, 30)
                         : n->ops[i].span == 2 ? 30
                                               : draw(random, 80);
        n->ops[i].duration = draw(random, 10);
        char name[4], output[4] = "";
        snprintf(name, sizeof name, "o%d", n->ops[i].name & 7);
        if (n->ops[i].output >= 0) snprintf(output, sizeof output, "t%d", n->ops[i].output & 7);
        put_op(text, span_ids[n->ops[i].span], name, output, n->ops[i].time, n->ops[i].duration);
    }
}

static void put_random_tensors(struct naive *n, struct text *text, uint64_t *random)
{
    for (int i = 0; i < 6; i++) {
        char id[4];
        snprintf(id, sizeof id, "t%d", i);
        n->activation_tensor[i] = draw(random, 3) == 0;
        if (draw(random, 2)) put_tensor(text, "root", id, "other");
        if (n->activation_tensor[i]) put_tensor(text, "root", id, "activation");
    }
}

static void put_random_storages(struct naive *n, struct text *text, uint64_t *random)
{
    for (int i = 0; i < n->storage_count; i++) {
        static const int spans[] = {0, 3}; /* those that last long enough for any time */
        struct naive_storage *s = &n->storages[i];
        *s = (struct naive_storage){.span = spans[draw(random, 2)],
                                    .name = (int)draw(random, 4) - 1,
                                    .tensor = (int)draw(random, 6),
                                    .alias = (int)draw(random, 7) - 1,
                                    .activation = draw(random, 3) > 0,
                                    .bytes = draw(random, 50),
                                    .start = draw(random, 90)};
        s->end = draw(random, 4) ? s->start + draw(random, 100 - s->start) : UINT64_MAX;
        if (s->alias == s->tensor) s->alias = -1;
        char storage[8], tensor[4], alias[4], name[4] = "";
        snprintf(storage, sizeof storage, "m%d", i);
        snprintf(tensor, sizeof tensor, "t%d", s->tensor & 7);
        snprintf(alias, sizeof alias, "t%d", s->alias & 7);
        if (s->name >= 0) snprintf(name, sizeof name, "o%d", s->name & 7);
        put_alloc(text, s->start, storage, tensor, span_ids[s->span], s->bytes, name,
                  s->activation ? "activation" : "other");
        if (s->alias >= 0)
            put_memory(text, s->start, "cpu", storage, alias, span_ids[s->span], s->bytes, "alloc", "");
        if (s->end != UINT64_MAX)
            put_memory(text, s->end, "cpu", storage, tensor, span_ids[s->span], s->bytes, "free", "");
    }
}

/* Links the storages and sums them up for their ops. */
static void naive_sums(struct naive *n)
{
    int links[STORAGES];
    for (int i = 0; i < n->op_count; i++)
        n->ops[i].tensor_output = n->ops[i].output >= 0 && n->activation_tensor[n->ops[i].output];
    for (int i = 0; i < n->storage_count; i++) {
        links[i] = naive_link(&n->storages[i], n->ops, n->op_count);
        if (!n->storages[i].activation) continue;
        if (links[i] < 0)
            n->lost++;
        else
            n->ops[links[i]].logical = true;
    }
    for (int i = 0; i < n->storage_count; i++) {
        const struct naive_storage *s = &n->storages[i];
        if (links[i] < 0) continue;
        struct naive_op *op = &n->ops[links[i]];
        if (!s->activation && !(op->tensor_output && has_tensor(s, op->output))) continue;
        op->count++;
        op->bytes += s->bytes;
        for (uint64_t t = measured_start; t < measured_end; t++) { /* nanosecond by nanosecond */
            op->live += s->start <= t && t < s->end;
            op->product += s->start <= t && t < s->end ? s->bytes : 0;
        }
        if (s->start < measured_end && s->end > measured_end) op->retained += s->bytes;
    }
}

/* As expect_operations() has it. */
static void naive_operations(const struct naive *n, struct text *expected)
{
    put(expected, "%s", "");
    int index[4] = {0};
    for (int i = 0; i < n->op_count; i++) {
        const struct naive_op *op = &n->ops[i];
        int k = index[op->span]++;
        uint64_t end = op->time + op->duration;
        bool overlaps = op->duration ? op->time < measured_end && end > measured_start
                                     : measured_start <= op->time && op->time <= measured_end;
        bool scope = op->span == 1 || op->span == 2 || overlaps;
        if (!scope || (!op->tensor_output && !op->logical)) continue;
        put(expected, "%s/%d%s%s", span_ids[op->span], k, op->tensor_output ? " tensor" : "",
            op->logical ? " logical" : "");
        if (op->count)
            put(expected, " %llu %llu %llu %llu %llu\n", (unsigned long long)op->bytes,
                (unsigned long long)op->count, (unsigned long long)op->live, (unsigned long long)op->product,
                (unsigned long long)op->retained);
        else
            put(expected, " - - - - -\n");
    }
}

static void compare_random(uint64_t seed)
{
    uint64_t random = seed * 0x9e3779b97f4a7c15ull + 7;
    struct naive n = {.op_count = (int)draw(&random, OPS + 1)};
    struct text text = {0}, expected = {0};
    n.storage_count = (int)draw(&random, STORAGES + 1);
    put(&text, META);
    put_span(&text, "root", "", 0, 100, false);
    put_span(&text, "m", "root", measured_start, measured_end - measured_start, true);
    put_span(&text, "in", "m", 30, 10, false);
    put_span(&text, "by", "root", 0, 100, false);
    put_random_ops(&n, &text, &random);
    put_random_tensors(&n, &text, &random);
    put_random_storages(&n, &text, &random);
    put_end(&text, 200);
    naive_sums(&n);
    naive_operations(&n, &expected);
    struct made made = make(&text);
    assert_true(made.health.structurally_valid);
    expect_operations(&made, expected.bytes);
    assert_int_equal(made.activations.unattributed_storages, n.lost);
    free(expected.bytes);
    release(&made);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++)
        compare_random(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return run_tap(tests);
}
