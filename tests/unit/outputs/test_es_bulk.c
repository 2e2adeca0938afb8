#include "support/test.h"

#include <stdio.h>

#include "event/model/record.h"
#include "outputs/delivery_id.h"
#include "outputs/elasticsearch/es_bulk.h"

static const uint32_t ends[] = {8, 11, 19};
static const char records[] = "{\"a\":1}\n{}\n{\"b\":2}\n";

static struct delivery three(void)
{
    return (struct delivery){.bytes = span_text(records), .record_ends = ends, .record_count = 3};
}

static void assert_body(
    const struct es_bulk_options *options, const struct delivery *delivery, const char *expected)
{
    struct es_bulk bulk;
    struct error err = {0};
    es_bulk_init(&bulk);
    for (int i = 0; i < 2; i++) { /* the second round finds nothing of the first */
        assert_true(es_bulk_build(&bulk, options, "native", delivery, &err));
        struct es_body body = es_bulk_body(&bulk, 0, delivery->record_count);
        struct buf whole;
        buf_init(&whole, 1 << 20);
        es_bulk_gather(&body, &whole);
        assert_span(buf_span(&whole), expected);
        assert_int_equal(body.size, whole.size);
        assert_ptr_equal(body.parts[1].data, delivery->bytes.data); /* documents are not copied */
        buf_fini(&whole);
    }
    es_bulk_fini(&bulk);
}

static void each_document_has_its_action_in_front(void **state)
{
    (void)state;
    const struct delivery delivery = three();
    const struct es_bulk_options options = {.action = "create", .ids = true};
    assert_body(&options, &delivery,
        "{\"create\":{\"_index\":\"logs-etw.native-default\"}}\n{\"a\":1}\n"
        "{\"create\":{\"_index\":\"logs-etw.native-default\"}}\n{}\n"
        "{\"create\":{\"_index\":\"logs-etw.native-default\"}}\n{\"b\":2}\n");
}

static void documents_are_called_as_the_delivery_says(void **state)
{
    (void)state;
    const struct delivery_ids ids = {.epoch = 0x0123456789abcdef, .first_number = 0xff};
    const uint32_t places[] = {0, 1, 5};
    struct delivery delivery = three();
    delivery.ids = &ids;
    delivery.places = places;
    const struct es_bulk_options options = {
        .action = "create", .ids = true, .name = {.index = "etw"}};
    assert_body(&options, &delivery,
        "{\"create\":{\"_index\":\"etw\",\"_id\":\"0123456789abcdef00000000000000ff\"}}\n{\"a\":1}"
        "\n"
        "{\"create\":{\"_index\":\"etw\",\"_id\":\"0123456789abcdef0000000000000100\"}}\n{}\n"
        "{\"create\":{\"_index\":\"etw\",\"_id\":\"0123456789abcdef0000000000000104\"}}\n"
        "{\"b\":2}\n");
    const struct es_bulk_options without = {.action = "index", .name = {.index = "etw"}};
    assert_body(&without, &delivery,
        "{\"index\":{\"_index\":\"etw\"}}\n{\"a\":1}\n{\"index\":{\"_index\":\"etw\"}}\n{}\n"
        "{\"index\":{\"_index\":\"etw\"}}\n{\"b\":2}\n");
}

static void every_value_of_an_action_is_escaped(void **state)
{
    (void)state;
    struct delivery delivery = three();
    delivery.record_count = 1;
    const struct es_bulk_options options = {.action = "create",
        .name = {.index = "etw"},
        .pipeline = "a\"}}\n{\"delete\":{\"_id\":\"1",
        .routing = "b\\\x01\xff",
        .require_alias = true,
        .require_data_stream = true};
    assert_body(&options, &delivery,
        "{\"create\":{\"_index\":\"etw\",\"pipeline\":\"a\\\"}}\\n{\\\"delete\\\":{\\\"_id\\\":"
        "\\\"1\",\"routing\":\"b\\\\\\u0001\xef\xbf\xbd\",\"require_alias\":true,"
        "\"require_data_stream\":true}}\n{\"a\":1}\n");
}

