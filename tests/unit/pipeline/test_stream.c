#include "pipeline/deliver/stream.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

/* Events become `N` and a newline, N their sequence number, filled with blanks to `kernel_ticks`
 * bytes; what was shortened is marked with `!`. */
static void put_event(struct event_writer *writer, const struct event *event, struct buf *out)
{
    (void)writer;
    char text[40];
    bool is_short = event->error != NULL;
    int size = snprintf(text, sizeof(text), "%s%llu", is_short ? "!" : "",
        (unsigned long long)event->record->sequence);
    buf_add(out, text, (size_t)size);
    size_t blanks = is_short ? 0 : event->record->kernel_ticks;
    for (; blanks >= 1024; blanks -= 1024) {
        static const char blank[1024];
        buf_add(out, blank, sizeof(blank));
    }
    buf_add_byte(out, '\n');
    if (is_short) {
        assert_int_equal(event->status, DECODE_PARTIAL);
        assert_int_equal(event->field_count, 0);
    }
}

static void put_gap(struct event_writer *writer, const struct gap *gap, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    (void)writer;
    (void)gap;
    buf_printf(out, "gap%llu@%llu\n", (unsigned long long)sequence, (unsigned long long)now);
}

static const struct event_format fake_format = {.name = "fake", .event = put_event, .gap = put_gap};

/* An output that notes its batches as `[records:first line…]`. */
struct sink {
    struct buf log;
    struct buf bytes;
    size_t batches;
    size_t records;
    size_t most_bytes;
    size_t most_records;
    bool fatal;
};

static void *sink_create(const void *settings, const struct output_env *env, struct error *err)
{
    (void)env;
    (void)err;
    return (void *)(uintptr_t)settings;
}

static enum output_verdict sink_send(
    void *self, const struct delivery *delivery, struct output_report *report)
{
    struct sink *sink = self;
    if (sink->fatal) {
        error_set(&report->error, ERR_STOPPED, "closed");
        return OUTPUT_FATAL;
    }
    uint32_t start = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        uint32_t end = delivery->record_ends[i];
        assert_true(end > start);
        assert_int_equal(delivery->bytes.data[end - 1], '\n');
        size_t text = 0;
        while (delivery->bytes.data[start + text] > ' ') {
            text++;
        }
        buf_add(&sink->log, delivery->bytes.data + start, text);
        buf_add_byte(&sink->log, i + 1 < delivery->record_count ? ' ' : ';');
        start = end;
    }
    assert_int_equal(start, (uint32_t)delivery->bytes.size);
    buf_add_span(&sink->bytes, delivery->bytes);
    sink->batches++;
    sink->records += delivery->record_count;
    sink->most_bytes = delivery->bytes.size > sink->most_bytes ? delivery->bytes.size
                                                               : sink->most_bytes;
    sink->most_records = delivery->record_count > sink->most_records ? delivery->record_count
                                                                     : sink->most_records;
    return OUTPUT_DELIVERED;
}

static void sink_destroy(void *self)
{
    (void)self;
}

static const struct output_ops sink_ops = {
    .name = "sink", .create = sink_create, .send = sink_send, .destroy = sink_destroy};

struct fixture {
    struct sink sinks[2];
    struct delivery_host *hosts[2];
    struct stream *stream;
    struct flow_consumer consumer;
    uint64_t sequence;
};

static void fixture_init(struct fixture *f, size_t host_count)
{
    *f = (struct fixture){.sequence = 0};
    for (size_t i = 0; i < host_count; i++) {
        buf_init(&f->sinks[i].log, 1 << 20);
        buf_init(&f->sinks[i].bytes, 1 << 26);
        const struct delivery_host_settings settings = {
            .ops = &sink_ops, .settings = &f->sinks[i], .name = "sink"};
        f->hosts[i] = delivery_host_create(&settings, NULL);
        assert_non_null(f->hosts[i]);
    }
    const struct stream_settings settings = {
        .format = &fake_format, .hosts = f->hosts, .host_count = host_count};
    f->stream = stream_create(&settings, NULL);
    assert_non_null(f->stream);
    f->consumer = stream_consumer(f->stream);
}

static void fixture_fini(struct fixture *f)
{
    stream_destroy(f->stream);
    for (size_t i = 0; i < 2; i++) {
        delivery_host_destroy(f->hosts[i]);
        buf_fini(&f->sinks[i].log);
        buf_fini(&f->sinks[i].bytes);
    }
}

static bool add_event(struct fixture *f, uint32_t bytes)
{
    struct event_record record = {.sequence = ++f->sequence, .kernel_ticks = bytes};
    struct event event = {.record = &record, .field_count = 3, .status = DECODE_COMPLETE};
    return f->consumer.event(f->consumer.self, &event);
}

