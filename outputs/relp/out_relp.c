/*
 * RELP: each message is a transaction, delivered when the other side answers it with 200. Up to
 * `window` transactions are open. If the connection breaks, answered messages are delivered; the
 * others are sent again over the next one.
 */
#include <stdlib.h>

#include "outputs/http/http_platform.h"
#include "outputs/net/net_stream.h"
#include "outputs/relp/relp_frame.h"
#include "outputs/syslog/syslog_message.h"
#include "platform/plat_clock.h"

enum {
    FRAMES_MAX_BYTES = 256 * 1024 * 1024,
    ANSWERS_MAX_BYTES = 2 * RELP_MAX_DATA,
    READ_BYTES = 16 * 1024,
    ANSWER_BYTES = 12, /* size of the shortest, "1 rsp 3 200\n" */
    GATHER_MS = 5,
    CLOSE_MS = 200,
    OPEN_TXNR = 1,
};

enum transport { TRANSPORT_TCP, TRANSPORT_TLS };

static const char *const transport_names[] = {"tcp", "tls", NULL};

struct settings {
    const char *address;
    int transport;
    int64_t window;
    struct syslog_options message;
    struct http_options http; /* only its tls and timeouts are used */
};

// clang-format off
static const struct config_field fields[] = {
    {CONFIG_ROW("address", STRING, struct settings, address), .required = true, .is_address = true,
        .help = "host and port, as in syslog.example:2514"},
    {CONFIG_ROW("transport", ENUM, struct settings, transport), .names = transport_names,
        .default_text = "tls", .help = "tls, or tcp without it"},
    {CONFIG_ROW("window", INT, struct settings, window), .default_text = "1024", .min = 1, .max = 100000,
        .help = "maximum number of messages that wait for an answer"},
    SYSLOG_ROWS(struct settings),
    NET_STREAM_ROWS(struct settings),
    {CONFIG_ROW("timeout", DURATION, struct settings, http.timeout_ns), .default_text = "90s",
        .min = 1000000, .max = INT64_C(3600000000000),
        .help = "longest time without an answer"},
    {.key = NULL},
};
// clang-format on

struct out_relp {
    struct net_stream *stream;
    struct syslog_writer writer;
    struct buf frames;
    struct buf answers; /* bytes read but not parsed yet */
    size_t awaited;     /* answers to wait for */
    size_t window;
    uint64_t timeout_ms;
    bool open;     /* the session is open */
    uint32_t txnr; /* of the next transaction */
    void (*warn)(void *host, const char *text);
    bool (*stopping)(void *host);
    void *host;
};

/* ---- making ---------------------------------------------------------------------------------- */

static void relp_check(const void *settings, struct config_check *check)
{
    const struct settings *s = settings;
    net_stream_check_address(check, "address", &s->address);
    syslog_options_check(check, &s->message);
    http_options_check(check, &s->http);
}

static void relp_can_run(const void *settings, struct config_check *check)
{
    http_platform_check(check, &((const struct settings *)settings)->http);
}

static const char *relp_route(const void *settings)
{
    return syslog_options_route(&((const struct settings *)settings)->message);
}

static bool wants_ids(const void *settings)
{
    return strcmp(((const struct settings *)settings)->message.sd_id, "none") != 0;
}

