#include "support/test.h"

#include <stdio.h>

#include "outputs/elasticsearch/es_hosts.h"

static void make(struct es_hosts *hosts, size_t count, uint64_t start)
{
    static const char *const urls[] = {"http://a", "http://b", "http://c"};
    struct error err = {0};
    char first[] = "http://a";
    const char *copies[] = {first, urls[1], urls[2]};
    const struct config_strings list = {.items = copies, .count = count};
    assert_true(es_hosts_init(hosts, &list, start, &err));
    first[7] = 'x'; /* its own copy */
    assert_string_equal(hosts->items[0].url, "http://a");
}

static void break_node(struct es_hosts *hosts, size_t index, uint64_t now_ms)
{
    es_hosts_failed(hosts, index, now_ms, &(struct es_host_failure){.reason = "http://x: broken"});
}

static void nodes_take_turns(void **state)
{
    (void)state;
    struct es_hosts hosts;
    for (size_t start = 0; start < 5; start++) {
        make(&hosts, 3, start);
        for (size_t i = 0; i < 7; i++) {
            assert_int_equal(es_hosts_pick(&hosts, 0), (start + i) % 3);
            es_hosts_good(&hosts, (start + i) % 3);
        }
        es_hosts_fini(&hosts);
    }
}

static void a_node_that_fails_is_left_alone_twice_as_long_each_time(void **state)
{
    (void)state;
    struct es_hosts hosts;
    uint64_t now = 5000;
    make(&hosts, 2, 0);
    for (uint64_t wait = ES_HOSTS_FIRST_MS; wait < 1000000; wait *= 2) {
        uint64_t bounded = wait < ES_HOSTS_LONGEST_MS ? wait : ES_HOSTS_LONGEST_MS;
        hosts.next = 0;
        assert_int_equal(es_hosts_pick(&hosts, now), 0);
        break_node(&hosts, 0, now);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(es_hosts_pick(&hosts, now + bounded - 1), 1);
        }
        now += bounded;
    }
    hosts.next = 0;
    assert_int_equal(es_hosts_pick(&hosts, now), 0);
    es_hosts_good(&hosts, 0);
    break_node(&hosts, 0, now);
    hosts.next = 0;
    assert_int_equal(es_hosts_pick(&hosts, now + ES_HOSTS_FIRST_MS), 0);
    es_hosts_fini(&hosts);
}

static void where_all_are_left_alone_the_one_that_is_back_first_is_asked(void **state)
{
    (void)state;
    struct es_hosts hosts;
    make(&hosts, 3, 0);
    break_node(&hosts, 0, 100);
    break_node(&hosts, 1, 90);
    break_node(&hosts, 2, 110);
    assert_int_equal(es_hosts_pick(&hosts, 120), ES_HOSTS_NONE);
    assert_int_equal(es_hosts_pick_any(&hosts, 120), 1);
    break_node(&hosts, 1, 120);
    assert_int_equal(es_hosts_pick_any(&hosts, 120), 0);
    es_hosts_good(&hosts, 2);
    assert_int_equal(es_hosts_pick_any(&hosts, 120), 2);
    es_hosts_fini(&hosts);
}

static void one_node_is_always_asked(void **state)
{
    (void)state;
    struct es_hosts hosts;
    make(&hosts, 1, 12345);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(es_hosts_pick_any(&hosts, i), 0);
        break_node(&hosts, 0, i);
    }
    es_hosts_fini(&hosts);
}

static void a_node_is_left_alone_for_as_long_as_it_asks(void **state)
{
    (void)state;
    struct es_hosts hosts;
    make(&hosts, 2, 0);
    const struct es_host_failure busy = {.retry_after_ms = 3600000, .reason = "busy"};
    es_hosts_failed(&hosts, 0, 1000, &busy);
    assert_int_equal(es_hosts_asked_ms(&hosts, 1000), 0); /* the other host asks for no pause */
    for (uint64_t now = 1000; now < 3601000; now += 100000) {
        assert_int_equal(es_hosts_pick(&hosts, now), 1);
    }
    hosts.next = 0;
    assert_int_equal(es_hosts_pick(&hosts, 3601000), 0);
    es_hosts_failed(&hosts, 1, 1000, &(struct es_host_failure){.retry_after_ms = 50, .reason = ""});
    assert_int_equal(es_hosts_asked_ms(&hosts, 1010), 40);
    assert_int_equal(es_hosts_asked_ms(&hosts, 1060), 0);
    es_hosts_good(&hosts, 1);
    assert_int_equal(es_hosts_asked_ms(&hosts, 1010), 0);
    es_hosts_fini(&hosts);
}

static void all_are_bad_when_each_has_a_lasting_fault_or_failed_thrice(void **state)
{
    (void)state;
    struct es_hosts hosts;
    struct error err = {0};
    make(&hosts, 2, 0);
    es_hosts_say(&hosts, &err);
    assert_int_equal(err.code, ERR_NONE);
    const struct es_host_failure refused = {.lasts = true, .reason = "http://a: status 401"};
    es_hosts_failed(&hosts, 0, 0, &refused);
    assert_false(es_hosts_all_bad(&hosts));
    for (int i = 1; i <= ES_HOSTS_BAD_IN_A_ROW; i++) {
        assert_false(es_hosts_all_bad(&hosts));
        break_node(&hosts, 1, 0);
    }
    assert_true(es_hosts_all_bad(&hosts));
    es_hosts_say(&hosts, &err);
    assert_string_equal(err.text, "http://a: status 401; http://x: broken");
    es_hosts_good(&hosts, 0);
    assert_false(es_hosts_all_bad(&hosts));
    es_hosts_fini(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_take_turns),
        cmocka_unit_test(a_node_that_fails_is_left_alone_twice_as_long_each_time),
        cmocka_unit_test(where_all_are_left_alone_the_one_that_is_back_first_is_asked),
        cmocka_unit_test(one_node_is_always_asked),
        cmocka_unit_test(a_node_is_left_alone_for_as_long_as_it_asks),
        cmocka_unit_test(all_are_bad_when_each_has_a_lasting_fault_or_failed_thrice),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_hosts", tests, NULL, NULL);
}
