#include "outputs/syslog/syslog_event.h"

#include "base/filetime.h"
#include "outputs/json_member.h"

enum {
    TEXTS_MAX_BYTES = 64 * 1024 * 1024,
    KIND_MAX_BYTES = 4096,
    HEAD_MAX_BYTES = 8192,
    KEY_MAX = 100
};

/* ---- reading --------------------------------------------------------------------------------- */

/* The text of a string, or the raw number or word. */
static void add_value(struct span value, struct buf *out)
{
    struct span inner;
    if (json_member_inner(value, &inner)) {
        json_member_text(inner, out);
    } else {
        buf_add_span(out, value);
    }
}

/* The raw members of an event for a message. */
enum member { TIME, PROVIDER, EVENT, HOST, AGENT, PROCESS, MESSAGE, DATA, WINLOG, MEMBER_COUNT };

static const struct {
    const char *name;
    size_t size;
} member_names[MEMBER_COUNT] = {[TIME] = {"@timestamp", 10},
    [PROVIDER] = {"provider", 8},
    [EVENT] = {"event", 5},
    [HOST] = {"host", 4},
    [AGENT] = {"agent", 5},
    [PROCESS] = {"process", 7},
    [MESSAGE] = {"message", 7},
    [DATA] = {"data", 4},
    [WINLOG] = {"winlog", 6}};

static void read_about(struct span object, struct syslog_about *ret_about)
{
    struct syslog_about *a = ret_about;
    const struct {
        const char *name;
        size_t size;
        struct span *to;
    } wanted[] = {{"code", 4, &a->code}, {"name", 4, &a->name}, {"provider", 8, &a->provider},
        {"level", 5, &a->level}, {"severity", 8, &a->severity}};
    struct span key;
    struct span value;
    *a = (struct syslog_about){.code = {NULL, 0}};
    for (size_t at = 0; json_member_next(object, &at, &key, &value);) {
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
            if (key.size == wanted[i].size && wanted[i].to->size == 0 &&
                memcmp(key.data, wanted[i].name, key.size) == 0) {
                *wanted[i].to = value;
            }
        }
    }
}

static void note_member(struct span key, struct span value, struct span members[MEMBER_COUNT])
{
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (key.size == member_names[i].size && members[i].size == 0 &&
            memcmp(key.data, member_names[i].name, key.size) == 0) {
            members[i] = value;
        }
    }
}

/* The stored kind with the text at ${at} of ${record}, followed by another member or the end. NULL:
 * none. */
static struct syslog_kind *find_kind(struct syslog_event *event, struct span record, size_t at)
{
    struct span rest = span_from(record, at);
    for (size_t i = 0; i < SYSLOG_KINDS; i++) {
        size_t index = (event->last_kind + i) % SYSLOG_KINDS;
        struct syslog_kind *kind = &event->kinds[index];
        struct span text = buf_span(&kind->text);
        if (text.size && rest.size > text.size && memcmp(rest.data, text.data, text.size) == 0 &&
            (rest.data[text.size] == ',' || rest.data[text.size] == '}')) {
            event->last_kind = index;
            return kind;
        }
    }
    return NULL;
}

/* The span ${s} of the text ${from}, moved into its copy ${to}. */
static struct span moved(struct span s, const uint8_t *from, const uint8_t *to)
{
    return s.size ? span_make(to + (s.data - from), s.size) : s;
}

/* The text of ${record} from ${at} to the end of its `event`. NULL: it is not kept. */
static struct syslog_kind *keep_kind(struct syslog_event *event, struct span record, size_t at,
    const struct span members[MEMBER_COUNT], const struct syslog_about *about)
{
    const uint8_t *start = record.data + at;
    const uint8_t *end = members[EVENT].data + members[EVENT].size;
    bool inside = members[PROVIDER].data > start && members[PROVIDER].data < end;
    bool elsewhere = members[PROVIDER].size && !inside;
    if (end <= start || (size_t)(end - start) > KIND_MAX_BYTES || elsewhere) {
        return NULL;
    }
    event->next_kind = (event->next_kind + 1) % SYSLOG_KINDS;
    struct syslog_kind *kind = &event->kinds[event->next_kind];
    buf_reset(&kind->text);
    buf_reset(&kind->head);
    buf_add(&kind->text, start, (size_t)(end - start));
    if (kind->text.failed) {
        buf_reset(&kind->text);
        return NULL;
    }
    const uint8_t *copy = kind->text.data;
    kind->provider = moved(inside ? members[PROVIDER] : span_make(NULL, 0), start, copy);
    kind->about = (struct syslog_about){.code = moved(about->code, start, copy),
        .name = moved(about->name, start, copy),
        .provider = moved(about->provider, start, copy),
        .level = moved(about->level, start, copy),
        .severity = moved(about->severity, start, copy)};
    kind->provider = json_member_find(kind->provider, "name");
    return kind;
}

