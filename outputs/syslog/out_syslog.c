/*
 * RFC 5424 over TLS (RFC 5425), TCP (RFC 6587) or UDP (RFC 5426). None of them has
 * acknowledgements. TCP provides some information:
 *
 *   - Before each delivery the output reads the connection. If the other side has closed it,
 *     nothing is written.
 *   - After each delivery the output waits until the other system has confirmed its bytes (Linux
 *     reports that). Until then nothing counts as delivered.
 *   - A reset loses bytes that the other system has confirmed but its program has not read: at most
 *     the size of its buffer. The output reports that many events as a gap. A graceful close loses
 *     nothing: a system that closes with unread bytes sends a reset (RFC 9293, 3.6.1; Linux,
 *     Windows). But a program that first shuts down sending and ends later does both. So after a
 *     graceful close the output waits for a reset.
 *   - The output checks the connection while it is idle and before it closes it. So it notices a
 *     reset after the last delivery, but not one after the close.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "outputs/http/http_platform.h"
#include "outputs/net/net_stream.h"
#include "outputs/syslog/syslog_message.h"
#include "platform/plat_clock.h"
#include "platform/plat_datagrams.h"

enum {
    UDP_MAX_BYTES = 65000,
    LINES_MAX_BYTES = 256 * 1024 * 1024,
    READ_BYTES = 4096,
    MAX_READS = 256,
    CONFIRM_SLICE_MS = 2,
    UNREAD_MAX_BYTES = 6 * 1024 * 1024, /* maximum receive buffer of a system (tcp(7), tcp_rmem) */
    UNREAD_COUNT = 32,
    UNREAD_BYTES = UNREAD_MAX_BYTES / (UNREAD_COUNT - 1) +
                   1, /* minimum of each slot except the newest */
    RESET_MS = 200,   /* how long to wait for a reset after an end */
    LOOK_MS = 1000,   /* between two checks of an idle connection */
};

enum transport { TRANSPORT_UDP, TRANSPORT_TCP, TRANSPORT_TLS };
enum framing { FRAMING_OCTETS, FRAMING_LINES };

static const char *const transport_names[] = {"udp", "tcp", "tls", NULL};
static const char *const framing_names[] = {"octet_counting", "newline", NULL};

struct settings {
    const char *address;
    int transport;
    int framing;
    struct syslog_options message;
    struct http_options http; /* only its tls and timeouts are used */
};

// clang-format off
static const struct config_field fields[] = {
    {CONFIG_ROW("address", STRING, struct settings, address), .required = true, .is_address = true,
        .help = "host and port, as in syslog.example:6514 for tls, :514 for tcp and udp"},
    {CONFIG_ROW("transport", ENUM, struct settings, transport), .names = transport_names,
        .default_text = "tls",
        .help = "tls: RFC 5425; tcp: RFC 6587; udp: RFC 5426, without any confirmation"},
    {CONFIG_ROW("framing", ENUM, struct settings, framing), .names = framing_names,
        .default_text = "octet_counting",
        .help = "for tls and tcp. octet_counting: messages of any text; newline: a line each, with line breaks as spaces, for receivers without octet counting"},
    SYSLOG_ROWS(struct settings),
    NET_STREAM_ROWS(struct settings),
    {CONFIG_ROW("timeout", DURATION, struct settings, http.timeout_ns), .default_text = "90s",
        .min = 1000000, .max = INT64_C(3600000000000),
        .help = "longest time in which the receiver takes no data"},
    {.key = NULL},
};
// clang-format on

/* Deliveries whose bytes may still lie unread in the other system. */
struct unread {
    uint64_t bytes;
    uint64_t records;
};

struct out_syslog {
    enum transport transport;
    enum framing framing;
    struct net_stream *stream;
    struct plat_datagrams *datagrams;
    char *host; /* destination of datagrams */
    char *port;
    struct syslog_writer writer;
    struct buf lines;
    uint32_t *ends; /* of each record in `lines` */
    size_t capacity;
    struct unread unread[UNREAD_COUNT]; /* a ring, the newest before `unread_at` */
    size_t unread_at;
    uint64_t lost; /* records that may be lost, and were not reported yet */
    bool over;     /* the connection was closed or broken */
    uint64_t timeout_ms;
    bool (*stopping)(void *host);
    void (*warn)(void *host, const char *text);
    void *env_host;
};

/* ---- making ---------------------------------------------------------------------------------- */

