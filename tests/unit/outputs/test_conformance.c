#define _GNU_SOURCE

#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/config.h"
#include "config/config_report.h"
#include "outputs/output.h"
#include "outputs/registry.h"
#include "platform/plat_file.h"

/*
 * What output.h promises, asked of every output of this build and of a fake that keeps the bytes
 * in memory. A new output adds a subject: how to configure it, and how to see what arrived.
 */
enum { COLLECT_MAX = 1 << 20 };

static const char file_path[] = "conformance.tmp/folder/events.ndjson";
static const char stdout_path[] = "conformance.stdout.tmp";

/* The fake. */

struct fake_settings {
    const char *greeting;
};

static const struct config_field fake_fields[] = {
    {CONFIG_ROW("greeting", STRING, struct fake_settings, greeting), .default_text = "hello"},
    {.key = NULL},
};

struct fake {
    bool connected;
};

static struct buf fake_received;
static enum output_verdict fake_script[8]; /* what the next sends answer; then all is well */
static size_t fake_script_size;
static size_t fake_script_at;

static void *fake_create(const void *settings, const struct output_env *env, struct error *err)
{
    (void)settings;
    (void)env;
    struct fake *fake = calloc(1, sizeof(*fake));
    if (!fake) {
        error_set(err, ERR_MEMORY, "out of memory");
    }
    return fake;
}

static bool fake_connect(void *self, struct error *err)
{
    (void)err;
    ((struct fake *)self)->connected = true;
    return true;
}

static enum output_verdict fake_send(
    void *self, const struct delivery *delivery, struct output_report *report)
{
    enum output_verdict verdict = OUTPUT_DELIVERED;
    if (fake_script_at < fake_script_size) {
        verdict = fake_script[fake_script_at++];
    }
    if (!((struct fake *)self)->connected) {
        verdict = OUTPUT_RECONNECT;
    }
    if (verdict != OUTPUT_DELIVERED) {
        error_set(&report->error, ERR_IO, "as the script says");
    }
    if (verdict == OUTPUT_DELIVERED) {
        buf_add_span(&fake_received, delivery->bytes);
    }
    if (verdict == OUTPUT_MIXED) {
        uint32_t start = 0;
        for (size_t i = 0; i < delivery->record_count; i++) {
            bool takes = i % 2 == 0;
            uint32_t end = delivery->record_ends[i];
            if (takes) {
                buf_add(&fake_received, delivery->bytes.data + start, end - start);
            }
            report->records[i] = takes ? RECORD_DELIVERED : RECORD_RETRY;
            start = end;
        }
    }
    return verdict;
}

static void fake_disconnect(void *self)
{
    ((struct fake *)self)->connected = false;
}

static void fake_destroy(void *self)
{
    free(self);
}

static const struct output_ops fake_output = {
    .name = "fake",
    .fields = fake_fields,
    .settings_size = sizeof(struct fake_settings),
    .create = fake_create,
    .connect = fake_connect,
    .send = fake_send,
    .disconnect = fake_disconnect,
    .destroy = fake_destroy,
};

static void fake_prepare(void)
{
    buf_init(&fake_received, COLLECT_MAX);
    fake_script_size = 0;
    fake_script_at = 0;
}

static char *fake_collect(size_t *ret_size)
{
    char *copy = malloc(fake_received.size + 1);
    assert_non_null(copy);
    if (fake_received.size) {
        memcpy(copy, fake_received.data, fake_received.size);
    }
    *ret_size = fake_received.size;
    buf_fini(&fake_received);
    return copy;
}

/* The destinations of the real ones. */

static char *load(const char *path, size_t *ret_size)
{
    struct error err;
    char *data = NULL;
    if (!plat_file_load(path, COLLECT_MAX, &data, ret_size, &err)) {
        fail_msg("%s", err.text);
    }
    remove(path);
    return data;
}

