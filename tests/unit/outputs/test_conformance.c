#define _GNU_SOURCE

#include "unit/outputs/conformance_subjects.h"

/*
 * The promises of output.h, tested on every output of this build and on the tests' fake. A new
 * output adds a subject.
 */

/* ---- an output made from a subject's settings ------------------------------------------------ */

struct fixture {
    const struct subject *subject;
    const struct output_ops *ops;
    void *self;
};

static void make(
    struct fixture *f, const struct subject *subject, const char *yaml, struct span checkpoint)
{
    struct error err = {0};
    struct config_report report;
    config_report_init(&report);
    f->subject = subject;
    f->ops = ops_of(subject);
    struct config *config = config_create(NULL, NULL);
    void *settings = config_parse(
        config, span_text(yaml), subject->name, f->ops->fields, f->ops->settings_size, &report);
    assert_true(config_report_ok(&report));
    config_report_fini(&report);
    if (subject->adjust) {
        subject->adjust(settings);
    }
    assert_true(config_check_first(f->ops->check, settings, &err));
    /* The arguments of create may be invalid after the call. */
    char name[] = "test";
    uint8_t *copy = malloc(checkpoint.size + 1);
    assert_non_null(copy);
    if (checkpoint.size) {
        memcpy(copy, checkpoint.data, checkpoint.size);
    }
    struct output_env *env = malloc(sizeof(*env));
    assert_non_null(env);
    *env = (struct output_env){.name = name, .checkpoint = span_make(copy, checkpoint.size)};
    f->self = f->ops->create(settings, env, &err);
    memset(name, 0x5a, sizeof(name));
    memset(copy, 0x5a, checkpoint.size);
    free(copy);
    free(env);
    config_destroy(config);
    if (!f->self) {
        fail_msg("%s", err.text);
    }
}

static void connect_output(struct fixture *f)
{
    struct error err = {0};
    if (f->ops->connect && !f->ops->connect(f->self, &err)) {
        fail_msg("%s", err.text);
    }
}

static void setup(struct fixture *f, const struct subject *subject)
{
    subject->prepare();
    make(f, subject, subject->settings, span_make(NULL, 0));
    connect_output(f);
}

static void teardown(struct fixture *f)
{
    f->ops->destroy(f->self);
}

static const struct envelope *envelope_of(const struct subject *subject)
{
    for (size_t i = 0; i < ENVELOPE_COUNT; i++) {
        if (strcmp(envelopes[i].name, subject->name) == 0) {
            return &envelopes[i];
        }
    }
    return NULL;
}

/* Each line of ${lines} as a record of the subject's, until the next call. */
static const char *records_of(const struct subject *subject, const char *lines)
{
    static char text[4096];
    const struct envelope *envelope = envelope_of(subject);
    size_t size = 0;
    for (const char *line = lines; envelope && *line;) {
        int length = (int)strcspn(line, "\n");
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%.*s%s\n", envelope->front,
            length, line, envelope->behind);
        assert_true(size < sizeof(text));
        line += length + 1;
    }
    text[size] = '\0';
    return envelope ? text : lines;
}

/* Send records that end in line breaks; ${records} has room for MAX_RECORDS. */
static enum output_verdict send_text(
    struct fixture *f, const char *lines, enum record_status *records)
{
    const char *bytes = records_of(f->subject, lines);
    uint32_t ends[MAX_RECORDS] = {0};
    size_t count = 0;
    for (uint32_t i = 0; bytes[i]; i++) {
        if (bytes[i] == '\n') {
            ends[count++] = i + 1;
        }
    }
    memset(records, 0x5a, MAX_RECORDS * sizeof(*records));
    struct output_report report = {.records = records};
    const struct delivery delivery = {
        .bytes = span_text(bytes), .record_ends = ends, .record_count = count};
    enum output_verdict verdict = f->ops->send(f->self, &delivery, &report);
    if (verdict == OUTPUT_DELIVERED) {
        assert_int_equal(report.error.code, ERR_NONE);
    } else {
        assert_int_not_equal(report.error.code, ERR_NONE);
        assert_int_not_equal(report.error.text[0], 0);
    }
    uint8_t untouched[MAX_RECORDS * sizeof(*records)];
    memset(untouched, 0x5a, sizeof(untouched));
    for (size_t i = 0; verdict == OUTPUT_MIXED && i < count; i++) {
        assert_true(records[i] <= RECORD_REJECTED); /* nothing is blocked without routes */
    }
    assert_true(verdict == OUTPUT_MIXED || memcmp(records, untouched, sizeof(untouched)) == 0);
    return verdict;
}

