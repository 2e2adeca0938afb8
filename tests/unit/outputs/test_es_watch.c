#include "unit/outputs/es_setup_rig.h"

static void warn(void *f, const char *text)
{
    say(f, OUTPUT_FOUND_NOTE, text);
}

static struct es_watch *watch(struct fixture *f)
{
    struct error err;
    const struct output_env env = {.name = "siem", .warn = warn, .host = f};
    struct es_watch *watch = es_watch_create(&f->setup, &env, &err);
    assert_non_null(watch);
    f->findings[0] = '\0';
    return watch;
}

static void a_missing_template_is_told_once(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    struct es_watch *w = watch(f);
    (void)state;
    es_watch_look(w);
    assert_says(f, "etwship-logs-etw.events is missing");
    assert_says(f, "run: etwship setup siem\n");
    f->findings[0] = '\0';
    es_watch_look(w);
    assert_string_equal(f->findings, "");
    assert_int_equal(http_fake_count(f->fake), 1);
    es_watch_destroy(w);
    stop(f);
}

static void the_template_of_setup_is_fine_and_another_one_is_told(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    assert_true(run(f));
    struct es_watch *w = watch(f);
    es_watch_look(w);
    assert_string_equal(f->findings, "");
    es_watch_destroy(w);
    snprintf(f->server.template, sizeof(f->server.template), "{\"index_templates\":[]}");
    w = watch(f);
    es_watch_look(w);
    assert_says(f, "differs from that of this version. run: etwship setup siem");
    es_watch_destroy(w);
    stop(f);
}

static void a_server_that_is_away_is_asked_again(void **state)
{
    struct fixture *f = start(OPENSEARCH);
    (void)state;
    f->urls[1] = f->urls[0];
    f->urls[0] = "http://127.0.0.1:1";
    f->hosts.count = 2;
    struct es_watch *w = watch(f);
    es_watch_look(w);
    assert_string_equal(f->findings, "");
    es_watch_look(w);
    assert_says(f, "is missing");
    es_watch_destroy(w);
    stop(f);
}

static void a_server_that_refuses_to_say_is_left_in_peace(void **state)
{
    static const int statuses[] = {400, 403, 405, 501};
    (void)state;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        struct fixture *f = start(OPENSEARCH);
        const struct http_fake_reply refusal = {.status = statuses[i]};
        struct es_watch *w = watch(f);
        http_fake_handle(f->fake, NULL, NULL);
        http_fake_script(f->fake, &refusal, 1);
        es_watch_look(w);
        es_watch_look(w);
        assert_string_equal(f->findings, "");
        assert_int_equal(http_fake_count(f->fake), 1);
        es_watch_destroy(w);
        stop(f);
    }
}

static void a_server_that_cannot_say_yet_is_asked_again(void **state)
{
    static const struct http_fake_reply replies[] = {{.status = 401}, {.status = 407},
        {.status = 408}, {.status = 429}, {.status = 500}, {.status = 503},
        {.status = 404, .cut = 20}};
    (void)state;
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        struct fixture *f = start(OPENSEARCH);
        struct es_watch *w = watch(f);
        http_fake_handle(f->fake, NULL, NULL);
        http_fake_script(f->fake, &replies[i], 1);
        es_watch_look(w);
        assert_string_equal(f->findings, "");
        http_fake_handle(f->fake, answer, &f->server);
        es_watch_look(w);
        assert_says(f, "is missing");
        es_watch_destroy(w);
        stop(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_template_is_told_once),
        cmocka_unit_test(the_template_of_setup_is_fine_and_another_one_is_told),
        cmocka_unit_test(a_server_that_is_away_is_asked_again),
        cmocka_unit_test(a_server_that_refuses_to_say_is_left_in_peace),
        cmocka_unit_test(a_server_that_cannot_say_yet_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