static void file_prepare(void)
{
    remove(file_path);
}

static char *file_collect(size_t *ret_size)
{
    char *data = load(file_path, ret_size);
    remove("conformance.tmp/folder");
    remove("conformance.tmp");
    return data;
}

static int real_stdout;

static void stdout_prepare(void)
{
    fflush(stdout);
    real_stdout = dup(1);
    int file = open(stdout_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(real_stdout >= 0 && file >= 0);
    assert_int_equal(dup2(file, 1), 1);
    close(file);
}

static char *stdout_collect(size_t *ret_size)
{
    fflush(stdout);
    assert_int_equal(dup2(real_stdout, 1), 1);
    close(real_stdout);
    return load(stdout_path, ret_size);
}

struct subject {
    const char *name;
    const char *settings; /* YAML of the keys it cannot do without */
    void (*prepare)(void);
    char *(*collect)(size_t *ret_size); /* what arrived since prepare; freed by the caller */
};

static const struct subject subjects[] = {
    {"file", "{path: conformance.tmp/folder/events.ndjson}", file_prepare, file_collect},
    {"stdout", "{}", stdout_prepare, stdout_collect},
    {"fake", "{}", fake_prepare, fake_collect},
};

enum { SUBJECT_COUNT = sizeof(subjects) / sizeof(subjects[0]) };

static const struct output_ops *ops_of(const struct subject *subject)
{
    const struct output_ops *ops = registry_find_output(span_text(subject->name));
    return ops ? ops : &fake_output;
}

/* An output made from a subject's settings, connected if it connects. */
struct fixture {
    const struct output_ops *ops;
    struct config *config;
    const void *settings;
    void *self;
};

static void setup(struct fixture *f, const struct subject *subject, bool connect)
{
    struct error err = {0};
    struct config_report report;
    config_report_init(&report);
    f->ops = ops_of(subject);
    f->config = config_create(NULL, NULL);
    f->settings = config_parse(f->config, span_text(subject->settings), subject->name,
        f->ops->fields, f->ops->settings_size, &report);
    assert_true(config_report_ok(&report));
    config_report_fini(&report);
    assert_true(!f->ops->check || f->ops->check(f->settings, &err));
    f->self = f->ops->create(f->settings, &(struct output_env){.name = "test"}, &err);
    assert_non_null(f->self);
    if (connect && f->ops->connect && !f->ops->connect(f->self, &err)) {
        fail_msg("%s", err.text);
    }
}

static void teardown(struct fixture *f)
{
    f->ops->destroy(f->self);
    config_destroy(f->config);
}

static enum output_verdict send_records(
    struct fixture *f, const char *bytes, const uint32_t *ends, size_t count)
{
    enum record_status records[8];
    memset(records, 0x5a, sizeof(records));
    struct output_report report = {.records = records};
    const struct delivery delivery = {
        .bytes = span_text(bytes), .record_ends = ends, .record_count = count};
    enum output_verdict verdict = f->ops->send(f->self, &delivery, &report);
    if (verdict == OUTPUT_DELIVERED) {
        assert_int_equal(report.error.code, ERR_NONE);
    } else {
        assert_int_not_equal(report.error.text[0], 0);
    }
    uint8_t untouched[sizeof(records)];
    memset(untouched, 0x5a, sizeof(untouched));
    assert_true(verdict == OUTPUT_MIXED || memcmp(records, untouched, sizeof(untouched)) == 0);
    return verdict;
}

static void assert_arrived(const struct subject *subject, const char *expected)
{
    size_t size = 0;
    char *data = subject->collect(&size);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(data, expected, size);
    free(data);
}

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
        "name", "type", "enabled", "sessions", "filters", "format"};
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        const struct output_ops *ops = ops_of(&subjects[i]);
        assert_string_equal(ops->name, subjects[i].name);
        assert_true(ops->create && ops->send && ops->destroy && ops->settings_size);
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
        ops_of(&subjects[i])->destroy(NULL);
        struct fixture f;
        setup(&f, &subjects[i], false);
        teardown(&f);
    }
}

