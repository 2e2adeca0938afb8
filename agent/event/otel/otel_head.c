#include "event/otel/otel_head.h"

#include "base/put.h"

/*
 * otel.tsv is the table of all attributes, docs/reference/otel-fields.md is generated from it.
 * Sources: "Logs Data Model", Appendix A, ETW, and Appendix B of the OpenTelemetry specification;
 * the semantic conventions for host, os, process, code and file.
 */

/* ---- severity -------------------------------------------------------------------------------- */

enum { LEVEL_ALWAYS, LEVEL_VERBOSE = 5, LEVEL_FIRST_OWN = 16 };

unsigned otel_head_severity(uint8_t level)
{
    static const uint8_t numbers[] = {0, 21, 17, 13, 9, 5};
    return level <= LEVEL_VERBOSE ? numbers[level] : 0;
}

struct span otel_head_severity_text(uint8_t level, struct span name)
{
    static const char *const names[] = {
        "LOG_ALWAYS", "CRITICAL", "ERROR", "WARNING", "INFO", "VERBOSE"};
    if (level <= LEVEL_VERBOSE) {
        return span_text(names[level]);
    }
    return level >= LEVEL_FIRST_OWN ? event_head_name(name) : span_make(NULL, 0);
}

/* ---- event types ----------------------------------------------------------------------------- */

static const struct event_schema no_schema;

static void text(struct event_writer *writer, struct buf *out, const char *key, struct span value)
{
    otel_codec_text(writer->codec, out, OTEL_RECORD, key, event_head_name(value));
}

static void number(struct event_writer *writer, struct buf *out, const char *key, uint64_t value)
{
    otel_codec_number(writer->codec, out, OTEL_RECORD, key, value);
}

static void add_event_name(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    struct span name = event->schema ? event->schema->event_name : no_schema.event_name;
    uint8_t fallback[PUT_MAX];
    if (name.size == 0 && (record->kind == RECORD_EVENT || record->kind == RECORD_MESSAGE)) {
        uint8_t *end = put_u64(put_literal(fallback, "etw."), record->descriptor.id);
        name = span_make(fallback, (size_t)(end - fallback));
    }
    writer->codec->event_name(out, event_head_name(name));
}

struct keyword_list {
    struct event_writer *writer;
    struct buf *out;
    bool any;
    struct otel_open open;
};

static void add_keyword(void *self, struct span name)
{
    struct keyword_list *list = self;
    const struct otel_codec *codec = list->writer->codec;
    if (!list->any) {
        codec->open_list(list->out, OTEL_RECORD, span_text("etw.keywords.names"), &list->open);
        list->any = true;
    }
    otel_codec_text(codec, list->out, OTEL_ELEMENT, "", name);
}

/* Keywords are written in hex: the highest bit, which channels set, would be the sign of an int. */
static void add_keywords(struct event_writer *writer, const struct event *event, struct buf *out)
{
    struct keyword_list list = {.writer = writer, .out = out};
    writer->codec->number(
        out, OTEL_RECORD, span_text("etw.keywords"), (int64_t)event->record->descriptor.keyword);
    event_head_each_keyword(event, add_keyword, &list);
    if (list.any) {
        writer->codec->close(out, &list.open);
    }
}

static void add_provider(struct event_writer *writer, const struct event *event, struct buf *out)
{
    struct guid guid = event_provider_guid(event);
    if (!guid_is_zero(&guid)) {
        otel_codec_guid(writer->codec, out, OTEL_RECORD, "etw.provider.id", guid.bytes);
    }
    text(writer, out, "etw.provider.name", event_provider_name(event));
    text(writer, out, "etw.provider.kind", span_text(event_kind_name(event)));
}

static void add_manifest(struct event_writer *writer, const struct event *event, struct buf *out,
    struct event_head_cuts *ret_cuts)
{
    const struct event_descriptor *d = &event->record->descriptor;
    struct event_names names = event_head_names(event);
    number(writer, out, "etw.event.id", d->id);
    number(writer, out, "etw.version", d->version);
    number(writer, out, "etw.level", d->level);
    number(writer, out, "etw.task", d->task);
    text(writer, out, "etw.task.name", names.task);
    number(writer, out, "etw.opcode", d->opcode);
    text(writer, out, "etw.opcode.name", names.opcode);
    if (!(event->record->present & RECORD_OF_LOG)) {
        number(writer, out, "etw.channel", d->channel);
    }
    text(writer, out, "etw.channel.name", names.channel);
    ret_cuts->keywords = (uint32_t)out->size;
    add_keywords(writer, event, out);
    ret_cuts->keywords_end = (uint32_t)out->size;
}