static void *relp_create(const void *settings, const struct output_env *env, struct error *err)
{
    const struct settings *s = settings;
    struct out_relp *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    self->window = (size_t)s->window;
    self->timeout_ms = s->http.timeout_ns / NS_PER_MS;
    self->warn = env->warn;
    self->stopping = env->stopping;
    self->host = env->host;
    buf_init(&self->frames, FRAMES_MAX_BYTES);
    buf_init(&self->answers, ANSWERS_MAX_BYTES);
    syslog_writer_init(&self->writer, &s->message, SIZE_MAX);
    const struct net_stream_setup setup = {.address = s->address,
        .tls = s->transport == TRANSPORT_TLS,
        .options = &s->http,
        .stopping = env->stopping,
        .host = env->host};
    self->stream = net_stream_create(&setup, err);
    if (!self->stream) {
        free(self);
        return NULL;
    }
    return self;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Read more bytes of answers. Before it waits, it acknowledges received bytes, as the other system
 * may hold back the next answers until then. It waits for all needed answers together, as they may
 * arrive one at a time, but GATHER_MS at most, as the other side may send something else. */
static enum net_stream_read read_more(
    struct out_relp *self, unsigned wait_ms, size_t *ret_size, struct error *err)
{
    uint8_t *to = self->answers.data + self->answers.size;
    enum net_stream_read read = net_stream_read(self->stream, to, READ_BYTES, 0, ret_size, err);
    if (read == NET_STREAM_NOTHING && wait_ms) {
        net_stream_confirm(self->stream);
        if (self->awaited > 1) {
            size_t bytes = self->awaited * ANSWER_BYTES;
            size_t some = self->answers.size < bytes ? self->answers.size : bytes - 1;
            net_stream_await(self->stream, bytes - some, wait_ms < GATHER_MS ? wait_ms : GATHER_MS);
        }
        read = net_stream_read(self->stream, to, READ_BYTES, wait_ms, ret_size, err);
    }
    return read;
}

/* Time left until ${*end_ns}. If that is 0, set it to ${wait_ms} from now. */
static unsigned left_until(uint64_t *end_ns, unsigned wait_ms)
{
    uint64_t now_ns = plat_monotonic_ns();
    if (!*end_ns) {
        *end_ns = now_ns + (uint64_t)wait_ms * NS_PER_MS;
    }
    return now_ns < *end_ns ? (unsigned)((*end_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

/* Read the next whole frame within ${wait_ms}. RELP_MORE: none came. RELP_BAD: none can follow;
 * ${err} says why. Valid until the next call. */
static enum relp_read next_frame(struct out_relp *self, unsigned wait_ms,
    struct relp_frame *ret_frame, size_t *used, struct error *err)
{
    for (uint64_t end_ns = 0;;) {
        size_t size = 0;
        struct span rest = span_from(buf_span(&self->answers), *used);
        enum relp_read state = relp_frame_read(rest, ret_frame, &size);
        if (state == RELP_FRAME) {
            *used += size;
            return state;
        }
        if (state == RELP_BAD) {
            error_set(err, ERR_FORMAT,
                "%s: the answer is not RELP. check that an imrelp listens there",
                net_stream_name(self->stream));
            return state;
        }
        if (*used) {
            memmove(self->answers.data, rest.data, rest.size);
            self->answers.size = rest.size;
            *used = 0;
        }
        if (!buf_reserve(&self->answers, READ_BYTES)) {
            error_set(err, ERR_LIMIT, "%s: an answer is too long", net_stream_name(self->stream));
            return RELP_BAD;
        }
        unsigned left_ms = wait_ms ? left_until(&end_ns, wait_ms) : 0;
        enum net_stream_read read = read_more(self, left_ms, &size, err);
        self->answers.size += size;
        if (read == NET_STREAM_NOTHING || (read == NET_STREAM_READ && wait_ms && !left_ms)) {
            return RELP_MORE;
        }
        if (read != NET_STREAM_READ) {
            return RELP_BAD;
        }
    }
}

static void drop_used(struct out_relp *self, size_t used)
{
    if (used) {
        self->answers.size -= used;
        memmove(self->answers.data, self->answers.data + used, self->answers.size);
    }
}

/* Readable text of a response. */
static struct span words_of(const struct relp_frame *frame)
{
    enum { SHOWN = 200 };
    return frame->data.size ? span_first(frame->data, SHOWN) : span_text("no reason given");
}

/* ---- the session ----------------------------------------------------------------------------- */

static bool put_frame(struct out_relp *self, uint32_t txnr, const char *command, struct span data)
{
    relp_frame_begin(&self->frames, txnr, command, data.size);
    buf_add_span(&self->frames, data);
    buf_add_byte(&self->frames, '\n');
    return !self->frames.failed;
}

static bool put_message(struct out_relp *self, uint32_t txnr, const struct syslog_message *message)
{
    relp_frame_begin(&self->frames, txnr, "syslog", message->size);
    buf_add_span(&self->frames, message->head);
    buf_add_span(&self->frames, message->body);
    buf_add_byte(&self->frames, '\n');
    return !self->frames.failed;
}

static bool write_frames(struct out_relp *self, struct error *err)
{
    size_t sent;
    if (self->frames.failed) {
        return error_set(err, ERR_MEMORY, "out of memory for messages");
    }
    return net_stream_write(self->stream, buf_span(&self->frames), &sent, err);
}

static bool open_session(struct out_relp *self, struct error *err)
{
    static const char offers[] = "relp_version=0\nrelp_software=etwship\ncommands=syslog";
    struct relp_frame frame;
    size_t used = 0;
    buf_reset(&self->answers);
    buf_reset(&self->frames);
    put_frame(self, OPEN_TXNR, "open", span_text(offers));
    if (!write_frames(self, err)) {
        return false;
    }
    enum relp_read state = next_frame(self, (unsigned)self->timeout_ms, &frame, &used, err);
    if (state == RELP_MORE) {
        error_set(err, ERR_IO,
            "%s: no answer to the opening of a session. check that an imrelp listens there",
            net_stream_name(self->stream));
    } else if (state == RELP_FRAME && (frame.txnr != OPEN_TXNR || !span_is(frame.command, "rsp") ||
                                          relp_frame_code(frame.data) != 200)) {
        error_set(err, ERR_IO, "%s: the receiver refuses to open a session: %.*s",
            net_stream_name(self->stream), SPAN_ARG(words_of(&frame)));
    } else if (state == RELP_FRAME && !relp_frame_offers(frame.data, "syslog")) {
        error_set(err, ERR_UNSUPPORTED, "%s: the receiver does not accept syslog messages",
            net_stream_name(self->stream));
    } else if (state == RELP_FRAME) {
        drop_used(self, used);
        self->txnr = OPEN_TXNR + 1;
        self->open = true;
    }
    return self->open;
}

/* Without a `close` the other side reports a broken session. */
static void relp_disconnect(void *self_)
{
    struct out_relp *self = self_;
    struct relp_frame frame;
    struct error err;
    size_t used = 0;
    if (self->open && net_stream_is_connected(self->stream)) {
        buf_reset(&self->frames);
        put_frame(self, self->txnr, "close", span_make(NULL, 0));
        if (write_frames(self, &err)) {
            next_frame(self, CLOSE_MS, &frame, &used, &err);
        }
    }
    self->open = false;
    net_stream_disconnect(self->stream);
}

static bool relp_connect(void *self_, struct error *err)
{
    struct out_relp *self = self_;
    bool lasts;
    self->open = false;
    if (net_stream_connect(self->stream, &lasts, err) && open_session(self, err)) {
        return true;
    }
    net_stream_disconnect(self->stream);
    return false;
}

static void relp_destroy(void *self_)
{
    struct out_relp *self = self_;
    if (self) {
        relp_disconnect(self);
        net_stream_destroy(self->stream);
        syslog_writer_fini(&self->writer);
        buf_fini(&self->frames);
        buf_fini(&self->answers);
        free(self);
    }
}

/* ---- one delivery ---------------------------------------------------------------------------- */

/* Progress of a delivery. Record number N has transaction first + N. */
struct progress {
    const struct delivery *delivery;
    struct output_report *report;
    uint32_t first;
    size_t sent;
    size_t answered;
    size_t refused;
};

/* False: the session is over. */
static bool take_answer(
    struct out_relp *self, struct progress *progress, const struct relp_frame *frame)
{
    struct error *err = &progress->report->error;
    size_t record = (size_t)frame->txnr - progress->first;
    if (span_is(frame->command, "serverclose")) {
        return error_set(
            err, ERR_IO, "%s: the receiver closed the session", net_stream_name(self->stream));
    }
    if (!span_is(frame->command, "rsp") || frame->txnr < progress->first ||
        record >= progress->sent || progress->report->records[record] != RECORD_RETRY) {
        return error_set(err, ERR_FORMAT, "%s: an answer to a message that was not sent",
            net_stream_name(self->stream));
    }
    progress->answered++;
    if (relp_frame_code(frame->data) == 200) {
        progress->report->records[record] = RECORD_DELIVERED;
        return true;
    }
    progress->refused++;
    progress->report->records[record] = RECORD_HELD; /* until the end of the delivery */
    error_set(err, ERR_IO, "%s: the receiver rejects messages: %.*s. see its log",
        net_stream_name(self->stream), SPAN_ARG(words_of(frame)));
    return true;
}

/* Read the answers available now. False: the session is over. */
static bool take_what_came(struct out_relp *self, struct progress *progress)
{
    size_t used = 0;
    struct relp_frame frame;
    enum relp_read state;
    bool good = true;
    do {
        state = next_frame(self, 0, &frame, &used, &progress->report->error);
        good = state == RELP_MORE || (state == RELP_FRAME && take_answer(self, progress, &frame));
    } while (good && state == RELP_FRAME);
    drop_used(self, used);
    return good;
}

/* Read the available answers. Then write as many messages as the window allows. */
static bool send_more(struct out_relp *self, struct progress *progress)
{
    if (!take_what_came(self, progress)) {
        return false;
    }
    size_t most = progress->answered + self->window;
    most = most < progress->delivery->record_count ? most : progress->delivery->record_count;
    buf_reset(&self->frames);
    for (size_t i = progress->sent; i < most; i++) {
        struct syslog_message message;
        if (!syslog_writer_write(&self->writer, progress->delivery, i, &message) ||
            !put_message(self, progress->first + (uint32_t)i, &message)) {
            return error_set(&progress->report->error, ERR_MEMORY, "out of memory for messages");
        }
    }
    progress->sent = most; /* also after a partial write: it may have arrived */
    return write_frames(self, &progress->report->error);
}

/* Wait until half of the window is free, or all is answered. False: the session is over. */
static bool take_answers(struct out_relp *self, struct progress *progress)
{
    size_t used = 0;
    bool all = progress->sent == progress->delivery->record_count;
    size_t enough = all ? progress->sent
                        : progress->sent -
                              (progress->sent < self->window ? progress->sent : self->window) / 2;
    bool good = true;
    while (good && progress->answered < enough) {
        struct relp_frame frame;
        self->awaited = enough - progress->answered;
        enum relp_read state = next_frame(
            self, (unsigned)self->timeout_ms, &frame, &used, &progress->report->error);
        if (state == RELP_MORE) {
            error_set(&progress->report->error, ERR_IO, "%s: no answer in time",
                net_stream_name(self->stream));
        }
        good = state == RELP_FRAME && take_answer(self, progress, &frame);
    }
    self->awaited = 0;
    drop_used(self, used);
    return good;
}

static enum output_verdict verdict_of(struct out_relp *self, struct progress *progress, bool whole)
{
    struct output_report *report = progress->report;
    size_t delivered = progress->answered - progress->refused;
    report->maybe_duplicates = progress->sent - progress->answered;
    report->degraded = progress->refused > 0;
    if (!whole) {
        self->open = false; /* send no more over this connection */
        net_stream_disconnect(self->stream);
    }
    if (delivered == progress->delivery->record_count) {
        report->error = (struct error){0};
        return OUTPUT_DELIVERED;
    }
    return delivered ? OUTPUT_MIXED : whole ? OUTPUT_RETRY : OUTPUT_RECONNECT;
}

static enum output_verdict relp_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_relp *self = self_;
    struct progress progress = {.delivery = delivery, .report = report, .first = self->txnr};
    if (!self->open || self->txnr > RELP_MAX_TXNR - delivery->record_count) {
        error_set(&report->error, ERR_IO, "%s: there is no session", net_stream_name(self->stream));
        return OUTPUT_RECONNECT;
    }
    enum record_status *before = report->records;
    enum record_status *records = malloc((delivery->record_count + 1) * sizeof(*records));
    if (!records) {
        error_set(&report->error, ERR_MEMORY, "out of memory");
        return OUTPUT_RETRY;
    }
    for (size_t i = 0; i < delivery->record_count; i++) {
        records[i] = RECORD_RETRY;
    }
    report->records = records;
    bool whole = true;
    while (whole && progress.answered < delivery->record_count) {
        whole = send_more(self, &progress) && take_answers(self, &progress);
    }
    self->txnr += (uint32_t)delivery->record_count;
    enum output_verdict verdict = verdict_of(self, &progress, whole);
    report->records = before;
    for (size_t i = 0; verdict == OUTPUT_MIXED && i < delivery->record_count; i++) {
        before[i] = records[i] == RECORD_DELIVERED ? RECORD_DELIVERED : RECORD_RETRY;
    }
    free(records);
    syslog_writer_warn(&self->writer, self->warn, self->host);
    return verdict;
}

/* ---- test-output ----------------------------------------------------------------------------- */

static bool relp_examine(const void *settings, const struct output_talk *talk)
{
    const struct output_env env = {.name = talk->name};
    struct error err = {0};
    struct out_relp *self = relp_create(settings, &env, &err);
    bool good = self && relp_connect(self, &err);
    talk->say(talk->host, good ? OUTPUT_FOUND_GOOD : OUTPUT_FOUND_FAULT,
        good ? "connected, and the receiver accepts syslog messages over RELP" : err.text);
    relp_destroy(self);
    return good;
}

const struct output_ops output_relp = {
    .name = "relp",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .check = relp_check,
    .can_run = relp_can_run,
    .route = relp_route,
    .route_safety = EVENT_TEMPLATE_PATH,
    .ids = wants_ids,
    .examine = relp_examine,
    .create = relp_create,
    .connect = relp_connect,
    .send = relp_send,
    .disconnect = relp_disconnect,
    .destroy = relp_destroy,
};