static void records_go_where_their_routes_say(void **state)
{
    (void)state;
    const struct span names[] = {
        span_text("etw.dns"), span_text("etw.x\"}}"), span_text("etw.unused")};
    const uint32_t routes[] = {1, 0, 1};
    struct delivery delivery = three();
    delivery.routes = routes;
    delivery.route_names = names;
    delivery.route_count = 3;
    const struct es_bulk_options options = {
        .action = "create", .name = {{"etw.{event.name}", "prod"}, NULL}};
    assert_body(&options, &delivery,
        "{\"create\":{\"_index\":\"logs-etw.x_}}-prod\"}}\n{\"a\":1}\n"
        "{\"create\":{\"_index\":\"logs-etw.dns-prod\"}}\n{}\n"
        "{\"create\":{\"_index\":\"logs-etw.x_}}-prod\"}}\n{\"b\":2}\n");
    struct es_bulk bulk;
    struct error err = {0};
    const uint32_t wrong[] = {0, 3, 0};
    delivery.routes = wrong;
    es_bulk_init(&bulk);
    assert_false(es_bulk_build(&bulk, &options, "native", &delivery, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    es_bulk_fini(&bulk);
}

/* Otherwise servers would create an index with the name of the template. */
static void a_name_made_of_fields_is_not_written_without_them(void **state)
{
    (void)state;
    static const struct es_bulk_options cases[] = {
        {.action = "create", .name = {.index = "etw-{provider.name}"}},
        {.action = "create", .name = {{"etw.{event.name}", "prod"}, NULL}}};
    const struct span names[] = {span_text("etw.a"), span_make(NULL, 0)};
    const uint32_t routes[] = {0, 1, 0};
    for (size_t i = 0; i < 4; i++) {
        struct es_bulk bulk;
        struct error err = {0};
        struct delivery delivery = three();
        delivery.routes = i % 2 ? routes : NULL;
        delivery.route_names = names;
        delivery.route_count = i % 2 ? 2 : 0;
        es_bulk_init(&bulk);
        assert_false(es_bulk_build(&bulk, &cases[i / 2], "native", &delivery, &err));
        assert_int_equal(err.code, ERR_CONFIG);
        es_bulk_fini(&bulk);
    }
}

static void a_document_without_its_line_break_gets_one(void **state)
{
    (void)state;
    const uint32_t bare[] = {2, 4};
    const struct delivery delivery = {
        .bytes = span_text("{}{}"), .record_ends = bare, .record_count = 2};
    const struct es_bulk_options options = {.action = "create", .name = {.index = "i"}};
    assert_body(&options, &delivery,
        "{\"create\":{\"_index\":\"i\"}}\n{}\n{\"create\":{\"_index\":\"i\"}}\n{}\n");
}

static void a_stretch_is_as_long_as_fits_but_never_empty(void **state)
{
    (void)state;
    struct es_bulk bulk;
    struct error err = {0};
    const struct delivery delivery = three();
    const struct es_bulk_options options = {.action = "create", .name = {.index = "i"}};
    es_bulk_init(&bulk);
    assert_true(es_bulk_build(&bulk, &options, "native", &delivery, &err));
    const size_t line = strlen("{\"create\":{\"_index\":\"i\"}}\n");
    const size_t one = line + 8;
    const size_t two = one + line + 3;
    const size_t all = two + line + 8;
    assert_int_equal(es_bulk_body(&bulk, 0, 3).size, all);
    assert_int_equal(es_bulk_body(&bulk, 1, 1).size, two - one);
    assert_int_equal(es_bulk_body(&bulk, 1, 2).size, all - one);
    for (size_t max = 0; max < all + 10; max++) {
        size_t expected = max >= all ? 3 : max >= two ? 2 : 1;
        assert_int_equal(es_bulk_fit(&bulk, 0, 3, max), expected);
        assert_int_equal(es_bulk_fit(&bulk, 0, 2, max), expected < 2 ? expected : 2);
        assert_int_equal(es_bulk_fit(&bulk, 2, 1, max), 1);
    }
    assert_int_equal(es_bulk_fit(&bulk, 0, 3, UINT64_MAX), 3);
    es_bulk_fini(&bulk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_document_has_its_action_in_front),
        cmocka_unit_test(documents_are_called_as_the_delivery_says),
        cmocka_unit_test(every_value_of_an_action_is_escaped),
        cmocka_unit_test(records_go_where_their_routes_say),
        cmocka_unit_test(a_name_made_of_fields_is_not_written_without_them),
        cmocka_unit_test(a_document_without_its_line_break_gets_one),
        cmocka_unit_test(a_stretch_is_as_long_as_fits_but_never_empty),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_bulk", tests, NULL, NULL);
}
