#include "event/event_edits.h"
#include "support/json_check.h"
#include "unit/event/writer_fixture.h"

/* Schemas come from traces, too, and say what they like: names and messages of any length. */

enum { NAME_BYTES = 1200 * 1000 };

static char *long_text(void)
{
    char *text = malloc(NAME_BYTES + 1);
    assert_non_null(text);
    memset(text, 'n', NAME_BYTES);
    text[NAME_BYTES] = 0;
    return text;
}

static const struct piece one_number[] = {{"A", IN_UINT32, 0, "2a000000", NULL}};

/* Write the event as ${name}, which must be JSON: what stands in it for the program. */
static void write_as(struct writer_fixture *f, const char *name)
{
    size_t at;
    const struct event_format *format = event_format_find(span_text(name));
    buf_reset(&f->out);
    format->event(f->writer, &f->event, &f->out);
    assert_false(f->out.failed);
    const char *wrong = json_check(span_first(buf_span(&f->out), f->out.size - 1), &at);
    if (wrong) {
        fail_msg("%s: %s at %zu", name, wrong, at);
    }
    buf_add_byte(&f->out, 0);
    assert_non_null(strstr((const char *)f->out.data, "\"A\":"));
}

static void assert_left_out(struct span *text_of(struct writer_fixture *f))
{
    static const char *const formats[] = {"native", "ecs"};
    char *text = long_text();
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        fixture_set_fields(&f, one_number, 1);
        f.schema.task_name = span_text("Task");
        *text_of(&f) = span_text(text);
        for (int again = 0; again < 2; again++) {
            write_as(&f, formats[i]);
            assert_null(strstr((const char *)f.out.data, "nnn"));
        }
        /* The next one of another type is as it was. */
        f.schema.serial = 2;
        *text_of(&f) = span_text("short");
        write_as(&f, formats[i]);
        assert_non_null(strstr((const char *)f.out.data, "\"short\""));
        fixture_fini(&f);
    }
    free(text);
}

static struct span *provider_name(struct writer_fixture *f)
{
    return &f->schema.provider_name;
}

static struct span *message(struct writer_fixture *f)
{
    return &f->schema.message;
}

static void a_name_that_is_too_long_is_left_out(void **state)
{
    (void)state;
    assert_left_out(provider_name);
}

static void a_message_that_is_too_long_is_left_out(void **state)
{
    (void)state;
    assert_left_out(message);
}

static void labels_that_rules_have_made_too_long_are_left_out(void **state)
{
    (void)state;
    static const char *const formats[] = {"native", "ecs"};
    char *text = long_text();
    const struct span labels[] = {span_text("label"), span_text(text)};
    const struct event_agent agent = {
        .name = span_text("agent-name"), .labels = labels, .label_count = 1};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        fixture_set_fields(&f, one_number, 1);
        const struct event_edits edits = {.agent = &agent,
            .trace = &f.trace,
            .agent_before = &agent,
            .marks = {labels},
            .mark_count = 1};
        f.event.edits = &edits;
        write_as(&f, formats[i]);
        assert_null(strstr((const char *)f.out.data, "nnn"));
        assert_non_null(strstr((const char *)f.out.data, "\"agent-name\""));
        fixture_fini(&f);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_too_long_is_left_out),
        cmocka_unit_test(a_message_that_is_too_long_is_left_out),
        cmocka_unit_test(labels_that_rules_have_made_too_long_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
