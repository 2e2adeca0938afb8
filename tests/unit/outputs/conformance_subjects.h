#ifndef ETWSHIP_TESTS_UNIT_OUTPUTS_CONFORMANCE_SUBJECTS_H
#define ETWSHIP_TESTS_UNIT_OUTPUTS_CONFORMANCE_SUBJECTS_H

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
#include "outputs/registry/registry.h"
#include "platform/plat_file.h"
#include "support/bulk_fake.h"
#include "support/fake_output.h"
#include "support/http_fake.h"
#include "support/kafka_fake.h"
#include "support/relp_fake.h"
#include "support/tcp_fake.h"

/* The outputs that test_conformance.c tests: how to configure one, how to see what arrived, and how
 * to make it fail half way. */
enum { COLLECT_MAX = 1 << 20, MAX_RECORDS = 8 };

static const char file_path[] = "conformance.tmp/folder/events.ndjson";
static const char stdout_path[] = "conformance.stdout.tmp";

struct subject {
    const char *name;
    const char *settings; /* YAML of the keys that the output needs */
    const char *broken;   /* these settings, but the output cannot connect; NULL: it always can */
    void (*prepare)(void);
    void (*adjust)(void *settings); /* sets what YAML cannot; may be NULL */
    /* accept a few more bytes, then nothing; until it is called with false */
    void (*fail_soon)(bool fails);
    char *(*collect)(size_t *ret_size); /* what arrived since prepare; freed by the caller */
};

/* For subjects whose records are not plain lines: the bytes before a line, and those after it. */
struct envelope {
    const char *name;
    const char *front;
    const char *behind;
};

static inline char *load(const char *path, size_t *ret_size)
{
    struct error err;
    char *data = NULL;
    if (!plat_file_load(path, COLLECT_MAX, &data, ret_size, &err)) {
        fail_msg("%s", err.text);
    }
    remove(path);
    return data;
}

/* Files may grow by only three more bytes (setrlimit(2)). */
static inline void limit_files(const char *path, bool fails)
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

static inline void file_prepare(void)
{
    remove(file_path);
    remove("conformance.tmp/folder");
    remove("conformance.tmp");
}

static inline void file_fail_soon(bool fails)
{
    limit_files(file_path, fails);
}

static inline char *file_collect(size_t *ret_size)
{
    char *data = load(file_path, ret_size);
    file_prepare();
    return data;
}

static int real_stdout;

