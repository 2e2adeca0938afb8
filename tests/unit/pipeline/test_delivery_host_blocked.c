#include "delivery_rig.h"

#include "platform/plat_clock.h"

/* Records whose destination accepts nothing now, and records that have become too old. */

enum { HOUR_NS_FACTOR = 3600 };
static const uint64_t second_ns = UINT64_C(1000000000);

/* Records "a", "b", "c", "d": the second and third go to route "shut", the others to "open". They
 * were tried for ${tried_ns}. */
static bool try_routed(struct delivery_host *host, uint64_t tried_ns, bool parked)
{
    static const uint32_t ends[] = {1, 2, 3, 4};
    static const uint32_t routes[] = {0, 1, 1, 0};
    const struct span names[] = {span_text("open"), span_text("shut")};
    const struct delivery delivery = {.bytes = span_text("abcd"),
        .record_ends = ends,
        .record_count = 4,
        .routes = routes,
        .route_names = names,
        .route_count = 2};
    return delivery_host_deliver_since(host, &delivery, plat_monotonic_ns() - tried_ns, parked);
}

static bool deliver_routed(struct delivery_host *host, uint64_t tried_ns)
{
    return try_routed(host, tried_ns, false);
}

static void blocked_records_leave_the_delivery_and_others_go_on(void **state)
{
    (void)state;
    struct script script = {.parks = true};
    struct delivery_host *host = start(&script, "MrbbdD", &bare_ops, false);
    assert_true(deliver_routed(host, 0));
    assert_span(buf_span(&script.log), "(a,b,c,d)(a)*");
    assert_span(buf_span(&script.parked), "1 403 shut shut;2 403 shut shut;");
    assert_span(buf_span(&script.left), "0,"); /* the host no longer has the others */
    assert_counts(host, 2, 0, 0, 2, 1);
    assert_span(buf_span(&script.lost), "");
    finish(&script, host);
}

static void what_is_blocked_alone_ends_the_delivery_without_a_wait(void **state)
{
    (void)state;
    struct script script = {.parks = true};
    struct delivery_host *host = start(&script, "MdbbdMbbbb", &bare_ops, false);
    assert_true(deliver_routed(host, 0));
    assert_true(deliver_routed(host, 0));
    assert_span(buf_span(&script.waits), "");
    assert_span(buf_span(&script.warnings), "");
    assert_counts(host, 2, 0, 0, 2, 0);
    finish(&script, host);
}

static void records_whose_place_refuses_everything_are_held_with_what_to_mend(void **state)
{
    (void)state;
    struct script script = {.parks = true, .keeps = true};
    struct delivery_host *host = start(&script, "Mdhhd", &bare_ops, false);
    assert_true(deliver_routed(host, 0));
    assert_span(buf_span(&script.parked), "1 403 shut shutmend it;2 403 shut shutmend it;");
    assert_span(buf_span(&script.kept), "");
    assert_counts(host, 2, 0, 0, 2, 0);
    finish(&script, host);
    struct script alone = {.parks = false};
    host = start(&alone, "MdhhdD", &bare_ops, false);
    assert_true(deliver_routed(host, 0));
    assert_span(buf_span(&alone.log), "(a,b,c,d)(b,c)*");
    assert_span(buf_span(&alone.warnings), "degraded: some failed;mended;");
    finish(&alone, host);
}

static void refused_records_beside_blocked_ones_are_kept(void **state)
{
    (void)state;
    struct script script = {.parks = true, .keeps = true};
    struct delivery_host *host = start(&script, "Mjbbd", &bare_ops, false);
    assert_true(deliver_routed(host, 0));
    assert_span(buf_span(&script.kept), "0 a 0   ;");
    assert_span(buf_span(&script.parked), "1 403 shut shut;2 403 shut shut;");
    assert_int_equal(delivery_host_counts(host).dead_lettered, 1);
    finish(&script, host);
}

static void without_a_place_for_them_or_routes_blocked_records_are_tried_again(void **state)
{
    (void)state;
    struct script script = {.parks = false};
    struct delivery_host *host = start(&script, "MdbbdMbdD", &bare_ops, false);
    assert_true(deliver_routed(host, 0));
    assert_span(buf_span(&script.log), "(a,b,c,d)(b,c)*(b)*");
    assert_span(buf_span(&script.warnings), "degraded: some failed;mended;");
    finish(&script, host);
    struct script routeless = {.parks = true};
    host = start(&routeless, "MbdD", &bare_ops, false);
    assert_true(deliver(host, "a b"));
    assert_span(buf_span(&routeless.log), "(a,b)(a)*");
    assert_span(buf_span(&routeless.parked), "");
    finish(&routeless, host);
}

static void what_is_tried_for_too_long_is_kept_and_says_why(void **state)
{
    (void)state;
    struct script script = {.parks = true, .keeps = true, .max_age_ns = second_ns};
    struct delivery_host *host = start(&script, "Mrbbd", &bare_ops, false);
    assert_true(deliver_routed(host, HOUR_NS_FACTOR * second_ns));
    assert_span(buf_span(&script.parked), "");
    assert_span(buf_span(&script.kept),
        "0 a 0 too_old too_old: tried for longer than retry.max_age. the last failure: some failed "
        ";"
        "1 b 403 too_old too_old: tried for longer than retry.max_age. the last answer: status 403 "
        "shut: it is shut shut;"
        "2 c 403 too_old too_old: tried for longer than retry.max_age. the last answer: status 403 "
        "shut: it is shut shut;");
    assert_span(buf_span(&script.warnings),
        "aged: 3 events are given up after retry.max_age: some failed;");
    struct delivery_counts counts = delivery_host_counts(host);
    assert_int_equal(counts.delivered, 1);
    assert_int_equal(counts.dead_lettered, 3);
    assert_int_equal(counts.kept_too_old, 3);
    assert_int_equal(counts.too_old, 0);
    assert_span(buf_span(&script.lost), "");
    finish(&script, host);
}

