#define _GNU_SOURCE

#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_report.h"
#include "outputs/registry.h"
#include "platform/plat_file.h"
#include "support/bulk_fake.h"
#include "support/fake_output.h"
#include "support/http_fake.h"

/*
 * What output.h promises, asked of every output of this build and of the tests' fake. A new output
 * adds a subject: how to configure it, how to see what arrived, how to make it fail half way.
 */
enum { COLLECT_MAX = 1 << 20, MAX_RECORDS = 8 };

static const char file_path[] = "conformance.tmp/folder/events.ndjson";
static const char stdout_path[] = "conformance.stdout.tmp";

struct subject {
    const char *name;
    const char *settings; /* YAML of the keys it cannot do without */
    const char *broken;   /* the same, but it cannot connect; NULL: it always can */
    void (*prepare)(void);
    void (*adjust)(void *settings); /* what YAML cannot say; may be NULL */
    void (*fail_soon)(bool fails);  /* take a few bytes more, then nothing; until told otherwise */
    char *(*collect)(size_t *ret_size); /* what arrived since prepare; freed by the caller */
};

/* ---- subjects ------------------------------------------------------------------------------------ */

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

/* Files may grow by three bytes more (setrlimit(2)). */
static void limit_files(const char *path, bool fails)
{
    struct rlimit limit;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = fails ? (rlim_t)ftell(file) + 3 : limit.rlim_max;
    fclose(file);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void file_prepare(void)
{
    remove(file_path);
    remove("conformance.tmp/folder");
    remove("conformance.tmp");
}

static void file_fail_soon(bool fails)
{
    limit_files(file_path, fails);
}

static char *file_collect(size_t *ret_size)
{
    char *data = load(file_path, ret_size);
    file_prepare();
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

static void stdout_fail_soon(bool fails)
{
    limit_files(stdout_path, fails);
}

static char *stdout_collect(size_t *ret_size)
{
    fflush(stdout);
    assert_int_equal(dup2(real_stdout, 1), 1);
    close(real_stdout);
    return load(stdout_path, ret_size);
}

/* A server that, while it fails, takes one line more and then nothing. */
static struct http_fake *server;
static struct {
    bool fails;
    size_t taken;
    bool obeyed[256];
    size_t count;
} http;
static char http_settings[128] = "{url: 'http://127.0.0.1:1', proxy: ''}";

static void http_answer(
    void *self, const struct http_fake_request *request, struct http_fake_reply *ret_reply)
{
    (void)self;
    if (http.fails) {
        ret_reply->status = request->body.size > 3 ? 413 : http.taken++ ? 503 : 200;
    }
    assert_true(http.count < sizeof(http.obeyed));
    http.obeyed[http.count++] = ret_reply->status == 200;
}

static void http_prepare(void)
{
    http_fake_stop(server);
    server = http_fake_start();
    memset(&http, 0, sizeof(http));
    http_fake_handle(server, http_answer, NULL);
    snprintf(
        http_settings, sizeof(http_settings), "{url: '%s/x', proxy: ''}", http_fake_url(server));
}

/* Between requests: nobody else looks at it then. */
static void http_fail_soon(bool fails)
{
    http.fails = fails;
}

static char *http_collect(size_t *ret_size)
{
    char *data = calloc(1, COLLECT_MAX);
    assert_non_null(data);
    *ret_size = 0;
    for (size_t i = 0; i < http_fake_count(server); i++) {
        struct span body = http_fake_request(server, i)->body;
        if (http.obeyed[i]) {
            assert_true(*ret_size + body.size < COLLECT_MAX);
            memcpy(data + *ret_size, body.data, body.size);
            *ret_size += body.size;
        }
    }
    http_fake_stop(server);
    server = NULL;
    return data;
}

static struct fake_output *fake;

static void fake_make(const struct fake_step *steps, size_t count)
{
    fake_output_destroy(fake);
    fake = fake_output_create(steps, count);
}

static void fake_prepare(void)
{
    fake_make(NULL, 0);
}

static void fake_adjust(void *settings)
{
    if (!fake) {
        fake_prepare();
    }
    ((struct fake_settings *)settings)->fake = fake;
}

static void fake_fail_soon(bool fails)
{
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY},
        {.verdict = OUTPUT_MIXED, .delivers = 1}, {.verdict = OUTPUT_RECONNECT},
        {.verdict = OUTPUT_RETRY}};
    if (fails) {
        fake_output_script(fake, steps, sizeof(steps) / sizeof(steps[0]));
    }
}