static inline void stdout_prepare(void)
{
    fflush(stdout);
    real_stdout = dup(1);
    int file = open(stdout_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(real_stdout >= 0 && file >= 0);
    assert_int_equal(dup2(file, 1), 1);
    close(file);
}

static inline void stdout_fail_soon(bool fails)
{
    limit_files(stdout_path, fails);
}

static inline char *stdout_collect(size_t *ret_size)
{
    fflush(stdout);
    assert_int_equal(dup2(real_stdout, 1), 1);
    close(real_stdout);
    return load(stdout_path, ret_size);
}

/* A server that, while it fails, takes one more line and then nothing. */
static struct http_fake *server;
static struct {
    bool fails;
    size_t taken;
    bool obeyed[256];
    size_t count;
} http;
static char http_settings[128] = "{url: 'http://127.0.0.1:1', proxy: ''}";

static inline void http_answer(
    void *self, const struct http_fake_request *request, struct http_fake_reply *ret_reply)
{
    (void)self;
    if (http.fails) {
        ret_reply->status = request->body.size > 3 ? 413 : http.taken++ ? 503 : 200;
    }
    assert_true(http.count < sizeof(http.obeyed));
    http.obeyed[http.count++] = ret_reply->status == 200;
}

static inline void http_prepare(void)
{
    http_fake_stop(server);
    server = http_fake_start();
    memset(&http, 0, sizeof(http));
    http_fake_handle(server, http_answer, NULL);
    snprintf(
        http_settings, sizeof(http_settings), "{url: '%s/x', proxy: ''}", http_fake_url(server));
}

/* Called between requests, when no other thread uses the server. */
static inline void http_fail_soon(bool fails)
{
    http.fails = fails;
}

static inline char *http_collect(size_t *ret_size)
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

/* Likewise for Splunk's collector: its members around each line. */
static char hec_settings[160] = "{urls: ['http://127.0.0.1:1'], token: t, proxy: ''}";

static inline void hec_answer(
    void *self, const struct http_fake_request *request, struct http_fake_reply *ret_reply)
{
    const char *second = strstr((const char *)request->body.data, "}\n{");
    (void)self;
    ret_reply->body = "{\"text\":\"Success\",\"code\":0}";
    if (http.fails) {
        ret_reply->status = second ? 413 : http.taken++ ? 503 : 200;
    }
    assert_true(http.count < sizeof(http.obeyed));
    http.obeyed[http.count++] = ret_reply->status == 200;
}

static inline void hec_prepare(void)
{
    http_prepare();
    http_fake_handle(server, hec_answer, NULL);
    snprintf(hec_settings, sizeof(hec_settings),
        "{urls: ['%s'], token: t, proxy: '', compression: none}", http_fake_url(server));
}

/* Without the bytes before each event, and without the brace after it. */
static inline char *hec_collect(size_t *ret_size)
{
    static const char front[] = "{\"event\":";
    size_t size;
    char *data = http_collect(&size);
    char *to = data;
    for (const char *line = data; line < data + size;) {
        const char *end = strchr(line, '\n');
        assert_memory_equal(line, front, sizeof(front) - 1);
        size_t length = (size_t)(end - line) - sizeof(front);
        memmove(to, line + sizeof(front) - 1, length);
        to[length] = '\n';
        to += length + 1;
        line = end + 1;
    }
    *ret_size = (size_t)(to - data);
    return data;
}

/* Collectors of OpenTelemetry: log records with one member, the line. */
#define OTLP_FRONT \
    "{\"resourceLogs\":[{\"resource\":{},\"scopeLogs\":[{\"scope\":{},\"logRecords\":[{\"x\":"
#define OTLP_BEHIND "}]}]}]}"
static char otlp_settings[160] = "{endpoint: 'http://127.0.0.1:1', protocol: http/json, proxy: ''}";
static const char otlp_mark[] = "{\"x\":";

static inline void otlp_answer(
    void *self, const struct http_fake_request *request, struct http_fake_reply *ret_reply)
{
    const char *first = strstr((const char *)request->body.data, otlp_mark);
    (void)self;
    ret_reply->body = "{}";
    if (http.fails) {
        ret_reply->status = first && strstr(first + 1, otlp_mark) ? 413 : http.taken++ ? 503 : 200;
    }
    assert_true(http.count < sizeof(http.obeyed));
    http.obeyed[http.count++] = ret_reply->status == 200;
}

static inline void otlp_prepare(void)
{
    http_prepare();
    http_fake_handle(server, otlp_answer, NULL);
    snprintf(otlp_settings, sizeof(otlp_settings),
        "{endpoint: '%s', protocol: http/json, proxy: '', compression: none}",
        http_fake_url(server));
}

/* Only the lines. */
static inline char *otlp_collect(size_t *ret_size)
{
    size_t size;
    char *data = http_collect(&size);
    char *to = data;
    data[size] = '\0';
    for (char *at = strstr(data, otlp_mark); at; at = strstr(at, otlp_mark)) {
        int open = 1;
        for (at += sizeof(otlp_mark) - 1; open > 0; at++) {
            open += (*at == '{') - (*at == '}');
            *to = *at;
            to += open > 0;
        }
        *to++ = '\n';
    }
    *ret_size = (size_t)(to - data);
    return data;
}

/* Azure's service: a token, and arrays. */
static char azure_settings[320] =
    "{endpoint: 'http://127.0.0.1:1', dcr: dcr-1, stream: Custom-X, proxy: '', "
    "auth: {method: managed_identity}}";

static inline void azure_answer(
    void *self, const struct http_fake_request *request, struct http_fake_reply *ret_reply)
{
    (void)self;
    assert_true(http.count < sizeof(http.obeyed));
    if (strncmp(request->head, "GET ", 4) == 0) {
        ret_reply->body = "{\"access_token\":\"t0ken\",\"expires_in\":\"3600\"}";
        http.obeyed[http.count++] = false;
        return;
    }
    ret_reply->status = 204;
    if (http.fails) {
        bool many = memchr(request->body.data, ',', request->body.size) != NULL;
        ret_reply->status = many ? 413 : http.taken++ ? 503 : 204;
    }
    http.obeyed[http.count++] = ret_reply->status == 204;
}

static inline void azure_prepare(void)
{
    http_prepare();
    http_fake_handle(server, azure_answer, NULL);
    snprintf(azure_settings, sizeof(azure_settings),
        "{endpoint: '%s', dcr: dcr-1, stream: Custom-X, proxy: '', compression: none, "
        "auth: {method: managed_identity, identity_endpoint: '%s'}}",
        http_fake_url(server), http_fake_url(server));
}

/* The elements of the arrays as lines. */
static inline char *azure_collect(size_t *ret_size)
{
    size_t size;
    char *data = http_collect(&size);
    char *to = data;
    for (size_t i = 0; i < size; i++) {
        if (data[i] != '[') {
            *to++ = data[i] == ',' || data[i] == ']' ? '\n' : data[i];
        }
    }
    *ret_size = (size_t)(to - data);
    return data;
}

static struct tcp_fake *listener;
static char syslog_settings[160] = "{address: '127.0.0.1:1', transport: tcp, sd_id: none}";

static inline void syslog_prepare(void)
{
    tcp_fake_stop(listener);
    listener = tcp_fake_start();
    snprintf(syslog_settings, sizeof(syslog_settings),
        "{address: '127.0.0.1:%u', transport: tcp, sd_id: none}", tcp_fake_port(listener));
}

static inline void syslog_fail_soon(bool fails)
{
    if (fails) {
        tcp_fake_close(listener, false);
    }
}

/* Of each message the part after its header, with a line break. */
static inline char *syslog_collect(size_t *ret_size)
{
    struct span bytes = tcp_fake_bytes(listener);
    char *data = calloc(1, COLLECT_MAX);
    assert_non_null(data);
    *ret_size = 0;
    while (bytes.size) {
        char *end;
        size_t size = (size_t)strtoul((const char *)bytes.data, &end, 10);
        struct span message = span_from(bytes, (size_t)(end - (const char *)bytes.data) + 1);
        assert_true(size && size <= message.size);
        bytes = span_from(message, size);
        message.size = size;
        for (int spaces = 0; spaces < 7; spaces++) {
            const uint8_t *space = memchr(message.data, ' ', message.size);
            assert_non_null(space);
            message = span_from(message, (size_t)(space - message.data) + 1);
        }
        memcpy(data + *ret_size, message.data, message.size);
        *ret_size += message.size;
        data[(*ret_size)++] = '\n';
    }
    tcp_fake_stop(listener);
    listener = NULL;
    return data;
}

static struct relp_fake *relp;
static char relp_settings[160] = "{address: '127.0.0.1:1', transport: tcp, sd_id: none}";

static inline void relp_prepare(void)
{
    relp_fake_stop(relp);
    relp = relp_fake_start();
    snprintf(relp_settings, sizeof(relp_settings),
        "{address: '127.0.0.1:%u', transport: tcp, sd_id: none}", relp_fake_port(relp));
}

static inline void relp_fail_soon(bool fails)
{
    relp_fake_takes(relp, fails ? 1 : SIZE_MAX);
}

static inline char *relp_collect(size_t *ret_size)
{
    char *data = calloc(1, COLLECT_MAX);
    assert_non_null(data);
    relp_fake_bodies(relp, data, COLLECT_MAX);
    *ret_size = strlen(data);
    relp_fake_stop(relp);
    relp = NULL;
    return data;
}

/* Loki: events with a time, as strings of JSON. */
#define LOKI_FRONT "{\"@timestamp\":\"2026-11-21T09:30:00.0000000Z\",\"x\":"
#define LOKI_BEHIND "}"
static char loki_settings[160] = "{url: 'http://127.0.0.1:1', proxy: ''}";
static const char loki_mark[] = "\\\"x\\\":";

static inline void loki_answer(
    void *self, const struct http_fake_request *request, struct http_fake_reply *ret_reply)
{
    const char *first = strstr((const char *)request->body.data, loki_mark);
    (void)self;
    ret_reply->status = 204;
    if (http.fails) {
        ret_reply->status = first && strstr(first + 1, loki_mark) ? 413 : http.taken++ ? 503 : 204;
    }
    assert_true(http.count < sizeof(http.obeyed));
    http.obeyed[http.count++] = ret_reply->status == 204;
}

static inline void loki_prepare(void)
{
    http_prepare();
    http_fake_handle(server, loki_answer, NULL);
    snprintf(loki_settings, sizeof(loki_settings), "{url: '%s', proxy: '', compression: none}",
        http_fake_url(server));
}

/* Only the lines, without the escapes of strings. */
static inline char *loki_collect(size_t *ret_size)
{
    size_t size;
    char *data = http_collect(&size);
    char *to = data;
    data[size] = '\0';
    for (char *at = strstr(data, loki_mark); at; at = strstr(at, loki_mark)) {
        for (at += sizeof(loki_mark) - 1; *at != '"'; at++) {
            at += *at == '\\';
            *to++ = *at;
        }
        to[-1] = '\n'; /* over the brace after it */
    }
    *ret_size = (size_t)(to - data);
    return data;
}

#ifdef ETWSHIP_KAFKA
/* Kafka: refuses all messages while it fails. Without headers, because these need routes from the
 * host. */
static struct kafka_fake *kafka;
static char kafka_settings[200] = "{brokers: ['127.0.0.1:1'], topic: t}";

static inline void kafka_prepare(void)
{
    kafka_fake_stop(kafka);
    kafka = kafka_fake_start();
    kafka_fake_make_topic(kafka, "t", 1);
    snprintf(kafka_settings, sizeof(kafka_settings),
        "{brokers: ['%s'], topic: t, key: '', headers: [none], transport: tcp}",
        kafka_fake_broker(kafka));
}

static inline void kafka_fail_soon(bool fails)
{
    if (fails) {
        kafka_fake_fail(kafka, KAFKA_FAKE_PRODUCE, 3, KAFKA_FAKE_TOPIC_AUTHORIZATION_FAILED);
    } else {
        kafka_fake_obey(kafka, KAFKA_FAKE_PRODUCE);
    }
}

static inline char *kafka_collect(size_t *ret_size)
{
    char *text = kafka_fake_messages(kafka, "t", true);
    *ret_size = strlen(text);
    kafka_fake_stop(kafka);
    kafka = NULL;
    return text;
}
#endif

static struct fake_output *fake;

static inline void fake_make(const struct fake_step *steps, size_t count)
{
    fake_output_destroy(fake);
    fake = fake_output_create(steps, count);
}

static inline void fake_prepare(void)
{
    fake_make(NULL, 0);
}

static inline void fake_adjust(void *settings)
{
    if (!fake) {
        fake_prepare();
    }
    ((struct fake_settings *)settings)->fake = fake;
}

static inline void fake_fail_soon(bool fails)
{
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY},
        {.verdict = OUTPUT_MIXED, .delivers = 1}, {.verdict = OUTPUT_RECONNECT},
        {.verdict = OUTPUT_RETRY}};
    if (fails) {
        fake_output_script(fake, steps, sizeof(steps) / sizeof(steps[0]));
    }
}