static void what_becomes_too_old_and_cannot_be_kept_is_tried_on(void **state)
{
    (void)state;
    struct script script = {.keeps = true, .max_age_ns = second_ns, .keeps_that_fail = 1};
    struct delivery_host *host = start(&script, "RD", &bare_ops, false);
    assert_true(deliver_routed(host, HOUR_NS_FACTOR * second_ns));
    assert_span(buf_span(&script.log), "(a,b,c,d)(a,b,c,d)*");
    assert_span(buf_span(&script.kept), "");
    assert_counts(host, 4, 0, 0, 4, 1);
    finish(&script, host);
}

static void what_was_parked_and_is_held_is_parked_again(void **state)
{
    (void)state;
    struct script script = {.parks = true};
    struct delivery_host *host = start(&script, "gMdrrrD", &bare_ops, false);
    assert_true(try_routed(host, 0, true));
    assert_span(buf_span(&script.log), "(a,b,c,d)");
    assert_span(buf_span(&script.parked), "1 0  ;2 0  ;3 0  ;");
    assert_span(buf_span(&script.waits), "");
    assert_span(buf_span(&script.warnings), "some failed;"); /* others may be accepted */
    assert_true(try_routed(host, 0, false));
    assert_counts(host, 5, 0, 0, 5, 0);
    finish(&script, host);
}

static void what_was_parked_and_fails_for_all_is_tried_on(void **state)
{
    (void)state;
    struct script script = {.parks = true};
    struct delivery_host *host = start(&script, "RD", &bare_ops, false);
    assert_true(try_routed(host, 0, true));
    assert_span(buf_span(&script.log), "(a,b,c,d)(a,b,c,d)*");
    assert_span(buf_span(&script.parked), "");
    finish(&script, host);
}

static void what_was_parked_is_too_old_and_cannot_be_kept_is_parked_again(void **state)
{
    (void)state;
    struct script script = {
        .parks = true, .keeps = true, .max_age_ns = second_ns, .keeps_that_fail = 1};
    struct delivery_host *host = start(&script, "Mdbbd", &bare_ops, false);
    assert_true(try_routed(host, HOUR_NS_FACTOR * second_ns, true));
    assert_span(buf_span(&script.log), "(a,b,c,d)");
    assert_span(buf_span(&script.kept), "");
    assert_int_equal(delivery_host_counts(host).delivered, 2);
    assert_int_equal(delivery_host_counts(host).kept_too_old, 0);
    assert_span(buf_span(&script.parked), "1 0  ;2 0  ;");
    finish(&script, host);
}

static void too_old_events_are_lost_where_no_dead_letters_are_kept(void **state)
{
    (void)state;
    struct script script = {.max_age_ns = second_ns};
    struct delivery_host *host = start(&script, "Mdrrd", &bare_ops, false);
    assert_true(deliver_routed(host, HOUR_NS_FACTOR * second_ns));
    assert_span(buf_span(&script.lost), "1+1o 2+1o ");
    assert_int_equal(delivery_host_counts(host).too_old, 2);
    assert_span(buf_span(&script.warnings),
        "aged: 2 events are given up after retry.max_age: some failed;");
    finish(&script, host);
}

/* More than are kept at once, each with its own text. */
static void many_that_are_too_old_keep_their_reasons(void **state)
{
    (void)state;
    enum { COUNT = 3 * DELIVERY_KEPT_AT_ONCE + 5 };
    char text[COUNT + 2] = "M";
    uint32_t ends[COUNT];
    uint8_t bytes[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        text[1 + i] = 'b';
        bytes[i] = 'x';
        ends[i] = i + 1;
    }
    text[COUNT + 1] = 0;
    struct script script = {.keeps = true, .max_age_ns = second_ns};
    struct delivery_host *host = start(&script, text, &bare_ops, false);
    const struct delivery delivery = {
        .bytes = span_make(bytes, COUNT), .record_ends = ends, .record_count = COUNT};
    assert_true(delivery_host_deliver_since(
        host, &delivery, plat_monotonic_ns() - HOUR_NS_FACTOR * second_ns, false));
    struct buf expected;
    buf_init(&expected, 1 << 20);
    for (size_t i = 0; i < COUNT; i++) {
        buf_printf(&expected,
            "%zu x 403 too_old too_old: tried for longer than retry.max_age. the last answer: "
            "status "
            "403 shut: it is shut logs;",
            i);
    }
    assert_true(span_equal(buf_span(&script.kept), buf_span(&expected)));
    buf_fini(&expected);
    finish(&script, host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocked_records_leave_the_delivery_and_others_go_on),
        cmocka_unit_test(what_is_blocked_alone_ends_the_delivery_without_a_wait),
        cmocka_unit_test(records_whose_place_refuses_everything_are_held_with_what_to_mend),
        cmocka_unit_test(refused_records_beside_blocked_ones_are_kept),
        cmocka_unit_test(without_a_place_for_them_or_routes_blocked_records_are_tried_again),
        cmocka_unit_test(what_is_tried_for_too_long_is_kept_and_says_why),
        cmocka_unit_test(what_becomes_too_old_and_cannot_be_kept_is_tried_on),
        cmocka_unit_test(what_was_parked_and_is_held_is_parked_again),
        cmocka_unit_test(what_was_parked_and_fails_for_all_is_tried_on),
        cmocka_unit_test(what_was_parked_is_too_old_and_cannot_be_kept_is_parked_again),
        cmocka_unit_test(too_old_events_are_lost_where_no_dead_letters_are_kept),
        cmocka_unit_test(many_that_are_too_old_keep_their_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