static void what_is_delivered_arrives_in_order_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        subjects[i].prepare();
        setup(&f, &subjects[i], true);
        enum output_verdict first = send_records(&f, "{\"a\":1}\n{}\n", (uint32_t[]){8, 11}, 2);
        enum output_verdict second = send_records(
            &f, "{\"b\":\"\xc3\xa4\"}\n", (uint32_t[]){11}, 1);
        teardown(&f);
        assert_arrived(&subjects[i], "{\"a\":1}\n{}\n{\"b\":\"\xc3\xa4\"}\n");
        assert_int_equal(first, OUTPUT_DELIVERED);
        assert_int_equal(second, OUTPUT_DELIVERED);
    }
}

static void a_delivery_of_nothing_is_delivered(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        subjects[i].prepare();
        setup(&f, &subjects[i], true);
        enum output_verdict verdict = send_records(&f, "", (uint32_t[]){0}, 0);
        teardown(&f);
        assert_arrived(&subjects[i], "");
        assert_int_equal(verdict, OUTPUT_DELIVERED);
    }
}

static void an_output_can_connect_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        struct error err;
        subjects[i].prepare();
        setup(&f, &subjects[i], true);
        enum output_verdict before = send_records(&f, "1\n", (uint32_t[]){2}, 1);
        bool connected = true;
        if (f.ops->connect) {
            f.ops->disconnect(f.self);
            f.ops->disconnect(f.self);
            connected = f.ops->connect(f.self, &err);
        }
        enum output_verdict after = send_records(&f, "2\n", (uint32_t[]){2}, 1);
        teardown(&f);
        assert_arrived(&subjects[i], "1\n2\n");
        assert_true(connected);
        assert_int_equal(before, OUTPUT_DELIVERED);
        assert_int_equal(after, OUTPUT_DELIVERED);
    }
}

static void an_output_that_connects_refuses_to_send_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        setup(&f, &subjects[i], false);
        if (f.ops->connect) {
            assert_int_equal(send_records(&f, "1\n", (uint32_t[]){2}, 1), OUTPUT_RECONNECT);
        }
        teardown(&f);
    }
}

static void the_suite_sees_every_verdict_of_the_fake(void **state)
{
    (void)state;
    static const enum output_verdict script[] = {
        OUTPUT_RETRY, OUTPUT_MIXED, OUTPUT_REJECTED, OUTPUT_FATAL, OUTPUT_RECONNECT};
    const struct subject *fake = &subjects[SUBJECT_COUNT - 1];
    struct fixture f;
    fake->prepare();
    memcpy(fake_script, script, sizeof(script));
    fake_script_size = sizeof(script) / sizeof(script[0]);
    setup(&f, fake, true);
    for (size_t i = 0; i < fake_script_size; i++) {
        assert_int_equal(send_records(&f, "1\n2\n3\n", (uint32_t[]){2, 4, 6}, 3), script[i]);
    }
    assert_int_equal(send_records(&f, "4\n", (uint32_t[]){2}, 1), OUTPUT_DELIVERED);
    teardown(&f);
    assert_arrived(fake, "1\n3\n4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_output_of_the_build_is_a_subject),
        cmocka_unit_test(every_table_is_complete_and_leaves_the_common_keys_alone),
        cmocka_unit_test(destroy_takes_nothing_and_what_was_never_connected),
        cmocka_unit_test(what_is_delivered_arrives_in_order_byte_by_byte),
        cmocka_unit_test(a_delivery_of_nothing_is_delivered),
        cmocka_unit_test(an_output_can_connect_again),
        cmocka_unit_test(an_output_that_connects_refuses_to_send_before),
        cmocka_unit_test(the_suite_sees_every_verdict_of_the_fake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
