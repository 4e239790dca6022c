/* Names of devices in meta: taken where they have their form, never a reason to refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "analyzer/trace/devices.h"

/* As the loader does, which has no document where the record is not one of jansson's. */
static void read_meta(const char *text, struct cg_devices **devices, struct cg_device_clocks **clocks)
{
    json_t *meta = json_loads(text, 0, NULL);

    assert_true(devices_read(meta, devices, clocks));
    json_decref(meta);
}

static struct cg_devices *read_text(const char *text)
{
    struct cg_devices *devices = (struct cg_devices *)1;
    struct cg_device_clocks *clocks = (struct cg_device_clocks *)1;

    read_meta(text, &devices, &clocks);
    assert_null(clocks);
    return devices;
}

static void names(void **state)
{
    struct cg_devices *devices = read_text("{\"kind\":\"meta\",\"cuda\":{\"driver\":13000,\"devices\":[{"
                                           "\"device\":\"cuda:0\",\"name\":\"A\",\"bytes\":1},"
                                           "{\"device\":\"cuda:1\",\"name\":\"B \\u00e9\"}]}}");

    (void)state;
    assert_non_null(devices);
    assert_int_equal(devices->count, 2);
    assert_string_equal(devices->items[0].device, "cuda:0");
    assert_string_equal(devices->items[0].name, "A");
    assert_string_equal(devices->items[1].device, "cuda:1");
    assert_string_equal(devices->items[1].name, "B \xc3\xa9");
    free(devices);
}

static void other_forms(void **state)
{
    static const char *const texts[] = {
        "{\"kind\":\"meta\"}",
        "{\"cuda\":null}",
        "{\"cuda\":[1,2]}",
        "{\"cuda\":{}}",
        "{\"cuda\":{\"devices\":{}}}",
        "{\"cuda\":{\"devices\":[]}}",
        "{\"cuda\":{\"devices\":[1,null,{},{\"device\":\"cuda:0\"},{\"name\":\"A\"}]}}",
        "{\"cuda\":{\"devices\":[{\"device\":1,\"name\":\"A\"},{\"device\":\"cuda:0\",\"name\":[]}]}}",
        "{\"cuda\":{\"devices\":[{\"device\":\"\",\"name\":\"A\"},{\"device\":\"cuda:0\",\"name\":\"\"}]}}",
        "{\"cuda\":{\"devices\":[{\"device\":\"a device whose name has thirty-two\",\"name\":\"A\"}]}}",
        "{\"cuda\":",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(read_text(texts[i]));
}

static void many(void **state)
{
    char text[8192] = "{\"cuda\":{\"devices\":[";
    struct cg_devices *devices;

    (void)state;
    for (int i = 0; i < 70; i++)
        strcat(text,
               i ? ",{\"device\":\"cuda:0\",\"name\":\"A\"}" : "{\"device\":\"cuda:0\",\"name\":\"A\"}");
    strcat(text, "]}}");
    devices = read_text(text);
    assert_non_null(devices);
    assert_int_equal(devices->count, 64);
    free(devices);
}

static void clocks(void **state)
{
    static const char text[] =
        "{\"clock\":{\"source\":\"tsc\",\"devices\":{\"a\":[{\"device_ns\":10,\"host_ns\":20,\"uncertainty_"
        "ns\":3}],"
        "\"b\":[{\"device_ns\":10,\"host_ns\":20,\"uncertainty_ns\":3},{\"device_ns\":30,\"host_ns\":50,"
        "\"uncertainty_ns\":4}],"
        "\"turned\":[{\"device_ns\":10,\"host_ns\":20,\"uncertainty_ns\":3},{\"device_ns\":30,\"host_ns\":20,"
        "\"uncertainty_ns\":4}],"
        "\"none\":[],\"\":[{\"device_ns\":10,\"host_ns\":20,\"uncertainty_ns\":3}],"
        "\"negative\":[{\"device_ns\":-1,\"host_ns\":20,\"uncertainty_ns\":3}],"
        "\"text\":[{\"device_ns\":\"1\",\"host_ns\":20,\"uncertainty_ns\":3}],\"other\":7}}}";
    struct cg_devices *devices;
    struct cg_device_clocks *found;

    (void)state;
    read_meta(text, &devices, &found);
    assert_null(devices);
    assert_non_null(found);
    assert_int_equal(found->count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct cg_device_clock *clock = &found->items[i];
        assert_int_equal(clock->anchors[0].device_ns, 10);
        assert_int_equal(clock->anchors[0].host_ns, 20);
        assert_int_equal(clock->anchors[0].uncertainty_ns, 3);
        assert_int_equal(clock->count, strcmp(clock->clock_id, "b") == 0 ? 2 : 1);
        if (clock->count == 2) assert_int_equal(clock->anchors[1].host_ns, 50);
    }
    free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clocks), cmocka_unit_test(names),
                                       cmocka_unit_test(other_forms), cmocka_unit_test(many)};

    return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