/* Classic and kernel events: a class and a type, no id. */
static void add_class(struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    const struct event_descriptor *d = &record->descriptor;
    struct event_names names = event_head_names(event);
    if (!guid_is_zero(&record->provider)) {
        otel_codec_guid(writer->codec, out, OTEL_RECORD, "etw.class.id", record->provider.bytes);
    }
    text(writer, out, "etw.task.name", names.task);
    number(writer, out, "etw.version", d->version);
    number(writer, out, "etw.level", d->level);
    number(writer, out, "etw.opcode", d->opcode);
    text(writer, out, "etw.opcode.name", names.opcode);
}

/* The position of a WPP message in its source code. Lists that are too long are left out, as in
 * wpp_format.h. */
static void add_message_type(
    struct event_writer *writer, const struct event *event, struct buf *out)
{
    const struct wpp_format *format = event->schema ? event->schema->wpp : NULL;
    number(writer, out, "etw.event.id", event->record->descriptor.id);
    if (!format) {
        return;
    }
    text(writer, out, "code.file.path", format->source);
    if (format->line) {
        number(writer, out, "code.line.number", format->line);
    }
    text(writer, out, "code.function.name", format->function);
    text(writer, out, "etw.wpp.module", format->module);
    text(writer, out, "etw.wpp.level", format->level);
    text(writer, out, "etw.wpp.flags", format->flags);
    if (format->json_tail.size) {
        otel_codec_texts(
            writer->codec, out, OTEL_RECORD, "etw.wpp.args", format->args, format->arg_count);
        otel_codec_texts(
            writer->codec, out, OTEL_RECORD, "etw.wpp.types", format->types, format->arg_count);
    }
}

static void add_scope(struct event_writer *writer, const struct event *event, struct buf *out)
{
    struct span name = event_head_name(event_provider_name(event));
    char text_of_guid[GUID_TEXT_SIZE];
    struct guid guid = event_provider_guid(event);
    if (name.size == 0 && !guid_is_zero(&guid)) {
        guid_write(&guid, text_of_guid);
        name = span_make(text_of_guid, sizeof(text_of_guid));
    }
    writer->codec->scope(out, name, span_make(NULL, 0));
}

static void render_head(struct event_writer *writer, const struct event *event, struct buf *out,
    struct event_head_cuts *ret_cuts)
{
    const struct event_record *record = event->record;
    add_scope(writer, event, out);
    ret_cuts->at[0] = (uint32_t)out->size;
    if (record->kind != RECORD_MESSAGE && record->kind != RECORD_OPAQUE) {
        uint8_t level = record->descriptor.level;
        writer->codec->severity(out, otel_head_severity(level),
            otel_head_severity_text(level, event_head_names(event).level));
    }
    add_event_name(writer, event, out);
    ret_cuts->at[1] = (uint32_t)out->size;
    add_provider(writer, event, out);
    switch (record->kind) {
    case RECORD_EVENT:
        add_manifest(writer, event, out, ret_cuts);
        break;
    case RECORD_CLASSIC:
    case RECORD_KERNEL:
        add_class(writer, event, out);
        break;
    case RECORD_MESSAGE:
        add_message_type(writer, event, out);
        break;
    default:
        number(writer, out, "etw.header_type", record->header_type);
        break;
    }
}

const struct event_head_shape otel_head_shape = {render_head, add_keywords};

/* ---- traces ---------------------------------------------------------------------------------- */

/* Labels keep their names. A label with the name of a resource attribute replaces it. */
static bool is_labelled(const struct event_agent *agent, const char *key)
{
    for (size_t i = 0; agent && i < agent->label_count; i++) {
        if (span_is(agent->labels[2 * i], key)) {
            return true;
        }
    }
    return false;
}

/* The text being written and the source of the labels. */
struct resource {
    const struct otel_codec *codec;
    const struct event_agent *agent;
    struct buf *out;
};

static void add_fact(const struct resource *r, const char *key, struct span value)
{
    if (!is_labelled(r->agent, key)) {
        otel_codec_text(r->codec, r->out, OTEL_RESOURCE, key, value);
    }
}

/* The names of the conventions ("Host", host.arch). */
static struct span architecture(struct span name)
{
    static const char *const names[][2] = {{"x86_64", "amd64"}, {"arm", "arm32"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_is(name, names[i][0])) {
            return span_text(names[i][1]);
        }
    }
    return name;
}

