#include "outputs/syslog/syslog_message.h"

#include <stdio.h>

#include "outputs/http/http_frame.h"
#include "outputs/json_member.h"
#include "outputs/syslog/syslog_event.h"
#include "outputs/template_check.h"

enum {
    BODY_MAX_BYTES = 64 * 1024 * 1024,
    HEAD_MAX_BYTES = 64 * 1024,
    HOST_MAX = 255,
    PROC_MAX = 128,
    MSG_ID_MAX = 32,
    VALUE_MAX = 512, /* of a parameter */
};

const char *const syslog_format_names[] = {"json", "cef", "leef", "text", NULL};
const char *const syslog_facility_names[] = {"kern", "user", "mail", "daemon", "auth", "syslog",
    "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp", "audit", "alert", "clock", "local0",
    "local1", "local2", "local3", "local4", "local5", "local6", "local7", NULL};

/* ---- settings -------------------------------------------------------------------------------- */

static bool is_printable(const char *text, size_t max, const char *barred)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        if ((uint8_t)text[i] <= ' ' || (uint8_t)text[i] >= 0x7f || strchr(barred, text[i])) {
            return false;
        }
    }
    return size && size <= max;
}

const char *syslog_options_route(const struct syslog_options *options)
{
    return options->app_name && strpbrk(options->app_name, "{}%") ? options->app_name : NULL;
}

void syslog_options_check(struct config_check *check, const struct syslog_options *options)
{
    if (options->app_name && syslog_options_route(options)) {
        template_check(check, "app_name", &options->app_name, EVENT_TEMPLATE_PATH);
    } else if (options->app_name && !is_printable(options->app_name, SYSLOG_APP_NAME_MAX, "")) {
        CONFIG_FAULT(check, &options->app_name,
            "app_name: write 1 to %d ASCII characters without spaces", SYSLOG_APP_NAME_MAX);
    }
    if (options->sd_id && !is_printable(options->sd_id, SYSLOG_SD_ID_MAX, "=]\"")) {
        CONFIG_FAULT(check, &options->sd_id,
            "sd_id: write 1 to %d ASCII characters without space, =, ] and \", such as name@32473, "
            "or none",
            SYSLOG_SD_ID_MAX);
    }
}

void syslog_writer_init(
    struct syslog_writer *writer, const struct syslog_options *options, size_t most)
{
    *writer = (struct syslog_writer){.format = options->format,
        .facility = options->facility,
        .bom = options->bom,
        .max_bytes = options->max_bytes < most ? (size_t)options->max_bytes : most};
    snprintf(
        writer->app_name, sizeof(writer->app_name), "%.*s", SYSLOG_APP_NAME_MAX, options->app_name);
    if (strcmp(options->sd_id, "none") != 0) {
        snprintf(writer->sd_id, sizeof(writer->sd_id), "%.*s", SYSLOG_SD_ID_MAX, options->sd_id);
    }
    buf_init(&writer->body, BODY_MAX_BYTES);
    buf_init(&writer->head, HEAD_MAX_BYTES);
    syslog_event_init(&writer->event);
}

void syslog_writer_fini(struct syslog_writer *writer)
{
    buf_fini(&writer->body);
    buf_fini(&writer->head);
    syslog_event_fini(&writer->event);
}

void syslog_writer_warn(
    struct syslog_writer *writer, void (*warn)(void *host, const char *text), void *host)
{
    if (writer->cut > writer->told_cut && warn) {
        warn(host, "messages are longer than max_message and were cut");
    }
    writer->told_cut = writer->cut;
}

/* ---- header ---------------------------------------------------------------------------------- */

/* PRINTUSASCII of at most ${max} bytes, `-` for nothing; other characters become `_`. */
static void add_word(struct buf *out, struct span text, size_t max)
{
    text = text.size ? span_first(text, max) : span_text("-");
    if (!buf_reserve(out, text.size + 1)) {
        return;
    }
    uint8_t *to = out->data + out->size;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        to[i] = c > ' ' && c < 0x7f ? c : '_';
    }
    to[text.size] = ' ';
    out->size += text.size + 1;
}

/* RFC 5424, 6.2.1, for the levels of ETW; those of a provider's own are informational. */
static int severity_of(unsigned level)
{
    static const int severities[] = {6, 2, 3, 4, 6, 7};
    return level < sizeof(severities) / sizeof(severities[0]) ? severities[level] : 6;
}

/* 2026-11-21T09:30:00.1234567Z without its last digit: RFC 5424 allows six. */
static void add_time(struct buf *out, const struct syslog_event *event)
{
    enum { SEVEN_DIGITS = 28 };
    struct span time = event->time;
    if (!event->has_time) {
        buf_add_text(out, "- ");
    } else if (time.size == SEVEN_DIGITS && time.data[SEVEN_DIGITS - 1] == 'Z') {
        buf_add_span(out, span_first(time, SEVEN_DIGITS - 2));
        buf_add_text(out, "Z ");
    } else {
        add_word(out, time, SEVEN_DIGITS);
    }
}

static struct span app_name_of(
    const struct syslog_writer *writer, const struct delivery *delivery, size_t index)
{
    return delivery->routes ? delivery->route_names[delivery->routes[index]]
                            : span_text(writer->app_name);
}

/* ---- structured data ------------------------------------------------------------------------- */

/* RFC 5424, 6.3.3: a quote, a backslash and a closing bracket get a backslash. ${name}: `
 * name="`. */
