#include "outputs/syslog/syslog_event.h"

#include "base/rfc3339.h"
#include "outputs/json_member.h"

#define EPOCH_FILETIME UINT64_C(116444736000000000) /* 1970-01-01 */

enum { TEXTS_MAX_BYTES = 64 * 1024 * 1024, TICKS_PER_MS = 10000, KEY_MAX = 100 };

/* ---- reading ------------------------------------------------------------------------------------- */

/* The text of a string, or a number or word as it stands. */
static void add_value(struct span value, struct buf *out)
{
    struct span inner;
    if (json_member_inner(value, &inner)) {
        json_member_text(inner, out);
    } else {
        buf_add_span(out, value);
    }
}

/* The members of an event that a message says something of, found in one pass. */
struct members {
    struct span time;
    struct span provider;
    struct span event;
    struct span host;
    struct span agent;
    struct span process;
    struct span message;
    struct span data;
    struct span winlog;
};

static void find_members(struct span record, struct members *ret_members)
{
    struct members *m = ret_members;
    const struct {
        const char *name;
        struct span *to;
    } wanted[] = {{"@timestamp", &m->time}, {"provider", &m->provider}, {"event", &m->event},
        {"host", &m->host}, {"agent", &m->agent}, {"process", &m->process},
        {"message", &m->message}, {"data", &m->data}, {"winlog", &m->winlog}};
    struct span key;
    struct span value;
    *m = (struct members){.time = {NULL, 0}};
    for (size_t at = 0; json_member_next(record, &at, &key, &value);) {
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
            if (wanted[i].to->size == 0 && span_is(key, wanted[i].name)) {
                *wanted[i].to = value;
            }
        }
    }
}

static unsigned level_of(struct span level, bool *ret_has_level)
{
    unsigned number = 0;
    *ret_has_level = level.size > 0 && level.size < 4 && level.data[0] >= '0' &&
                     level.data[0] <= '9';
    for (size_t i = 0; *ret_has_level && i < level.size; i++) {
        unsigned digit = level.data[i] - (unsigned)'0';
        number = digit < 10 ? number * 10 + digit : number;
    }
    return *ret_has_level ? number : 4;
}

static struct span first_of(struct span a, struct span b)
{
    return a.size ? a : b;
}

void syslog_event_init(struct syslog_event *event)
{
    *event = (struct syslog_event){.level = 4};
    buf_init(&event->texts, TEXTS_MAX_BYTES);
}

void syslog_event_read(struct syslog_event *event, struct span record, bool with_message)
{
    struct members m;
    buf_reset(&event->texts);
    find_members(record, &m);
    const struct {
        struct span *to;
        struct span value;
    } parts[] = {{&event->time, m.time},
        {&event->provider,
            first_of(json_member_find(m.provider, "name"), json_member_find(m.event, "provider"))},
        {&event->code, json_member_find(m.event, "code")},
        {&event->name, json_member_find(m.event, "name")},
        {&event->host,
            first_of(json_member_find(m.host, "name"), json_member_find(m.agent, "name"))},
        {&event->pid, json_member_find(m.process, "pid")},
        {&event->message, with_message ? m.message : span_make(NULL, 0)}};
    enum { COUNT = sizeof(parts) / sizeof(parts[0]) };
    size_t ends[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        add_value(parts[i].value, &event->texts);
        ends[i] = event->texts.size;
    }
    for (size_t i = 0; i < COUNT; i++) {
        size_t start = i ? ends[i - 1] : 0;
        *parts[i].to = span_first(span_from(buf_span(&event->texts), start), ends[i] - start);
    }
    event->level = level_of(
        first_of(json_member_find(m.event, "level"), json_member_find(m.event, "severity")),
        &event->has_level);
    event->data = first_of(m.data, json_member_find(m.winlog, "event_data"));
}

void syslog_event_fini(struct syslog_event *event)
{
    buf_fini(&event->texts);
}

/* ---- writing ------------------------------------------------------------------------------------- */

/* How a format writes the fields of its header, and its attributes. */
struct style {
    const char *between;
    const char *escaped;
    bool tab;
    bool header_escapes; /* a backslash stands in front of a pipe and a backslash in the header */
    const char *const *own; /* keys that are ours, up to NULL */
};

static const char *const cef_own[] = {"rt", "dvchost", "dvcpid", "msg", NULL};
static const char *const leef_own[] = {
    "devTime", "devTimeFormat", "sev", "cat", "identHostName", "pid", "msg", NULL};

static const struct style cef = {" ", "\\=", false, true, cef_own};
static const struct style leef = {"\t", "", true, false, leef_own};

/* ${text} with a backslash in front of each of ${escaped}; line breaks, and TAB where it is among them, as
 * letters; other control characters as spaces. */
static void add_escaped(struct buf *out, struct span text, const char *escaped, bool tab)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c == '\n' || c == '\r' || (c == '\t' && tab)) {
            buf_add_byte(out, '\\');
            buf_add_byte(out, c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        } else if (c && strchr(escaped, c)) {
            buf_add_byte(out, '\\');
            buf_add_byte(out, c);
        } else {
            buf_add_byte(out, c < ' ' && c != '\t' ? ' ' : c);
        }
    }
}