static void assert_sent(struct fixture *f, const char *bytes)
{
    enum record_status records[MAX_RECORDS];
    assert_int_equal(send_text(f, bytes, records), OUTPUT_DELIVERED);
}

static void assert_arrived(const struct subject *subject, const char *expected)
{
    size_t size = 0;
    char *data = subject->collect(&size);
    data[size] = '\0';
    assert_string_equal(data, expected);
    free(data);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void every_output_of_the_build_is_a_subject(void **state)
{
    (void)state;
    size_t count;
    const struct output_ops *const *list = registry_outputs(&count);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t k = 0; k < SUBJECT_COUNT; k++) {
            found = found || strcmp(subjects[k].name, list[i]->name) == 0;
        }
#ifndef ETWSHIP_KAFKA
        found = found || strcmp(list[i]->name, "kafka") == 0; /* this build may lack it */
#endif
        if (!found) {
            fail_msg("add output %s to the subjects of this test", list[i]->name);
        }
        assert_ptr_equal(registry_find_output(span_text(list[i]->name)), list[i]);
    }
    assert_null(registry_find_output(span_text("nope")));
    assert_null(registry_find_output(span_text("")));
}

static void every_table_is_complete_and_leaves_the_common_keys_alone(void **state)
{
    (void)state;
    static const char *const common[] = {
        "name", "type", "enabled", "sessions", "filters", "format", "batch", "workers", "retry"};
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        const struct output_ops *ops = ops_of(&subjects[i]);
        assert_string_equal(ops->name, subjects[i].name);
        assert_true(ops->create && ops->send && ops->destroy && ops->settings_size);
        assert_true(!ops->connect == !ops->disconnect);
        for (const struct config_field *f = ops->fields; f->key; f++) {
            assert_true(f->offset < ops->settings_size);
            for (size_t k = 0; k < sizeof(common) / sizeof(common[0]); k++) {
                assert_string_not_equal(f->key, common[k]);
            }
        }
        struct config *config = config_create(NULL, NULL);
        struct error err;
        assert_non_null(config_new(config, ops->fields, ops->settings_size, &err));
        config_destroy(config);
    }
}

static void destroy_takes_nothing_and_what_was_never_connected(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        ops_of(&subjects[i])->destroy(NULL);
        make(&f, &subjects[i], subjects[i].settings, span_make(NULL, 0));
        teardown(&f);
        make(&f, &subjects[i], subjects[i].settings, span_make(NULL, 0));
        if (f.ops->disconnect) {
            f.ops->disconnect(f.self);
        }
        teardown(&f);
    }
}

static void a_connection_that_fails_says_why_and_can_be_tried_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        enum record_status records[MAX_RECORDS];
        if (!subjects[i].broken) {
            continue;
        }
        make(&f, &subjects[i], subjects[i].broken, span_make(NULL, 0));
        for (int k = 0; k < 3; k++) {
            struct error err = {0};
            assert_false(f.ops->connect(f.self, &err));
            assert_int_not_equal(err.text[0], 0);
            assert_int_equal(send_text(&f, "1\n", records), OUTPUT_RECONNECT);
        }
        teardown(&f);
    }
}

static void what_is_delivered_arrives_in_order_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        setup(&f, &subjects[i]);
        assert_sent(&f, "{\"a\":1}\n{}\n");
        assert_sent(&f, "{\"b\":\"\xc3\xa4\"}\n");
        teardown(&f);
        assert_arrived(&subjects[i], "{\"a\":1}\n{}\n{\"b\":\"\xc3\xa4\"}\n");
    }
}

