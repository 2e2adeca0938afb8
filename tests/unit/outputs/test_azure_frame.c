#include "outputs/azure_logs/azure_frame.h"

#include <stdio.h>

#include "outputs/azure_logs/azure_settings.h"
#include "outputs/outputs.h"
#include "support/json_check.h"
#include "support/test.h"

/* The requests that `setup` shows for Azure: whole JSON, and columns that the rule fills. */

enum { MAX_SHOWN = 8, MAX_BODY_BYTES = 16384 };

static struct {
    size_t count;
    char paths[MAX_SHOWN][256];
    char bodies[MAX_SHOWN][MAX_BODY_BYTES];
    size_t notes;
} shown;

static void say(void *host, enum output_finding finding, const char *text)
{
    (void)host;
    assert_int_equal(finding, OUTPUT_FOUND_NOTE);
    assert_true(text[0] != 0);
    shown.notes++;
}

static void show(void *host, const char *method, const char *path, struct span body)
{
    size_t at;
    (void)host;
    assert_true(shown.count < MAX_SHOWN);
    assert_true(body.size < MAX_BODY_BYTES);
    assert_string_equal(method, "PUT");
    assert_null(json_check(body, &at));
    snprintf(shown.paths[shown.count], sizeof(shown.paths[0]), "%s", path);
    memcpy(shown.bodies[shown.count], body.data, body.size);
    shown.bodies[shown.count++][body.size] = 0;
}

static void set_up(const char *format)
{
    const struct azure_settings settings = {.stream = "Custom-Etw"};
    const struct output_talk talk = {.format = format, .say = say, .show = show};
    memset(&shown, 0, sizeof(shown));
    assert_true(azure_frame_setup(&settings, &talk));
}

static void the_table_has_the_columns_that_the_rule_fills(void **state)
{
    (void)state;
    static const char *const formats[] = {"native", "ecs"};
    static const char *const columns[] = {"EtwshipId", "Provider", "EventCode", "EventName",
        "EventLevel", "ProcessId", "Computer", "Message", "Data", "Event"};
    for (size_t i = 0; i < 2; i++) {
        set_up(formats[i]);
        assert_int_equal(shown.count, i ? 2 : 4); /* and two tables that every workspace has */
        assert_int_equal(shown.notes, i ? 1 : 2);
        assert_string_equal(shown.bodies[0],
            "{\"properties\":{\"schema\":{\"name\":\"Etw_CL\",\"columns\":["
            "{\"name\":\"TimeGenerated\",\"type\":\"datetime\"},"
            "{\"name\":\"EtwshipId\",\"type\":\"string\"},"
            "{\"name\":\"Provider\",\"type\":\"string\"},"
            "{\"name\":\"EventCode\",\"type\":\"string\"},"
            "{\"name\":\"EventName\",\"type\":\"string\"},{\"name\":\"EventLevel\",\"type\":"
            "\"int\"},"
            "{\"name\":\"ProcessId\",\"type\":\"long\"},{\"name\":\"Computer\",\"type\":\"string\"}"
            ","
            "{\"name\":\"Message\",\"type\":\"string\"},{\"name\":\"Data\",\"type\":\"dynamic\"},"
            "{\"name\":\"Event\",\"type\":\"dynamic\"}]}}}");
        assert_non_null(strstr(shown.paths[0], "/tables/Etw_CL?"));
        assert_non_null(strstr(shown.bodies[1], "source | project TimeGenerated, "));
        for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++) {
            char filled[64];
            snprintf(filled, sizeof(filled), ", %s = ", columns[k]);
            assert_non_null(strstr(shown.bodies[1], filled));
        }
    }
}

/* A row of it has the id of the event, which tells the same event when it is sent again. */
static void events_need_ids(void **state)
{
    (void)state;
    assert_true(output_azure_logs.ids(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_the_columns_that_the_rule_fills),
        cmocka_unit_test(events_need_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
