/* Health of operations, memory, samples, intervals and edges (doc/spec/trace.md 10.1, steps 10 to 16). */
#include "tests/unit/health.h"

void test_evidence(void **state) /* steps 10 to 13 */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "a", "", 10, 10, true);
    put_open(&text, "open", "a", "x");
    put(&text, "{\"kind\":\"device_interval\",\"span_id\":\"a\",\"device\":\"g\",\"stream_id\":\"1\","
               "\"clock_id\":\"k\",\"backend\":\"b\",\"start_ns\":0,\"duration_ns\":0}\n");
    put_op(&text, "a", "", "x", 10, 10);
    put_op(&text, "a", "", "x", 9, 1);
    put_op(&text, "a", "", "x", 20, 1);
    put_op(&text, "open", "", "x", 3, 1);
    put_memory(&text, 9, "cpu", "m1", "t", "a", 1, "alloc", "");
    put_memory(&text, 10, "cpu", "m2", "t", "a", 1, "alloc", "");
    put_memory(&text, 20, "cpu", "m2", "t", "a", 1, "free", "");
    put_memory(&text, 21, "cpu", "m1", "t", "a", 1, "free", "");
    put(&text, "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"g\"}\n");
    put(&text, "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"h\",\"free_bytes\":0}\n");
    put_failed(&text, 30);
    expect(&text, "warning capture_failed killed\nwarning open_span open\nerror empty_device_interval a\n"
                  "error operation_outside_span mm a\nerror operation_outside_span mm a\n"
                  "error memory_outside_span m1 a\nerror memory_outside_span m1 a\n"
                  "error empty_device_memory_sample g\n");
}

void test_edges(void **state) /* step 14 */
{
    (void)state;
    struct text text = {0};
    put_minimal(&text);
    put_span(&text, "b", "a", 0, 3, false);
    put_span(&text, "c", "b", 0, 2, false);
    put(&text, "{\"kind\":\"tensor\",\"span_id\":\"a\",\"tensor_id\":\"t\",\"shape\":[],\"dtype\":\"f32\","
               "\"device\":\"cpu\"}\n");
    put_op(&text, "a", "\"in\",\"in2\"", "out", 0, 1);
    put_memory(&text, 1, "cpu", "m", "only-memory", "a", 1, "alloc", "");
    put_memory(&text, 1, "cpu", "m", "only-memory", "a", 1, "free", "");
    put_call(&text, "a", "b", 3);
    put_call(&text, "a", "b", 4);
    put_call(&text, "a", "c", 2);
    put_call(&text, "a", "c", 1);
    put_call(&text, "zz", "c", 1);
    put_call(&text, "a", "zz", 1);
    put_data(&text, "t", "out");
    put_data(&text, "in2", "in");
    put_data(&text, "", "nothing");
    put_data(&text, "t", "");
    put_data(&text, " ", "t"); /* blank is not empty, only unknown */
    put_data(&text, "t", "only-memory");
    put_end(&text, 5);
    expect(&text, "error call_edge_duration_mismatch a b 4\nerror call_edge_hierarchy_mismatch a c\n"
                  "error call_edge_hierarchy_mismatch a c\nerror call_edge_duration_mismatch a c 1\n"
                  "error unknown_call_edge_span zz c\nerror unknown_call_edge_span a zz\n"
                  "error empty_data_edge_endpoint  nothing\nerror empty_data_edge_endpoint t \n"
                  "error unknown_data_edge_tensor   t\nerror unknown_data_edge_tensor t only-memory\n");

    /* The duration of an open callee is not known. */
    put_minimal(&text);
    put_open(&text, "b", "a", "x");
    put_call(&text, "a", "b", 77);
    put_failed(&text, 5);
    expect(&text, "warning capture_failed killed\nwarning open_span b\n");
}

void test_pairing(void **state) /* steps 15 and 16; in order of time, not of the file */
{
    (void)state;
    struct text text = {0};
    put(&text, META);
    put_span(&text, "a", "", 0, 100, true);
    put_memory(&text, 50, "cpu", "m", "t1", "a", 8, "free", "");  /* 7: ends all aliases */
    put_memory(&text, 1, "cpu", "m", "t1", "a", 8, "free", "");   /* 1: not live */
    put_memory(&text, 2, "cpu", "m", "t1", "a", 8, "alloc", "");  /* 2 */
    put_memory(&text, 3, "gpu", "m", "t1", "a", 9, "alloc", "");  /* another storage */
    put_memory(&text, 4, "cpu", "m", "t2", "a", 8, "alloc", "");  /* 3: alias */
    put_memory(&text, 5, "cpu", "m", "t3", "a", 9, "alloc", "");  /* 4: other size, t3 is not added */
    put_memory(&text, 6, "cpu", "m", "t3", "a", 8, "alloc", "");  /* 5: so it is an alias now */
    put_memory(&text, 7, "cpu", "m", "t2", "a", 8, "alloc", "");  /* 6: again */
    put_memory(&text, 60, "cpu", "m", "t2", "a", 8, "alloc", ""); /* 8: a new life: nothing of the old set */
    put_memory(&text, 61, "cpu", "m", "t1", "a", 8, "alloc", ""); /* 9: alias */
    put_memory(&text, 62, "cpu", "m", "t1", "a", 8, "alloc", ""); /* 10: again */
    put_memory(&text, 63, "cpu", "m", "t9", "a", 7, "free", "");  /* 11: other size, but ends it */
    put_memory(&text, 64, "cpu", "m", "t9", "a", 7, "free", "");  /* 12: not live */
    put_end(&text, 100);
    expect(&text, "error unpaired_free m cpu\nerror allocation_size_mismatch m cpu 9\n"
                  "error duplicate_allocation m cpu\nerror duplicate_allocation m cpu\n"
                  "error allocation_size_mismatch m cpu 7\nerror unpaired_free m cpu\n"
                  "warning retained_allocations 1\n");
}