static void a_delivery_of_nothing_is_delivered(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        setup(&f, &subjects[i]);
        assert_sent(&f, "");
        teardown(&f);
        assert_arrived(&subjects[i], "");
    }
}

static void an_output_can_connect_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        setup(&f, &subjects[i]);
        assert_sent(&f, "1\n");
        if (f.ops->connect) {
            f.ops->disconnect(f.self);
            f.ops->disconnect(f.self);
            connect_output(&f);
        }
        assert_sent(&f, "2\n");
        teardown(&f);
        assert_arrived(&subjects[i], "1\n2\n");
    }
}

static void an_output_that_connects_refuses_to_send_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        enum record_status records[MAX_RECORDS];
        fake_prepare();
        make(&f, &subjects[i], subjects[i].settings, span_make(NULL, 0));
        if (f.ops->connect) {
            assert_int_equal(send_text(&f, "1\n", records), OUTPUT_RECONNECT);
        }
        teardown(&f);
    }
    fake_output_destroy(fake);
    fake = NULL;
}

static void idle_time_changes_nothing_that_arrived(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        setup(&f, &subjects[i]);
        for (int k = 0; f.ops->idle && k < 3; k++) {
            f.ops->idle(f.self);
        }
        assert_sent(&f, "1\n");
        for (int k = 0; f.ops->idle && k < 3; k++) {
            f.ops->idle(f.self);
        }
        assert_sent(&f, "2\n");
        teardown(&f);
        assert_arrived(&subjects[i], "1\n2\n");
    }
}

/* Remove from the front of ${left} what a verdict says was delivered, as a host does. */
static void keep_what_is_left(
    char *left, enum output_verdict verdict, const enum record_status *records)
{
    char kept[256] = "";
    size_t record = 0;
    for (const char *line = left; *line; record++) {
        const char *end = strchr(line, '\n') + 1;
        if (verdict != OUTPUT_MIXED || records[record] == RECORD_RETRY) {
            strncat(kept, line, (size_t)(end - line));
        }
        line = end;
    }
    memcpy(left, kept, strlen(kept) + 1);
}

/* Verdicts are honest: records that they call delivered have arrived, and the others have not. */
static void what_fails_half_way_arrives_once_in_the_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        enum record_status records[MAX_RECORDS];
        char left[256] = "11\n22\n33\n44\n";
        int failures = 0;
        setup(&f, &subjects[i]);
        assert_sent(&f, "00\n");
        subjects[i].fail_soon(true);
        for (int tries = 0; tries < 20; tries++) {
            enum output_verdict verdict = send_text(&f, left, records);
            if (verdict == OUTPUT_DELIVERED) {
                break;
            }
            assert_true(
                verdict == OUTPUT_RETRY || verdict == OUTPUT_RECONNECT || verdict == OUTPUT_MIXED);
            keep_what_is_left(left, verdict, records);
            assert_int_not_equal(left[0], 0);
            if (verdict == OUTPUT_RECONNECT) {
                f.ops->disconnect(f.self);
                connect_output(&f);
            }
            if (++failures == 3) {
                subjects[i].fail_soon(false);
            }
        }
        subjects[i].fail_soon(false);
        assert_sent(&f, "55\n");
        teardown(&f);
        assert_true(failures >= failures_of(&subjects[i]));
        assert_arrived(&subjects[i], "00\n11\n22\n33\n44\n55\n");
    }
}

