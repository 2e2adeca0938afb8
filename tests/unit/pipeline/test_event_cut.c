#include "pipeline/record/event_cut.h"

#include "support/test.h"

/*
 * The payload `02 | 1 a | 2 b | tail`: a count, two groups of a number and a one-byte text with its
 * length before it, and a text.
 */
enum { FIELDS = 9 };

static const uint8_t payload[] = {2, 10, 1, 'a', 20, 1, 'b', 't', 'a', 'i', 'l'};

struct sample {
    struct event_record record;
    struct event_schema schema;
    struct schema_field type;
    struct field fields[FIELDS];
    struct event event;
};

static struct field field_of(
    const struct sample *s, enum field_shape shape, size_t at, uint32_t size, uint32_t end)
{
    return (struct field){.schema = &s->type,
        .data = payload + at,
        .size = size,
        .count = shape == FIELD_VALUE ? 1 : 2,
        .end = end,
        .shape = (uint8_t)shape};
}

static void sample_init(struct sample *s)
{
    *s = (struct sample){.record = {.payload = span_make(payload, sizeof(payload))}};
    s->schema.message = span_text("%1");
    s->fields[0] = field_of(s, FIELD_VALUE, 0, 1, 1);
    s->fields[1] = field_of(s, FIELD_ARRAY, 1, 6, 8);
    s->fields[2] = field_of(s, FIELD_GROUP, 1, 3, 5);
    s->fields[3] = field_of(s, FIELD_VALUE, 1, 1, 4);
    s->fields[4] = field_of(s, FIELD_VALUE, 3, 1, 5);
    s->fields[5] = field_of(s, FIELD_GROUP, 4, 3, 8);
    s->fields[6] = field_of(s, FIELD_VALUE, 4, 1, 7);
    s->fields[7] = field_of(s, FIELD_VALUE, 6, 1, 8);
    s->fields[8] = field_of(s, FIELD_VALUE, 7, 4, 9);
    s->event = (struct event){.record = &s->record,
        .schema = &s->schema,
        .fields = s->fields,
        .field_count = FIELDS,
        .status = DECODE_COMPLETE};
}

/* Where the rest of the payload begins after so many fields: bytes that no value shows stay. */
static const size_t rest_at[FIELDS + 1] = {0, 1, 1, 1, 2, 4, 4, 5, 7, 11};

static void every_cut_is_a_tree_and_keeps_what_it_does_not_show(void **state)
{
    (void)state;
    static const uint32_t elements[FIELDS + 1] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 2};
    struct sample s;
    sample_init(&s);
    struct event_cut cut;
    event_cut_init(&cut, &s.event);
    for (uint32_t count = 0; count <= FIELDS; count++) {
        const struct event *event = event_cut_values(&cut, count);
        assert_non_null(event);
        assert_int_equal(event->field_count, count);
        assert_int_equal(event->status, DECODE_PARTIAL);
        assert_int_equal(event->rest.size, sizeof(payload) - rest_at[count]);
        assert_memory_equal(event->rest.data, payload + rest_at[count], event->rest.size);
        for (uint32_t i = 0; i < count; i++) {
            assert_in_range(event->fields[i].end, i + 1, count);
            assert_ptr_equal(event->fields[i].data, s.fields[i].data);
        }
        if (count > 1) {
            assert_int_equal(event->fields[1].count, elements[count]);
        }
    }
    assert_int_equal(s.fields[1].end, 8); /* the event that came is unchanged */
    event_cut_fini(&cut);
}

/* Rules may have removed fields that the payload still has. */
static void an_edited_event_that_is_cut_shows_no_payload(void **state)
{
    (void)state;
    const struct event_edits edits = {.mark_count = 1};
    struct sample s;
    sample_init(&s);
    s.event.edits = &edits;
    struct event_cut cut;
    event_cut_init(&cut, &s.event);
    for (uint32_t count = 0; count <= FIELDS; count++) {
        assert_int_equal(event_cut_values(&cut, count)->rest.size, 0);
    }
    assert_int_equal(cut.event.edits->mark_count, 1);
    event_cut_fini(&cut);
}

static void what_was_wrong_before_is_said_first(void **state)
{
    (void)state;
    struct sample s;
    sample_init(&s);
    s.event.error = "a: the payload ends";
    struct event_cut cut;
    event_cut_init(&cut, &s.event);
    assert_true(event_cut_has_message(&cut));
    const struct event *event = event_cut_message(&cut);
    assert_string_equal(event->error, "a: the payload ends; its message is too long to ship");
    assert_true(event->edits->has_message);
    assert_int_equal(event->edits->message.size, 0);
    assert_int_equal(event->field_count, FIELDS);
    event = event_cut_all(&cut);
    assert_string_equal(event->error, "a: the payload ends; its values are too long to ship");
    assert_int_equal(event->field_count, 0);
    event_cut_fini(&cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_a_tree_and_keeps_what_it_does_not_show),
        cmocka_unit_test(an_edited_event_that_is_cut_shows_no_payload),
        cmocka_unit_test(what_was_wrong_before_is_said_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