static void syslog_check(const void *settings, struct config_check *check)
{
    const struct settings *s = settings;
    net_stream_check_address(check, "address", &s->address);
    syslog_options_check(check, &s->message);
    http_options_check(check, &s->http);
    if (s->transport == TRANSPORT_UDP && s->framing == FRAMING_LINES) {
        CONFIG_FAULT(check, &s->framing,
            "framing: over udp each message is a datagram of its own. remove it");
    }
}

static void syslog_can_run(const void *settings, struct config_check *check)
{
    http_platform_check(check, &((const struct settings *)settings)->http);
}

static const char *syslog_route(const void *settings)
{
    return syslog_options_route(&((const struct settings *)settings)->message);
}

static bool wants_ids(const void *settings)
{
    return strcmp(((const struct settings *)settings)->message.sd_id, "none") != 0;
}

/* ---- what may be lost ------------------------------------------------------------------------ */

static void note_written(struct out_syslog *self, uint64_t bytes, uint64_t records)
{
    struct unread *newest = &self->unread[(self->unread_at + UNREAD_COUNT - 1) % UNREAD_COUNT];
    if (newest->bytes < UNREAD_BYTES) {
        newest->bytes += bytes;
        newest->records += records;
        return;
    }
    self->unread[self->unread_at] = (struct unread){.bytes = bytes, .records = records};
    self->unread_at = (self->unread_at + 1) % UNREAD_COUNT;
}

/* The maximum number of delivered records that may be in the buffer of the other system. */
static uint64_t unread_records(const struct out_syslog *self)
{
    uint64_t bytes = 0;
    uint64_t records = 0;
    for (size_t i = 1; i <= UNREAD_COUNT && bytes < UNREAD_MAX_BYTES; i++) {
        const struct unread *one =
            &self->unread[(self->unread_at + UNREAD_COUNT - i) % UNREAD_COUNT];
        bytes += one->bytes;
        records += one->records;
    }
    return records;
}

/* The connection ended by ${how}: bytes written before may be lost. */
static void note_end(struct out_syslog *self, enum net_stream_read how)
{
    bool reset = how == NET_STREAM_BROKEN || net_stream_was_reset(self->stream, RESET_MS);
    if (reset && !self->over) {
        self->lost += unread_records(self);
    }
    self->over = true;
}

/* Read and drop bytes of the other side, for at most ${wait_ms}. False: the other side has ended
 * the connection. */
