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
        es_hosts_failed(&hosts, 0, now);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(es_hosts_pick(&hosts, now + bounded - 1), 1);
        }
        now += bounded;
    }
    hosts.next = 0;
    assert_int_equal(es_hosts_pick(&hosts, now), 0);
    es_hosts_good(&hosts, 0);
    es_hosts_failed(&hosts, 0, now);
    hosts.next = 0;
    assert_int_equal(es_hosts_pick(&hosts, now + ES_HOSTS_FIRST_MS), 0);
    es_hosts_fini(&hosts);
}

static void where_all_are_left_alone_the_one_that_is_back_first_is_asked(void **state)
{
    (void)state;
    struct es_hosts hosts;
    make(&hosts, 3, 0);
    es_hosts_failed(&hosts, 0, 100);
    es_hosts_failed(&hosts, 1, 90);
    es_hosts_failed(&hosts, 2, 110);
    assert_int_equal(es_hosts_pick(&hosts, 120), ES_HOSTS_NONE);
    assert_int_equal(es_hosts_pick_any(&hosts, 120), 1);
    es_hosts_failed(&hosts, 1, 120);
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
        es_hosts_failed(&hosts, 0, i);
    }
    es_hosts_fini(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_take_turns),
        cmocka_unit_test(a_node_that_fails_is_left_alone_twice_as_long_each_time),
        cmocka_unit_test(where_all_are_left_alone_the_one_that_is_back_first_is_asked),
        cmocka_unit_test(one_node_is_always_asked),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_hosts", tests, NULL, NULL);
}