static void events_and_gaps_are_gathered_in_order(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    const struct gap gap = {.stage = "etw"};
    assert_true(add_event(&f, 0));
    assert_true(f.consumer.gap(f.consumer.self, &gap, 77, 2));
    f.sequence++;
    assert_true(add_event(&f, 0));
    assert_int_equal(f.sinks[0].batches, 0);
    assert_true(stream_flush(f.stream));
    assert_span(buf_span(&f.sinks[0].log), "1 gap2@77 3;");
    assert_true(stream_flush(f.stream));
    assert_int_equal(f.sinks[0].batches, 1);
    fixture_fini(&f);
}

static void a_batch_ends_at_its_records(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    for (int i = 0; i < 3 * STREAM_BATCH_RECORDS + 5; i++) {
        assert_true(add_event(&f, 0));
    }
    assert_int_equal(f.sinks[0].batches, 3);
    assert_int_equal(f.sinks[0].most_records, STREAM_BATCH_RECORDS);
    assert_true(stream_flush(f.stream));
    assert_int_equal(f.sinks[0].records, 3 * STREAM_BATCH_RECORDS + 5);
    fixture_fini(&f);
}

static void a_batch_ends_at_its_bytes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    for (int i = 0; i < 100; i++) {
        assert_true(add_event(&f, 64 * 1024));
    }
    assert_true(stream_flush(f.stream));
    assert_int_equal(f.sinks[0].records, 100);
    assert_true(f.sinks[0].batches >= 20);
    assert_true(f.sinks[0].most_bytes < STREAM_BATCH_BYTES + 65 * 1024);
    fixture_fini(&f);
}

static void an_event_that_is_too_long_is_shortened_and_the_rest_stays(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    assert_true(add_event(&f, 1024));
    assert_true(add_event(&f, EVENT_TEXT_MAX_BYTES + STREAM_BATCH_BYTES));
    assert_true(add_event(&f, 2048));
    assert_true(add_event(&f, 40 * 1024 * 1024));
    assert_true(add_event(&f, EVENT_TEXT_MAX_BYTES - 1024)); /* just fits, and ends the batch */
    assert_true(add_event(&f, 0));
    assert_true(stream_flush(f.stream));
    assert_span(buf_span(&f.sinks[0].log), "1 !2 3 !4 5;6;");
    assert_int_equal(f.sinks[0].bytes.size,
        1 + 1024 + 1 + 3 + 1 + 2048 + 1 + 3 + 1 + EVENT_TEXT_MAX_BYTES - 1024 + 1 + 2);
    fixture_fini(&f);
}

/* The memory that the first one made grow is there for the second one, its limit is not. */
static void a_second_event_that_is_too_long_is_shortened_after_a_flush_too(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1);
    assert_true(add_event(&f, STREAM_BATCH_BYTES - 1024));
    assert_true(add_event(&f, 40 * 1024 * 1024));
    assert_true(stream_flush(f.stream));
    assert_true(add_event(&f, 40 * 1024 * 1024));
    assert_true(add_event(&f, EVENT_TEXT_MAX_BYTES + 1024));
    assert_true(stream_flush(f.stream));
    assert_span(buf_span(&f.sinks[0].log), "1 !2;!3 !4;");
    fixture_fini(&f);
}

static void outputs_share_the_bytes_and_one_that_ended_stops_no_other(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2);
    assert_true(add_event(&f, 0));
    assert_true(stream_flush(f.stream));
    assert_span(buf_span(&f.sinks[0].log), "1;");
    assert_span(buf_span(&f.sinks[1].log), "1;");
    f.sinks[0].fatal = true;
    assert_true(add_event(&f, 0));
    assert_true(stream_flush(f.stream));
    assert_span(buf_span(&f.sinks[1].log), "1;2;");
    f.sinks[1].fatal = true;
    assert_true(add_event(&f, 0));
    assert_false(stream_flush(f.stream));
    assert_int_equal(delivery_host_counts(f.hosts[0]).undelivered, 2);
    assert_int_equal(delivery_host_counts(f.hosts[1]).undelivered, 1);
    /* The flow hears of it with the next full batch. */
    bool go_on = true;
    for (int i = 0; go_on && i < STREAM_BATCH_RECORDS; i++) {
        go_on = add_event(&f, 0);
    }
    assert_false(go_on);
    fixture_fini(&f);
}

static void a_stream_without_outputs_goes_on(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 0);
    assert_true(add_event(&f, 0));
    assert_true(stream_flush(f.stream));
    fixture_fini(&f);
    stream_destroy(NULL);
    struct delivery_host *hosts[65] = {NULL};
    const struct stream_settings many = {.hosts = hosts, .host_count = 65};
    struct error err = {0};
    assert_null(stream_create(&many, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_and_gaps_are_gathered_in_order),
        cmocka_unit_test(a_batch_ends_at_its_records),
        cmocka_unit_test(a_batch_ends_at_its_bytes),
        cmocka_unit_test(an_event_that_is_too_long_is_shortened_and_the_rest_stays),
        cmocka_unit_test(a_second_event_that_is_too_long_is_shortened_after_a_flush_too),
        cmocka_unit_test(outputs_share_the_bytes_and_one_that_ended_stops_no_other),
        cmocka_unit_test(a_stream_without_outputs_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