/* A field of a header. A line break has no letters there: it is a space. */
static void add_header(struct buf *out, const struct style *style, struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool pipe = c == '|';
        if (style->header_escapes && (pipe || c == '\\')) {
            buf_add_byte(out, '\\');
        }
        buf_add_byte(out, c < ' ' || (pipe && !style->header_escapes) ? ' ' : c);
    }
}

/* CEF counts from 0 to 10, LEEF from 1 to 10. */
static unsigned weight_of(const struct syslog_event *event)
{
    static const unsigned weights[] = {3, 10, 8, 6, 3, 1};
    return event->level < sizeof(weights) / sizeof(weights[0]) ? weights[event->level] : 3;
}

static bool ms_of(const struct syslog_event *event, uint64_t *ret_ms)
{
    uint64_t time;
    bool good = rfc3339_parse(event->time, &time) && time >= EPOCH_FILETIME;
    *ret_ms = good ? (time - EPOCH_FILETIME) / TICKS_PER_MS : 0;
    return good;
}

static void add_attribute(
    struct buf *out, const struct style *style, const char *key, struct span value)
{
    if (value.size) {
        buf_printf(out, "%s%s=", style->between, key);
        add_escaped(out, value, style->escaped, style->tab);
    }
}

/* Receivers do not all tell capitals. */
static bool is_own(const struct style *style, const char *key)
{
    for (const char *const *own = style->own; *own; own++) {
        if (span_equal_nocase(span_text(key), span_text(*own))) {
            return true;
        }
    }
    return false;
}

/* Members of the payload: letters, digits and `_` of their names, behind `data_` where the name is one of ours;
 * objects and lists as JSON. */
static void add_data(struct buf *out, const struct syslog_event *event, const struct style *style)
{
    struct span key;
    struct span value;
    struct buf text;
    buf_init(&text, TEXTS_MAX_BYTES);
    for (size_t at = 0; json_member_next(event->data, &at, &key, &value);) {
        char name[KEY_MAX + sizeof("data_")] = "data_";
        char *plain_name = name + sizeof("data_") - 1;
        size_t size = key.size < KEY_MAX ? key.size : KEY_MAX;
        for (size_t i = 0; i < size; i++) {
            uint8_t c = key.data[i];
            bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
            plain_name[i] = (char)(plain ? c : '_');
        }
        buf_reset(&text);
        add_value(value, &text);
        if (size) {
            add_attribute(
                out, style, is_own(style, plain_name) ? name : plain_name, buf_span(&text));
        }
    }
    out->failed = out->failed || text.failed;
    buf_fini(&text);
}

static struct span name_of(const struct syslog_event *event)
{
    return event->name.size ? event->name : event->code.size ? event->code : span_text("event");
}

void syslog_event_cef(const struct syslog_event *event, struct buf *out)
{
    uint64_t ms;
    buf_add_text(out, "CEF:0|etwship|");
    add_header(out, &cef, event->provider.size ? event->provider : span_text("ETW"));
    buf_add_text(out, "|1|");
    add_header(out, &cef, event->code.size ? event->code : name_of(event));
    buf_add_byte(out, '|');
    add_header(out, &cef, name_of(event));
    buf_printf(out, "|%u|", weight_of(event));
    size_t start = out->size;
    if (ms_of(event, &ms)) {
        buf_printf(out, " rt=%llu", (unsigned long long)ms);
    }
    add_attribute(out, &cef, "dvchost", event->host);
    add_attribute(out, &cef, "dvcpid", event->pid);
    add_attribute(out, &cef, "msg", event->message);
    add_data(out, event, &cef);
    if (!out->failed && out->size > start) {
        memmove(
            out->data + start, out->data + start + 1, --out->size - start); /* the first space */
    }
}

void syslog_event_leef(const struct syslog_event *event, struct buf *out)
{
    buf_add_text(out, "LEEF:2.0|etwship|");
    add_header(out, &leef, event->provider.size ? event->provider : span_text("ETW"));
    buf_add_text(out, "|1|");
    add_header(out, &leef, event->code.size ? event->code : name_of(event));
    buf_add_text(out, "|x09|");
    size_t start = out->size;
    uint64_t ms;
    if (ms_of(event, &ms)) {
        buf_printf(out, "\tdevTime=%llu", (unsigned long long)ms);
    }
    buf_printf(out, "\tsev=%u", weight_of(event) ? weight_of(event) : 1);
    add_attribute(out, &leef, "cat", name_of(event));
    add_attribute(out, &leef, "identHostName", event->host);
    add_attribute(out, &leef, "pid", event->pid);
    add_attribute(out, &leef, "msg", event->message);
    add_data(out, event, &leef);
    if (!out->failed && out->size > start) {
        memmove(out->data + start, out->data + start + 1, --out->size - start);
    }
}
