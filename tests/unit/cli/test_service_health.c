#include "cli/service/service_health.h"

#include <stdio.h>

#include "platform/plat_system.h"
#include "status/status_server.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char folder[TEMP_FOLDER_BYTES];
static char config[TEMP_FOLDER_BYTES + 16];
static char place[TEMP_FOLDER_BYTES + 16];

static int set_up(void **state)
{
    (void)state;
    int made = temp_folder_make(folder, "service_health");
    snprintf(config, sizeof(config), "%s/c.yaml", folder);
    if (plat_has_etw()) {
        snprintf(place, sizeof(place), "etwship-test-%llu", (unsigned long long)temp_process_id());
    } else {
        snprintf(place, sizeof(place), "%s/s", folder);
    }
    return made;
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void write_config(const char *status)
{
    FILE *file = fopen(config, "w");
    assert_non_null(file);
    fprintf(
        file, "%s\nsessions: [{type: file, paths: [a.etl]}]\noutputs: [{type: stdout}]\n", status);
    fclose(file);
}

static void assert_said(const char *text)
{
    struct buf out;
    buf_init(&out, 65536);
    service_health_add(config, &out);
    buf_add_byte(&out, 0);
    assert_string_equal((const char *)out.data, text);
    buf_fini(&out);
}

static void answer(
    void *self, const struct status_request *request, bool trusted, struct status_reply *reply)
{
    (void)self;
    assert_true(trusted);
    assert_true(span_is(request->path, "/health"));
    reply->status = 503;
    buf_add_text(&reply->body, "degraded\ndegraded: output siem: away\x1b. to do: look\n");
}

static void what_health_says_stands_under_the_state_of_the_service(void **state)
{
    (void)state;
    char text[2 * TEMP_FOLDER_BYTES];
    struct error err;
    const struct status_server_settings settings = {.local_name = place, .answer = answer};
    snprintf(text, sizeof(text), "status: {%s: '%s'}", plat_has_etw() ? "pipe" : "unix", place);
    write_config(text);
    struct status_server *server = status_server_start(&settings, &err);
    assert_non_null(server);
    assert_said("health   degraded\n         degraded: output siem: away\\u001b. to do: look\n");
    status_server_stop(server);
}

static void an_agent_that_does_not_answer_is_unknown(void **state)
{
    (void)state;
    char text[2 * TEMP_FOLDER_BYTES];
    struct buf out;
    snprintf(text, sizeof(text), "status: {%s: '%s'}", plat_has_etw() ? "pipe" : "unix", place);
    write_config(text);
    buf_init(&out, 65536);
    service_health_add(config, &out);
    assert_memory_equal(out.data, "health   unknown: ", 18);
    buf_fini(&out);
}

static void without_a_place_to_ask_nothing_is_said(void **state)
{
    (void)state;
    write_config("version: 1");
    assert_said("");
    write_config("sessions: [");
    assert_said("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_health_says_stands_under_the_state_of_the_service, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_agent_that_does_not_answer_is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_place_to_ask_nothing_is_said, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