static char *fake_collect(size_t *ret_size)
{
    assert_int_equal(fake_output_counts(fake).misused, 0);
    char *text = fake_output_text(fake);
    *ret_size = strlen(text);
    fake_output_destroy(fake);
    fake = NULL;
    return text;
}

static struct bulk_fake *bulk;
static char bulk_settings[128];

static void bulk_fail_soon(bool fails)
{
    static const struct bulk_step steps[] = {{.status = 503},
        {.item_first = 1, .item_count = BULK_ALL, .item_status = 429}, {.lost = true}};
    bulk_fake_script(bulk, steps, fails ? sizeof(steps) / sizeof(steps[0]) : 0);
}

/* Its address is in the settings, so one serves all tests. */
static void bulk_prepare(void)
{
    bulk_fail_soon(false);
    free(bulk_fake_documents(bulk, true));
}

static char *bulk_collect(size_t *ret_size)
{
    char *text = bulk_fake_documents(bulk, true);
    *ret_size = strlen(text);
    return text;
}

static const struct subject subjects[] = {
    {"elasticsearch", bulk_settings, NULL, bulk_prepare, NULL, bulk_fail_soon, bulk_collect},
    {"file", "{path: conformance.tmp/folder/events.ndjson}", "{path: /dev/null/x}", file_prepare,
        NULL, file_fail_soon, file_collect},
    {"stdout", "{}", NULL, stdout_prepare, NULL, stdout_fail_soon, stdout_collect},
    {"http", http_settings, NULL, http_prepare, NULL, http_fail_soon, http_collect},
    {"fake", "{}", NULL, fake_prepare, fake_adjust, fake_fail_soon, fake_collect},
};

enum { SUBJECT_COUNT = sizeof(subjects) / sizeof(subjects[0]) };

static const struct output_ops *ops_of(const struct subject *subject)
{
    const struct output_ops *ops = registry_find_output(span_text(subject->name));
    return ops ? ops : &fake_output_ops;
}

/* ---- an output made from a subject's settings ---------------------------------------------------- */

struct fixture {
    const struct output_ops *ops;
    void *self;
};

static void make(
    struct fixture *f, const struct subject *subject, const char *yaml, struct span checkpoint)
{
    struct error err = {0};
    struct config_report report;
    config_report_init(&report);
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
    /* What create is given may be gone afterwards. */
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

/* Send records that end in line breaks; ${records} has room for MAX_RECORDS. */
static enum output_verdict send_text(
    struct fixture *f, const char *bytes, enum record_status *records)
{
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
        assert_true(records[i] <= RECORD_REJECTED);
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

/* ---- tests --------------------------------------------------------------------------------------- */

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

/* Take what a verdict says was delivered off the front of ${left}, as a host does. */
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

/* Verdicts are honest: what they call delivered has arrived and what they do not, has not. */
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
        assert_true(failures >= 3);
        assert_arrived(&subjects[i], "00\n11\n22\n33\n44\n55\n");
    }
}

/* Killed after ${later} was delivered, or at once; the host begins again behind the checkpoint. */
static void after_a_checkpoint_what_came_later_is_taken_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        struct fixture f;
        struct error err = {0};
        if (!ops_of(&subjects[i])->checkpoint) {
            continue;
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
            /* Asked before anything was restored, it says what it was given. */
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
        if (!ops_of(&subjects[i])->checkpoint) {
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