/*
 * Find the members of ${record} for a message. Events of one kind have equal text after their time,
 * up to the end of `event`, which is most of the read text. So the texts of the last kinds are
 * cached with their members. ${enough}: stop after the members at the start.
 */
static void find_members(struct syslog_event *event, struct span record, bool enough,
    struct span ret_members[MEMBER_COUNT], struct syslog_about *ret_about,
    struct span *ret_provider)
{
    struct span *m = ret_members;
    struct span key;
    struct span value;
    size_t at = 0;
    struct syslog_kind *kind = NULL;
    memset(m, 0, MEMBER_COUNT * sizeof(*m));
    if (!json_member_next(record, &at, &key, &value)) {
        read_about(m[EVENT], ret_about);
        return;
    }
    note_member(key, value, m);
    size_t after_time = at;
    if (at < record.size) {
        kind = find_kind(event, record, at);
    }
    event->kind = kind;
    if (kind) {
        at += kind->text.size;
        at = record.data[at] == ',' ? at + 1 : record.size;
    }
    while (json_member_next(record, &at, &key, &value)) {
        note_member(key, value, m);
        /* `provider` precedes them in every format that has it. */
        if (enough && m[TIME].size && (kind || m[EVENT].size) && m[PROCESS].size) {
            break;
        }
    }
    if (kind) {
        *ret_about = kind->about;
        *ret_provider = kind->provider;
        return;
    }
    read_about(m[EVENT], ret_about);
    *ret_provider = json_member_find(m[PROVIDER], "name");
    if (m[TIME].size && m[EVENT].size) {
        event->kind = keep_kind(event, record, after_time, m, ret_about);
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
    event_memo_init(&event->memo);
    for (size_t i = 0; i < SYSLOG_KINDS; i++) {
        buf_init(&event->kinds[i].text, KIND_MAX_BYTES);
        buf_init(&event->kinds[i].head, HEAD_MAX_BYTES);
    }
}

/* Strings without escapes, numbers and words need no copy. */
static bool is_plain(struct span value, struct span *ret_text)
{
    if (!json_member_inner(value, ret_text)) {
        *ret_text = value;
        return true;
    }
    return ret_text->size == 0 || !memchr(ret_text->data, '\\', ret_text->size);
}

/*
 * Read most events without parsing JSON: an event that begins with its time, continues with the
 * text of a kind whose head was written before and with its process id, and ends like the previous
 * event. Values that the head contains are not read again.
 */
static bool read_known(struct syslog_event *event, struct span record, struct span host)
{
    static const char start[] = "{\"@timestamp\":\"";
    static const char after[] = "\",";
    static const char pid[] = ",\"process\":{\"pid\":";
    enum { START = sizeof(start) - 1, TIME_BYTES = 28, AFTER = sizeof(after) - 1 };
    enum { KIND = START + TIME_BYTES + AFTER, PID = sizeof(pid) - 1 };
    struct span time = span_first(span_from(record, START), TIME_BYTES);
    if (record.size <= KIND || memcmp(record.data, start, START) != 0 ||
        memcmp(record.data + START + TIME_BYTES, after, AFTER) != 0 ||
        !event_memo_time(&event->memo, time, &event->filetime)) {
        return false;
    }
    struct syslog_kind *kind = find_kind(event, record, KIND);
    if (!kind || !kind->head.size) {
        return false;
    }
    struct span rest = span_from(record, KIND + kind->text.size);
    size_t size = PID;
    if (rest.size <= PID || memcmp(rest.data, pid, PID) != 0) {
        return false;
    }
    while (size < rest.size && rest.data[size] >= '0' && rest.data[size] <= '9') {
        size++;
    }
    if (size == PID || size == rest.size || (rest.data[size] != ',' && rest.data[size] != '}')) {
        return false;
    }
    event->kind = kind;
    event->has_time = true;
    event->time = time;
    event->pid = span_make(rest.data + PID, size - PID);
    event->level = level_of(first_of(kind->about.level, kind->about.severity), &event->has_level);
    return is_plain(host, &event->host);
}

void syslog_event_read(struct syslog_event *event, struct span record, bool with_payload)
{
    struct span host;
    bool alike = event_memo_host(&event->memo, record, &host);
    struct span m[MEMBER_COUNT];
    struct syslog_about about;
    buf_reset(&event->texts);
    struct span provider = {NULL, 0};
    if (alike && !with_payload && read_known(event, record, host)) {
        return;
    }
    find_members(event, record, alike && !with_payload, m, &about, &provider);
    if (!alike) {
        host = first_of(json_member_find(m[HOST], "name"), json_member_find(m[AGENT], "name"));
        bool inside = host.size && host.data > m[HOST].data;
        event_memo_keep_host(&event->memo, record, inside ? m[HOST] : span_make(NULL, 0), host);
    }
    const struct {
        struct span *to;
        struct span value;
    } parts[] = {{&event->time, m[TIME]}, {&event->provider, first_of(provider, about.provider)},
        {&event->code, about.code}, {&event->name, about.name}, {&event->host, host},
        {&event->pid, json_member_find(m[PROCESS], "pid")},
        {&event->message, with_payload ? m[MESSAGE] : span_make(NULL, 0)}};
    enum { COUNT = sizeof(parts) / sizeof(parts[0]) };
    size_t sizes[COUNT] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        if (!is_plain(parts[i].value, parts[i].to)) {
            size_t start = event->texts.size;
            add_value(parts[i].value, &event->texts);
            sizes[i] = event->texts.size - start;
        }
    }
    for (size_t i = 0, start = 0; i < COUNT; start += sizes[i], i++) {
        if (sizes[i]) {
            *parts[i].to = span_first(span_from(buf_span(&event->texts), start), sizes[i]);
        }
    }
    event->has_time = event_memo_time(&event->memo, event->time, &event->filetime);
    event->level = level_of(first_of(about.level, about.severity), &event->has_level);
    event->data = first_of(m[DATA], json_member_find(m[WINLOG], "event_data"));
}