static void add_host(const struct resource *r, const struct trace_info *trace)
{
    add_fact(r, "host.name", trace->host_name);
    add_fact(r, "host.id", trace->host_id);
    add_fact(r, "host.arch", architecture(trace->host_architecture));
    if (!is_labelled(r->agent, "host.ip")) {
        otel_codec_texts(
            r->codec, r->out, OTEL_RESOURCE, "host.ip", trace->host_ips, trace->host_ip_count);
    }
    add_fact(r, "etw.host.fqdn", trace->host_fqdn);
    add_fact(r, "etw.host.domain", trace->host_domain);
    add_fact(r, "os.type", span_text("windows"));
    add_fact(r, "os.name", trace->os_name);
    add_fact(r, "os.version", trace->os_version);
    add_fact(r, "os.build_id", trace->os_kernel);
}

static void add_label(const struct resource *r, struct span key, struct span value)
{
    uint8_t escaped[EVENT_HEAD_MAX_NAME_BYTES];
    struct otel_open open;
    enum { LONGEST_KEY = (EVENT_HEAD_MAX_NAME_BYTES - UTF_SLACK) / 6 };
    key = span_first(key, LONGEST_KEY);
    struct span text = span_make(escaped, utf8_to_json(key, escaped));
    if (r->codec->open_text(
            r->out, OTEL_RESOURCE, text, value.size * 3, utf8_json_bound(value.size), &open)) {
        r->out->size += utf8_to_json(value, r->out->data + r->out->size);
        r->codec->close_text(r->out, &open);
    }
}

static void add_agent(const struct resource *r)
{
    const struct event_agent *agent = r->agent;
    add_fact(r, "etwship.agent.id", agent->id);
    add_fact(r, "etwship.agent.ephemeral_id", agent->ephemeral_id);
    add_fact(r, "etwship.agent.name", agent->name);
    add_fact(r, "etwship.agent.version", agent->version);
    for (size_t i = 0; i < agent->label_count; i++) {
        add_label(r, agent->labels[2 * i], agent->labels[2 * i + 1]);
    }
    if (!is_labelled(agent, "etwship.tags")) {
        otel_codec_texts(
            r->codec, r->out, OTEL_RESOURCE, "etwship.tags", agent->tags, agent->tag_count);
    }
}

void otel_head_trace(struct event_writer *writer, const struct trace_info *trace, struct buf *out,
    size_t *ret_file, size_t *ret_end)
{
    const struct resource resource = {.codec = writer->codec,
        .agent = writer->edited_agent ? writer->edited_agent : writer->agent,
        .out = out};
    struct span session = writer->session;
    struct otel_open open;
    if (session.size == 0 && trace) {
        session = trace->session_name;
    }
    writer->codec->open_resource(out, &open);
    if (trace) {
        add_host(&resource, trace);
    }
    if (resource.agent) {
        add_agent(&resource);
    }
    writer->codec->close_resource(out, &open);
    *ret_file = out->size;
    otel_codec_text(writer->codec, out, OTEL_RECORD, "etw.session", session);
    if (trace) {
        otel_codec_text(writer->codec, out, OTEL_RECORD, "etw.file", trace->file);
    }
    *ret_end = out->size;
}

/* ---- processes ------------------------------------------------------------------------------- */

void otel_head_process(
    struct event_writer *writer, const struct event_process *process, struct buf *out)
{
    const struct otel_codec *codec = writer->codec;
    struct otel_open open;
    otel_codec_text(codec, out, OTEL_RECORD, "process.executable.name", process->name);
    otel_codec_text(codec, out, OTEL_RECORD, "process.executable.path", process->executable);
    otel_codec_text(codec, out, OTEL_RECORD, "process.command_line", process->command_line);
    if (process->has_parent) {
        otel_codec_number(codec, out, OTEL_RECORD, "process.parent_pid", process->parent_pid);
        otel_codec_text(codec, out, OTEL_RECORD, "etw.process.parent.name", process->parent_name);
        otel_codec_text(
            codec, out, OTEL_RECORD, "etw.process.parent.path", process->parent_executable);
    }
    otel_codec_text(codec, out, OTEL_RECORD, "process.owner", process->user_name);
    otel_codec_text(codec, out, OTEL_RECORD, "etw.process.user.id", process->user_id);
    otel_codec_text(codec, out, OTEL_RECORD, "etw.process.user.domain", process->user_domain);
    if (process->has_session) {
        otel_codec_number(codec, out, OTEL_RECORD, "etw.process.session_id", process->session_id);
    }
    otel_codec_text(
        codec, out, OTEL_RECORD, "etw.process.integrity", span_text(process->integrity));
    if (process->start && codec->open_text(out, OTEL_RECORD, span_text("process.creation.time"),
                              PUT_MAX, PUT_MAX, &open)) {
        uint8_t *p = event_put_time(writer, out->data + out->size, process->start);
        out->size = (size_t)(p - out->data);
        codec->close_text(out, &open);
    }
}