static inline char *fake_collect(size_t *ret_size)
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

static inline void bulk_fail_soon(bool fails)
{
    static const struct bulk_step steps[] = {{.status = 503},
        {.item_first = 1, .item_count = BULK_ALL, .item_status = 429}, {.lost = true}};
    bulk_fake_script(bulk, steps, fails ? sizeof(steps) / sizeof(steps[0]) : 0);
}

/* The address is in the settings, so one server serves all tests. */
static inline void bulk_prepare(void)
{
    bulk_fail_soon(false);
    free(bulk_fake_documents(bulk, true));
}

static inline char *bulk_collect(size_t *ret_size)
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
    {"splunk_hec", hec_settings, NULL, hec_prepare, NULL, http_fail_soon, hec_collect},
    {"loki", loki_settings, NULL, loki_prepare, NULL, http_fail_soon, loki_collect},
    {"otlp", otlp_settings, NULL, otlp_prepare, NULL, http_fail_soon, otlp_collect},
    {"azure_logs", azure_settings, NULL, azure_prepare, NULL, http_fail_soon, azure_collect},
    {"syslog", syslog_settings, "{address: '127.0.0.1:1', transport: tcp}", syslog_prepare, NULL,
        syslog_fail_soon, syslog_collect},
#ifdef ETWSHIP_KAFKA
    {"kafka", kafka_settings, NULL, kafka_prepare, NULL, kafka_fail_soon, kafka_collect},
#endif
    {"relp", relp_settings, "{address: '127.0.0.1:1', transport: tcp}", relp_prepare, NULL,
        relp_fail_soon, relp_collect},
    {"fake", "{}", NULL, fake_prepare, fake_adjust, fake_fail_soon, fake_collect},
};

static const struct envelope envelopes[] = {
    {"loki", LOKI_FRONT, LOKI_BEHIND}, {"otlp", OTLP_FRONT, OTLP_BEHIND}};

enum { ENVELOPE_COUNT = sizeof(envelopes) / sizeof(envelopes[0]) };

enum { SUBJECT_COUNT = sizeof(subjects) / sizeof(subjects[0]) };

/* The number of tries that are sure to fail after fail_soon: only the first if the destination
 * answers nothing. */
static inline int failures_of(const struct subject *subject)
{
    return strcmp(subject->name, "syslog") == 0 ? 1 : 3;
}

static inline const struct output_ops *ops_of(const struct subject *subject)
{
    const struct output_ops *ops = registry_find_output(span_text(subject->name));
    return ops ? ops : &fake_output_ops;
}

#endif