void syslog_event_fini(struct syslog_event *event)
{
    buf_fini(&event->texts);
    event_memo_fini(&event->memo);
    for (size_t i = 0; i < SYSLOG_KINDS; i++) {
        buf_fini(&event->kinds[i].text);
        buf_fini(&event->kinds[i].head);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

/* How a format writes its header fields and attributes. */
struct style {
    const char *between;
    const char *escaped;
    bool tab;
    bool header_escapes;    /* in the header, escape a pipe and a backslash */
    const char *const *own; /* reserved keys, up to NULL */
};

static const char *const cef_own[] = {"rt", "dvchost", "dvcpid", "msg", NULL};
static const char *const leef_own[] = {
    "devTime", "devTimeFormat", "sev", "cat", "identHostName", "pid", "msg", NULL};

static const struct style cef = {" ", "\\=", false, true, cef_own};
static const struct style leef = {"\t", "", true, false, leef_own};

/* Add ${text} with a backslash before each of the characters ${escaped}. Line breaks, and TAB if
 * ${tab}, become \n, \r and \t; other control characters become spaces. */
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

/* A header field, where a line break becomes a space. */
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
static unsigned severity_of(const struct syslog_event *event)
{
    static const unsigned weights[] = {3, 10, 8, 6, 3, 1};
    return event->level < sizeof(weights) / sizeof(weights[0]) ? weights[event->level] : 3;
}

static bool ms_of(const struct syslog_event *event, uint64_t *ret_ms)
{
    bool good = event->has_time && event->filetime >= FILETIME_UNIX_EPOCH;
    *ret_ms = good ? (event->filetime - FILETIME_UNIX_EPOCH) / FILETIME_PER_MS : 0;
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

/* Not all receivers are case-sensitive. */
static bool is_own(const struct style *style, const char *key)
{
    for (const char *const *own = style->own; *own; own++) {
        if (span_equal_nocase(span_text(key), span_text(*own))) {
            return true;
        }
    }
    return false;
}

/* Add the members of the payload. Other characters of a name than letters and digits become `_`,
 * and a reserved name gets `data_` before it. Objects and lists are written as JSON. */
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
    buf_printf(out, "|%u|", severity_of(event));
    size_t start = out->size;
    if (ms_of(event, &ms)) {
        buf_printf(out, " rt=%llu", (unsigned long long)ms);
    }
    add_attribute(out, &cef, "dvchost", event->host);
    add_attribute(out, &cef, "dvcpid", event->pid);
    add_attribute(out, &cef, "msg", event->message);
    add_data(out, event, &cef);
    if (!out->failed && out->size > start) {
        /* remove the first space */
        memmove(out->data + start, out->data + start + 1, --out->size - start);
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
    buf_printf(out, "\tsev=%u", severity_of(event) ? severity_of(event) : 1);
    add_attribute(out, &leef, "cat", name_of(event));
    add_attribute(out, &leef, "identHostName", event->host);
    add_attribute(out, &leef, "pid", event->pid);
    add_attribute(out, &leef, "msg", event->message);
    add_data(out, event, &leef);
    if (!out->failed && out->size > start) {
        memmove(out->data + start, out->data + start + 1, --out->size - start);
    }
}