static bool is_there(struct out_syslog *self, unsigned wait_ms, struct error *err)
{
    uint8_t nothing[READ_BYTES];
    size_t size;
    uint64_t end_ns = plat_monotonic_ns() + (uint64_t)wait_ms * NS_PER_MS;
    for (int i = 0; i < MAX_READS; i++) {
        uint64_t now_ns = plat_monotonic_ns();
        uint64_t left_ms = now_ns < end_ns ? (end_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
        enum net_stream_read state = net_stream_read(
            self->stream, nothing, sizeof(nothing), (unsigned)left_ms, &size, err);
        if (state == NET_STREAM_NOTHING) {
            return true;
        }
        if (state != NET_STREAM_READ) {
            note_end(self, state);
            return false;
        }
    }
    return true;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void syslog_disconnect(void *self_)
{
    struct out_syslog *self = self_;
    struct error err;
    /* A reset that follows when both sides have ended is not reported: look for one before. */
    if (self->stream && net_stream_is_connected(self->stream) && !self->over &&
        is_there(self, 0, &err)) {
        /* With bytes left unread, this system would reset the connection. */
        net_stream_end(self->stream);
        is_there(self, unread_records(self) ? RESET_MS : 0, &err);
    }
    if (self->stream) {
        net_stream_disconnect(self->stream);
    }
    plat_datagrams_close(self->datagrams);
    self->datagrams = NULL;
    memset(self->unread, 0, sizeof(self->unread));
}

/* The next delivery reports a reset. */
static uint64_t syslog_idle(void *self_)
{
    struct out_syslog *self = self_;
    struct error err;
    if (!self->stream || self->over || !net_stream_is_connected(self->stream) ||
        !is_there(self, 0, &err)) {
        return UINT64_MAX;
    }
    return plat_monotonic_ns() + (uint64_t)LOOK_MS * NS_PER_MS;
}

/* No delivery comes any more that could report it. */
static void tell_lost(struct out_syslog *self)
{
    if (self->lost && self->warn) {
        char text[200];
        snprintf(text, sizeof(text),
            "a connection failed: at most %llu events that were sent before may be lost",
            (unsigned long long)self->lost);
        self->warn(self->env_host, text);
    }
}

static void syslog_destroy(void *self_)
{
    struct out_syslog *self = self_;
    if (self) {
        syslog_disconnect(self);
        tell_lost(self);
        net_stream_destroy(self->stream);
        syslog_writer_fini(&self->writer);
        buf_fini(&self->lines);
        free(self->ends);
        free(self->host);
        free(self);
    }
}

/* "host:port" in two texts: of "[::1]:514" ::1. */
static bool split_address(struct out_syslog *self, const char *address)
{
    self->host = span_copy(span_text(address));
    if (!self->host) {
        return false;
    }
    self->port = strrchr(self->host, ':');
    *self->port++ = '\0';
    size_t end = strlen(self->host);
    if (self->host[0] == '[' && end > 1) {
        memmove(self->host, self->host + 1, end - 2);
        self->host[end - 2] = '\0';
    }
    return true;
}

static void *syslog_create(const void *settings, const struct output_env *env, struct error *err)
{
    const struct settings *s = settings;
    struct out_syslog *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    self->transport = (enum transport)s->transport;
    self->framing = (enum framing)s->framing;
    self->timeout_ms = s->http.timeout_ns / NS_PER_MS;
    self->stopping = env->stopping;
    self->warn = env->warn;
    self->env_host = env->host;
    buf_init(&self->lines, LINES_MAX_BYTES);
    syslog_writer_init(
        &self->writer, &s->message, self->transport == TRANSPORT_UDP ? UDP_MAX_BYTES : SIZE_MAX);
    const struct net_stream_setup setup = {.address = s->address,
        .tls = self->transport == TRANSPORT_TLS,
        .options = &s->http,
        .stopping = env->stopping,
        .host = env->host};
    bool good = split_address(self, s->address) || error_set(err, ERR_MEMORY, "out of memory");
    if (good && self->transport != TRANSPORT_UDP) {
        self->stream = net_stream_create(&setup, err);
        good = self->stream != NULL;
    }
    if (!good) {
        syslog_destroy(self);
        return NULL;
    }
    return self;
}

static bool syslog_connect(void *self_, struct error *err)
{
    struct out_syslog *self = self_;
    bool lasts;
    self->over = false;
    if (self->transport != TRANSPORT_UDP) {
        return net_stream_connect(self->stream, &lasts, err);
    }
    plat_datagrams_close(self->datagrams);
    self->datagrams = plat_datagrams_open(self->host, self->port, err);
    return self->datagrams != NULL;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* In a stream, its length and a space precede it (RFC 6587, 3.4.1), or it is a line. A datagram is
 * a message. */
static void add_framed(struct out_syslog *self, const struct syslog_message *message)
{
    struct buf *lines = &self->lines;
    bool stream = self->transport != TRANSPORT_UDP;
    if (stream && self->framing == FRAMING_OCTETS) {
        buf_add_u64(lines, message->size);
        buf_add_byte(lines, ' ');
    }
    size_t start = lines->size;
    buf_add_span(lines, message->head);
    buf_add_span(lines, message->body);
    if (stream && self->framing == FRAMING_LINES) {
        for (size_t i = start; i < lines->size; i++) {
            lines->data[i] = lines->data[i] == '\n' || lines->data[i] == '\r' ? ' '
                                                                              : lines->data[i];
        }
        buf_add_byte(lines, '\n');
    }
}

/* All messages of ${delivery}, with their ends. */
static bool write_lines(struct out_syslog *self, const struct delivery *delivery)
{
    if (!grow_to(&self->ends, delivery->record_count, &self->capacity, sizeof(*self->ends))) {
        return false;
    }
    buf_reset(&self->lines);
    for (size_t i = 0; i < delivery->record_count && !self->lines.failed; i++) {
        struct syslog_message message;
        if (!syslog_writer_write(&self->writer, delivery, i, &message)) {
            return false;
        }
        add_framed(self, &message);
        self->ends[i] = (uint32_t)self->lines.size;
    }
    syslog_writer_warn(&self->writer, self->warn, self->env_host);
    return !self->lines.failed;
}

static enum output_verdict send_datagrams(
    struct out_syslog *self, const struct delivery *delivery, struct output_report *report)
{
    size_t start = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        struct span one = span_make(self->lines.data + start, self->ends[i] - start);
        if (!plat_datagrams_send(self->datagrams, one, &report->error)) {
            for (size_t k = 0; k < delivery->record_count; k++) {
                report->records[k] = k < i ? RECORD_DELIVERED : RECORD_RETRY;
            }
            return i ? OUTPUT_MIXED : OUTPUT_RECONNECT;
        }
        start = self->ends[i];
    }
    return OUTPUT_DELIVERED;
}

/* Wait until the other system has all written bytes. If that is unknown, assume it. */
static bool await_confirmed(struct out_syslog *self, struct error *err)
{
    uint64_t end_ns = plat_monotonic_ns() + self->timeout_ms * NS_PER_MS;
    uint64_t left;
    while (net_stream_unacked(self->stream, &left) && left) {
        if (!is_there(self, CONFIRM_SLICE_MS, err)) {
            return false;
        }
        if (plat_monotonic_ns() >= end_ns || (self->stopping && self->stopping(self->env_host))) {
            note_end(self, NET_STREAM_BROKEN);
            return error_set(err, ERR_IO, "%s: the other side did not confirm what was sent",
                net_stream_name(self->stream));
        }
    }
    return true;
}

/* Report losses of earlier deliveries with this one. */
static void report_lost(struct out_syslog *self, struct output_report *report)
{
    report->maybe_lost = self->lost;
    self->lost = 0;
}

static enum output_verdict send_stream(
    struct out_syslog *self, const struct delivery *delivery, struct output_report *report)
{
    size_t sent = 0;
    if (self->over || !is_there(self, 0, &report->error)) {
        if (!report->error.code) {
            error_set(&report->error, ERR_IO, "%s: the connection is closed",
                net_stream_name(self->stream));
        }
        return OUTPUT_RECONNECT;
    }
    bool written = net_stream_write(self->stream, buf_span(&self->lines), &sent, &report->error);
    if (!written) {
        note_end(self, NET_STREAM_BROKEN);
    }
    if (written && await_confirmed(self, &report->error)) {
        note_written(self, self->lines.size, delivery->record_count);
        return OUTPUT_DELIVERED;
    }
    /* All of this delivery is sent again; the other program may not have read all of earlier
     * ones. */
    for (size_t i = 0; i < delivery->record_count && self->ends[i] <= sent; i++) {
        report->maybe_duplicates++;
    }
    return OUTPUT_RECONNECT;
}

static enum output_verdict syslog_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_syslog *self = self_;
    bool connected = self->stream ? net_stream_is_connected(self->stream) : self->datagrams != NULL;
    if (!connected) {
        error_set(&report->error, ERR_IO, "not connected");
        return OUTPUT_RECONNECT;
    }
    if (!write_lines(self, delivery)) {
        error_set(
            &report->error, ERR_MEMORY, "out of memory for %zu messages", delivery->record_count);
        return OUTPUT_RETRY;
    }
    if (delivery->record_count == 0) {
        return OUTPUT_DELIVERED;
    }
    if (!self->stream) {
        return send_datagrams(self, delivery, report);
    }
    enum output_verdict verdict = send_stream(self, delivery, report);
    report_lost(self, report);
    return verdict;
}

/* ---- test-output ----------------------------------------------------------------------------- */

static bool syslog_examine(const void *settings, const struct output_talk *talk)
{
    const struct settings *s = settings;
    const struct output_env env = {.name = talk->name};
    struct error err = {0};
    struct out_syslog *self = syslog_create(settings, &env, &err);
    bool good = self && syslog_connect(self, &err);
    if (!good) {
        talk->say(talk->host, OUTPUT_FOUND_FAULT, err.text);
    } else if (s->transport == TRANSPORT_UDP) {
        talk->say(talk->host, OUTPUT_FOUND_NOTE,
            "the name has an address. over udp there is no answer: check that the test event "
            "arrives");
    } else {
        talk->say(talk->host, OUTPUT_FOUND_GOOD,
            s->transport == TRANSPORT_TCP ? "connected, without TLS"
            : s->http.tls.verify == HTTP_VERIFY_FULL
                ? "connected; the receiver's certificate is trusted"
                : "connected; tls.verify disables the check of the receiver's certificate");
    }
    syslog_destroy(self);
    return good;
}

const struct output_ops output_syslog = {
    .name = "syslog",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .check = syslog_check,
    .can_run = syslog_can_run,
    .route = syslog_route,
    .route_safety = EVENT_TEMPLATE_PATH,
    .ids = wants_ids,
    .examine = syslog_examine,
    .create = syslog_create,
    .connect = syslog_connect,
    .send = syslog_send,
    .disconnect = syslog_disconnect,
    .idle = syslog_idle,
    .destroy = syslog_destroy,
};
