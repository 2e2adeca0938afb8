#include <stdio.h>

#include "event/formats/event_format.h"
#include "event/write/event_edits.h"
#include "event/write/event_writer_state.h"
#include "support/json_check.h"
#include "unit/event/writer_fixture.h"

/* Schemas also come from traces, which may contain anything: names and messages of any length. */

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

/* Write the event as ${name}; the line must be JSON. Returns the name in it. */
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
        /* The next event of another type is unchanged. */
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

/* The bytes that the heads point to, counted one by one. */
static size_t kept_bytes(const struct event_writer *writer)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < writer->head_count; i++) {
        bytes += writer->heads[i].head.size + writer->heads[i].message.size;
    }
    return bytes;
}

/* A writer keeps a bounded amount for types, however many there are and whatever their names; and
 * each is written with its own name. */
static void many_types_with_long_names_take_bounded_memory(void **state)
{
    (void)state;
    enum { TYPES = 40000, LONG = 40000, EVERY = 50, MAX_BYTES = 8 * 1024 * 1024 };
    static const char *const formats[] = {"native", "ecs"};
    char *text = long_text();
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_TRACELOGGING);
        fixture_set_fields(&f, one_number, 1);
        for (uint32_t serial = 1; serial <= TYPES; serial++) {
            char name[32];
            snprintf(name, sizeof(name), "type-%u-", serial);
            size_t size = serial % EVERY ? strlen(name) : LONG;
            memcpy(text, name, strlen(name));
            f.schema.serial = serial;
            f.schema.event_name = span_make(text, size);
            write_as(&f, formats[i]);
            assert_non_null(strstr((const char *)f.out.data, name));
            assert_true(serial % 1000 || kept_bytes(f.writer) <= MAX_BYTES);
        }
        assert_true(f.writer->head_count <= 16384);
        /* A type that comes again is found, or made again, but never mistaken. */
        f.schema.serial = TYPES - 2 * 16384;
        f.schema.event_name = span_text("once more");
        write_as(&f, formats[i]);
        assert_non_null(strstr((const char *)f.out.data, "once more"));
        fixture_fini(&f);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_too_long_is_left_out),
        cmocka_unit_test(a_message_that_is_too_long_is_left_out),
        cmocka_unit_test(many_types_with_long_names_take_bounded_memory),
        cmocka_unit_test(labels_that_rules_have_made_too_long_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