/* Killed after ${later} was delivered, or at once; the host begins again after the checkpoint. */
static void after_a_checkpoint_what_came_later_is_taken_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        struct error err = {0};
        if (!ops_of(&subjects[i])->checkpoint || ops_of(&subjects[i])->ids) {
            continue; /* it knows records by their ids, and leaves out what it has delivered */
        }
        struct buf checkpoint;
        buf_init(&checkpoint, OUTPUT_CHECKPOINT_MAX_BYTES);
        setup(&f, &subjects[i]);
        assert_sent(&f, "1\n2\n");
        assert_true(f.ops->checkpoint(f.self, &checkpoint, &err));
        for (int lives = 0; lives < 3; lives++) {
            assert_sent(&f, "3\n");
            teardown(&f);
            make(&f, &subjects[i], subjects[i].settings, buf_span(&checkpoint));
            /* Before anything was restored, the output returns the checkpoint that it was given. */
            struct buf same;
            buf_init(&same, OUTPUT_CHECKPOINT_MAX_BYTES);
            assert_true(f.ops->checkpoint(f.self, &same, &err));
            assert_true(span_equal(buf_span(&same), buf_span(&checkpoint)));
            buf_fini(&same);
            connect_output(&f);
        }
        assert_sent(&f, "3\n4\n");
        buf_reset(&checkpoint);
        assert_true(f.ops->checkpoint(f.self, &checkpoint, &err));
        teardown(&f);
        make(&f, &subjects[i], subjects[i].settings, buf_span(&checkpoint));
        connect_output(&f);
        assert_sent(&f, "5\n");
        teardown(&f);
        assert_arrived(&subjects[i], "1\n2\n3\n4\n5\n");
        buf_fini(&checkpoint);
    }
}

static void a_checkpoint_without_room_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        struct error err = {0};
        struct buf none;
        if (!ops_of(&subjects[i])->checkpoint || ops_of(&subjects[i])->ids) {
            continue;
        }
        buf_init(&none, 0);
        setup(&f, &subjects[i]);
        assert_sent(&f, "1\n");
        assert_false(f.ops->checkpoint(f.self, &none, &err));
        assert_int_not_equal(err.text[0], 0);
        assert_sent(&f, "2\n");
        teardown(&f);
        assert_arrived(&subjects[i], "1\n2\n");
        buf_fini(&none);
    }
}

static void the_suite_sees_every_verdict_of_the_fake(void **state)
{
    (void)state;
    static const struct fake_step script[] = {{.verdict = OUTPUT_RETRY},
        {.verdict = OUTPUT_MIXED, .delivers = 5, .rejects = 2}, {.verdict = OUTPUT_REJECTED},
        {.verdict = OUTPUT_FATAL}, {.verdict = OUTPUT_RECONNECT}};
    const struct subject *subject = &subjects[SUBJECT_COUNT - 1];
    enum record_status records[MAX_RECORDS];
    struct fixture f;
    setup(&f, subject);
    fake_output_script(fake, script, sizeof(script) / sizeof(script[0]));
    for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++) {
        assert_int_equal(send_text(&f, "1\n2\n3\n", records), script[i].verdict);
    }
    assert_sent(&f, "4\n");
    teardown(&f);
    assert_int_equal(fake_output_counts(fake).rejected, 4);
    assert_int_equal(fake_output_counts(fake).records, 3);
    assert_arrived(subject, "1\n3\n4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_output_of_the_build_is_a_subject),
        cmocka_unit_test(every_table_is_complete_and_leaves_the_common_keys_alone),
        cmocka_unit_test(destroy_takes_nothing_and_what_was_never_connected),
        cmocka_unit_test(a_connection_that_fails_says_why_and_can_be_tried_again),
        cmocka_unit_test(what_is_delivered_arrives_in_order_byte_by_byte),
        cmocka_unit_test(a_delivery_of_nothing_is_delivered),
        cmocka_unit_test(an_output_can_connect_again),
        cmocka_unit_test(an_output_that_connects_refuses_to_send_before),
        cmocka_unit_test(idle_time_changes_nothing_that_arrived),
        cmocka_unit_test(what_fails_half_way_arrives_once_in_the_end),
        cmocka_unit_test(after_a_checkpoint_what_came_later_is_taken_back),
        cmocka_unit_test(a_checkpoint_without_room_fails),
        cmocka_unit_test(the_suite_sees_every_verdict_of_the_fake),
    };
    bulk = bulk_fake_start();
    snprintf(bulk_settings, sizeof(bulk_settings), "{hosts: ['%s'], proxy: '', compression: none}",
        bulk_fake_url(bulk));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bulk_fake_stop(bulk);
    return failed;
}
