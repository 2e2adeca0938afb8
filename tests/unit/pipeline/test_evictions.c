#include "pipeline/deliver/evictions.h"

#include <stdio.h>

#include "support/test.h"

struct told {
    char text[400];
};

static void tell(void *self, const struct eviction *eviction)
{
    struct told *told = self;
    size_t used = strlen(told->text);
    snprintf(told->text + used, sizeof(told->text) - used, "%.*s %llu %llu-%llu;",
        SPAN_ARG(eviction->output), (unsigned long long)eviction->count,
        (unsigned long long)eviction->times.from, (unsigned long long)eviction->times.to);
}

static void they_are_counted_by_output(void **state)
{
    (void)state;
    struct evictions evictions = {.count = 0};
    struct told told = {.text = ""};
    char name[600];
    memset(name, 'n', sizeof(name));
    for (uint64_t i = 1; i <= 300; i++) {
        evictions_add(&evictions, span_text(i % 3 ? "siem" : "hook"), i);
    }
    evictions_add(&evictions, span_make(NULL, 0), 0);
    assert_int_equal(evictions_total(&evictions), 301);
    evictions_tell(&evictions, tell, &told);
    assert_string_equal(told.text, "siem 200 1-299;hook 100 3-300; 1 0-0;");
    evictions_reset(&evictions);
    assert_int_equal(evictions_total(&evictions), 0);
    /* The name has the greatest length of an output's name. */
    evictions_add(&evictions, span_make(name, sizeof(name)), 5);
    evictions_add(&evictions, span_make(name, 512), 6);
    told.text[0] = '\0';
    evictions_tell(&evictions, NULL, NULL);
    assert_int_equal(evictions_total(&evictions), 2);
    evictions_fini(&evictions);
    assert_int_equal(evictions_total(&evictions), 0);
}

static void many_outputs_are_told_apart(void **state)
{
    (void)state;
    struct evictions evictions = {.count = 0};
    char name[16];
    for (unsigned i = 0; i < 1000; i++) {
        int size = snprintf(name, sizeof(name), "o%u", i % 200);
        evictions_add(&evictions, span_make(name, (size_t)size), i);
    }
    assert_int_equal(evictions.count, 200);
    assert_int_equal(evictions_total(&evictions), 1000);
    evictions_fini(&evictions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_counted_by_output),
        cmocka_unit_test(many_outputs_are_told_apart),
    };
    return cmocka_run_group_tests_name("pipeline/evictions", tests, NULL, NULL);
}