static void add_param(struct buf *out, const char *name, struct span value)
{
    if (value.size == 0) {
        return;
    }
    if (value.size <= VALUE_MAX && !memchr(value.data, '"', value.size) &&
        !memchr(value.data, '\\', value.size) && !memchr(value.data, ']', value.size)) {
        buf_add_text(out, name);
        buf_add_span(out, value);
        buf_add_byte(out, '"');
        return;
    }
    size_t size = value.size < VALUE_MAX ? value.size : VALUE_MAX;
    while (size < value.size && size && (value.data[size] & 0xc0) == 0x80) {
        size--;
    }
    buf_add_text(out, name);
    if (!buf_reserve(out, 2 * size + 1)) {
        return;
    }
    uint8_t *to = out->data + out->size;
    for (size_t i = 0; i < size; i++) {
        uint8_t c = value.data[i];
        if (c == '"' || c == '\\' || c == ']') {
            *to++ = '\\';
        }
        *to++ = c;
    }
    *to++ = '"';
    out->size = (size_t)(to - out->data);
}

/* MSGID, and the structured data up to the level; the bracket stays open. All events of a kind
 * share this text. */
static void add_fixed(
    const struct syslog_writer *writer, const struct syslog_event *event, struct buf *out)
{
    add_word(out, event->code.size ? event->code : event->name, MSG_ID_MAX);
    if (!writer->sd_id[0]) {
        buf_add_text(out, "- ");
        return;
    }
    buf_add_byte(out, '[');
    buf_add_text(out, writer->sd_id);
    add_param(out, " provider=\"", event->provider);
    add_param(out, " code=\"", event->code);
    add_param(out, " name=\"", event->name);
    if (event->has_level) {
        buf_add_text(out, " level=\"");
        buf_add_u64(out, event->level);
        buf_add_byte(out, '"');
    }
}

/* Like add_fixed, which is called once for each kind. */
static void add_head(
    const struct syslog_writer *writer, const struct syslog_event *event, struct buf *out)
{
    struct buf *head = event->kind ? &event->kind->head : NULL;
    if (head && !head->size) {
        add_fixed(writer, event, head);
        if (head->failed) {
            buf_reset(head);
        }
    }
    if (head && head->size) {
        buf_add_span(out, buf_span(head));
    } else {
        add_fixed(writer, event, out);
    }
}

/* Add the event's own values after that head, and close the structured data. */
static void add_own(const struct syslog_event *event, const struct delivery *delivery, size_t index,
    size_t cut_from, struct buf *out)
{
    char id[DELIVERY_ID_MAX];
    add_param(out, " time=\"", event->time);
    if (delivery->ids) {
        add_param(out, " id=\"", span_make(id, delivery_id_write(delivery, index, id)));
    }
    if (cut_from) {
        buf_printf(out, " cut_from=\"%zu\"", cut_from);
    }
    buf_add_text(out, "] ");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static struct span write_body(
    struct syslog_writer *writer, const struct syslog_event *event, struct span record)
{
    struct buf *body = &writer->body;
    buf_reset(body);
    if (writer->bom && writer->format != SYSLOG_JSON) {
        buf_add_text(body, "\xef\xbb\xbf");
    }
    switch ((enum syslog_format)writer->format) {
    case SYSLOG_CEF:
        syslog_event_cef(event, body);
        break;
    case SYSLOG_LEEF:
        syslog_event_leef(event, body);
        break;
    case SYSLOG_TEXT:
        buf_add_span(body, event->message.size ? event->message : record);
        break;
    case SYSLOG_JSON:
        return record;
    }
    return buf_span(body);
}

/* Replace `head` by all text before the body. */
static void write_head(
    struct syslog_writer *writer, const struct delivery *delivery, size_t index, size_t cut_from)
{
    const struct syslog_event *event = &writer->event;
    struct buf *out = &writer->head;
    buf_reset(out);
    buf_add_byte(out, '<');
    buf_add_i64(out, writer->facility * 8 + severity_of(event->level));
    buf_add_text(out, ">1 ");
    add_time(out, event);
    add_word(out, event->host, HOST_MAX);
    add_word(out, app_name_of(writer, delivery, index), SYSLOG_APP_NAME_MAX);
    add_word(out, event->pid, PROC_MAX);
    add_head(writer, event, out);
    if (writer->sd_id[0]) {
        add_own(event, delivery, index, cut_from, out);
    }
}

/* Cut head and body to max_bytes together, between characters. */
static void cut(struct syslog_writer *writer, struct span *head, struct span *body)
{
    struct span *last = head->size > writer->max_bytes ? head : body;
    size_t before = last == body ? head->size : 0;
    size_t end = writer->max_bytes - before;
    *body = last == head ? span_make(NULL, 0) : *body;
    if (end < last->size) {
        while (end && (last->data[end] & 0xc0) == 0x80) {
            end--;
        }
        *last = span_first(*last, end);
    }
    writer->cut++;
}

bool syslog_writer_write(struct syslog_writer *writer, const struct delivery *delivery,
    size_t index, struct syslog_message *ret_message)
{
    struct span record = http_frame_record(delivery, index);
    syslog_event_read(&writer->event, record, writer->format != SYSLOG_JSON);
    struct span body = write_body(writer, &writer->event, record);
    write_head(writer, delivery, index, 0);
    size_t size = writer->head.size + body.size;
    bool long_one = size > writer->max_bytes;
    if (long_one) {
        write_head(writer, delivery, index, size);
    }
    struct span head = buf_span(&writer->head);
    if (long_one) {
        cut(writer, &head, &body);
    }
    *ret_message = (struct syslog_message){
        .head = head, .body = body, .size = head.size + body.size};
    return !writer->head.failed && !writer->body.failed && !writer->event.texts.failed;
}
