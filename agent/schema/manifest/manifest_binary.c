#include "schema/manifest/manifest_binary.h"

#include "schema/manifest/manifest_templates.h"
#include "schema/text/names.h"

/*
 * CRIM lists the providers; each has a WEVT with lists of its channels, levels, tasks, opcodes,
 * keywords and events. Events refer to entries of the lists by their offsets.
 */
enum { EVENT_BYTES = 48, LEAST_ENTRY_BYTES = 8, MAX_PROVIDER_NAME_BYTES = 4096 };

/* PRVA key of the provider's name. Compilers before Windows 10 1709 do not write it. */
static const uint32_t attribute_name = 0x10000001u;

/* False if the lists have more entries than fit into the manifest side by side. Lists may overlap
 * in a hostile manifest; without this limit, reading takes time like the product of their sizes. */
static bool take_entries(struct manifest_crim *p, size_t count)
{
    if (count <= p->entries_left) {
        p->entries_left -= count;
        return true;
    }
    if (!p->overlaps) {
        manifest_model_warn(p->model, 0, "its lists overlap; further lists are ignored");
    }
    p->overlaps = true;
    p->entries_left = 0;
    return false;
}

/* ---- levels, tasks, opcodes, keywords, channels ---------------------------------------------- */

/* The compiler copies predefined names that events use ("win:Start") into the lists, with messages
 * of its own. They keep their predefined names. */
static bool is_predefined(const struct model_name *name)
{
    return span_is(span_first(name->name, 4), "win:");
}

static struct model_name *new_name(struct manifest_crim *p, enum model_kind kind, uint32_t offset,
    uint32_t message, uint32_t name, uint32_t value)
{
    struct model_name *made = manifest_crim_allocate(p, sizeof(*made));
    if (made) {
        made->value = value;
        made->name = manifest_crim_text(p, name);
        made->message = is_predefined(made) ? span_make(NULL, 0)
                                            : manifest_crim_message(p, message);
        manifest_crim_define(p, kind, manifest_crim_key(p, offset), made);
    }
    return made;
}

static void read_level(struct manifest_crim *p, uint32_t offset, struct reader *r)
{
    uint32_t value = reader_u32(r);
    uint32_t message = reader_u32(r);
    new_name(p, MODEL_LEVEL, offset, message, reader_u32(r), value & UINT8_MAX);
}

static void read_task(struct manifest_crim *p, uint32_t offset, struct reader *r)
{
    uint32_t value = reader_u32(r);
    uint32_t message = reader_u32(r);
    reader_skip(r, 16); /* GUID of classic events */
    new_name(p, MODEL_TASK, offset, message, reader_u32(r), value & UINT16_MAX);
}

static void read_opcode(struct manifest_crim *p, uint32_t offset, struct reader *r)
{
    reader_skip(r, 2); /* task: events name their opcode themselves */
    uint16_t value = reader_u16(r);
    uint32_t message = reader_u32(r);
    new_name(p, MODEL_OPCODE, offset, message, reader_u32(r), value & UINT8_MAX);
}

static void read_keyword(struct manifest_crim *p, uint32_t offset, struct reader *r)
{
    uint64_t mask = reader_u64(r);
    uint32_t message = reader_u32(r);
    struct model_name *keyword = new_name(p, MODEL_KEYWORD, offset, message, reader_u32(r), 0);
    if (!keyword || is_predefined(keyword)) {
        return;
    }
    keyword->mask = mask;
    manifest_model_add_keyword(p->provider, keyword);
}

static void read_channel(struct manifest_crim *p, uint32_t offset, struct reader *r)
{
    bool is_imported = reader_u32(r) & 1;
    uint32_t name = reader_u32(r);
    uint32_t value = reader_u32(r);
    struct model_name *channel = new_name(
        p, MODEL_CHANNEL, offset, reader_u32(r), name, value & UINT8_MAX);
    if (!channel) {
        return;
    }
    manifest_model_add_channel(p->provider, channel);
    const uint8_t *slash = channel->name.size ? memchr(channel->name.data, '/', channel->name.size)
                                              : NULL;
    if (slash && !is_imported && p->channel_prefix.size == 0) {
        p->channel_prefix = span_first(channel->name, (size_t)(slash - channel->name.data));
    }
}

static void read_attribute(struct manifest_crim *p, uint32_t offset, struct reader *r)
{
    (void)offset;
    uint32_t kind = reader_u32(r);
    struct span rest = span_from(p->bytes, reader_u32(r));
    if (kind == attribute_name && !p->has_name) {
        struct reader value = reader_make(span_first(rest, MAX_PROVIDER_NAME_BYTES));
        p->provider->name = manifest_crim_utf16(p, reader_text16(&value));
        p->has_name = true;
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Key of the entry at ${offset}, or the bare number if there is no entry. */
static struct span reference(struct manifest_crim *p, uint32_t offset, unsigned value)
{
    return offset || value == 0 ? manifest_crim_key(p, offset)
                                : manifest_crim_format(p, "%u", value);
}

/* The channel keeps the keyword bits that all its events have. */
static void set_channel(struct manifest_crim *p, uint32_t offset, struct model_event *event)
{
    event->channel = reference(p, offset, event->descriptor->channel);
    struct model_name *channel = event->channel.size
                                     ? map_get(&p->provider->names[MODEL_CHANNEL], event->channel)
                                     : NULL;
    if (channel) {
        channel->mask &= event->descriptor->keyword;
    }
}

static void read_event(struct manifest_crim *p, struct reader *r)
{
    struct model_event *event = manifest_crim_allocate(p, sizeof(*event));
    struct event_descriptor *d = manifest_crim_allocate(p, sizeof(*d));
    if (!event || !d) {
        return;
    }
    *d = record_read_descriptor(r);
    event->descriptor = d;
    event->id = manifest_crim_format(p, "%u", d->id);
    event->message = manifest_crim_message(p, reader_u32(r));
    event->template_name = manifest_templates_read(p, reader_u32(r));
    event->opcode = reference(p, reader_u32(r), d->opcode);
    event->level = reference(p, reader_u32(r), d->level);
    uint32_t task = reader_u32(r);
    event->task = d->task ? reference(p, task, d->task) : event->task; /* 0: win:None */
    /* offset of the single keywords */
    reader_skip(r, 8);
    set_channel(p, reader_u32(r), event);
    manifest_model_add_event(p->provider, event);
}

/* False if the list lies outside the manifest. Overlapping entries are ignored. */
static bool read_events(struct manifest_crim *p, uint32_t offset)
{
    struct reader r = manifest_crim_reader(p, offset);
    if (!manifest_crim_signature(&r, "EVNT")) {
        return false;
    }
    reader_skip(&r, 4);
    size_t count = reader_u32(&r);
    reader_skip(&r, 4);
    if (r.failed || count > reader_left(&r) / EVENT_BYTES) {
        return false;
    }
    count = take_entries(p, count) ? count : 0;
    for (size_t i = 0; i < count && !p->failed; i++) {
        read_event(p, &r);
    }
    return true;
}

/* ---- providers ------------------------------------------------------------------------------- */

enum { LIST_EVENTS = 4 };

static const struct list {
    uint32_t type;
    const char *signature;
    size_t bytes; /* size of an entry */
    void (*read)(struct manifest_crim *p, uint32_t offset, struct reader *r);
} lists[] = {
    {0, "LEVL", 12, read_level},
    {1, "TASK", 28, read_task},
    {2, "OPCO", 12, read_opcode},
    {3, "KEYW", 16, read_keyword},
    {5, "CHAN", 16, read_channel},
    {13, "PRVA", 8, read_attribute},
};

static bool read_list(struct manifest_crim *p, const struct list *list, uint32_t offset)
{
    struct reader r = manifest_crim_reader(p, offset);
    if (!manifest_crim_signature(&r, list->signature)) {
        return false;
    }
    reader_skip(&r, 4);
    size_t count = reader_u32(&r);
    if (r.failed || count > reader_left(&r) / list->bytes) {
        return false;
    }
    count = take_entries(p, count) ? count : 0;
    for (size_t i = 0; i < count && !p->failed; i++) {
        struct reader entry = reader_make(reader_take(&r, list->bytes));
        list->read(p, (uint32_t)(entry.at - p->bytes.data), &entry);
    }
    return true;
}

/* Read the lists of ${type}; ${count} lists of all types follow. */
static void read_lists(
    struct manifest_crim *p, struct reader r, size_t count, const struct list *list)
{
    for (size_t i = 0; i < count && !p->failed; i++) {
        uint32_t type = reader_u32(&r);
        uint32_t offset = reader_u32(&r);
        if (type != (list ? list->type : LIST_EVENTS)) {
            continue;
        }
        if (!(list ? read_list(p, list, offset) : read_events(p, offset))) {
            manifest_model_warn(p->model, 0, "list %s at 0x%x lies outside the manifest",
                list ? list->signature : "EVNT", offset);
        }
    }
}

/* Before Windows 10 1709 the manifest has no field for the provider name, which was given at
 * registration. It is taken from the prefix of the channels or from the provider's message. */
static void set_provider_name(struct manifest_crim *p, uint32_t message)
{
    struct model_provider *provider = p->provider;
    if (provider->name.size == 0) {
        struct span text = names_without_space(manifest_crim_message(p, message));
        bool is_word = text.size && !memchr(text.data, ' ', text.size);
        provider->name = p->channel_prefix.size ? p->channel_prefix
                         : is_word              ? text
                                                : provider->name;
    }
}

static struct model_provider *new_provider(struct manifest_crim *p)
{
    struct model_provider *provider = manifest_crim_allocate(p, sizeof(*provider));
    if (!provider) {
        return NULL;
    }
    provider->usable = true;
    provider->kind = SCHEMA_MANIFEST;
    manifest_model_add_provider(p->model, provider);
    return provider;
}

static void read_provider(struct manifest_crim *p, const struct guid *guid, uint32_t offset)
{
    struct reader r = manifest_crim_reader(p, offset);
    char text[GUID_TEXT_SIZE];
    guid_write(guid, text);
    if (!manifest_crim_signature(&r, "WEVT")) {
        manifest_model_warn(
            p->model, 0, "provider %.*s lies outside the manifest", GUID_TEXT_SIZE, text);
        return;
    }
    reader_skip(&r, 4);
    uint32_t message = reader_u32(&r);
    size_t count = reader_u32(&r);
    if (r.failed || count > reader_left(&r) / 8) {
        manifest_model_warn(p->model, 0, "provider %.*s is truncated", GUID_TEXT_SIZE, text);
        return;
    }
    p->provider = take_entries(p, count) ? new_provider(p) : NULL;
    if (!p->provider) {
        return;
    }
    p->provider->guid = *guid;
    p->has_name = false;
    p->channel_prefix = span_make(NULL, 0);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        read_lists(p, r, count, &lists[i]);
    }
    set_provider_name(p, message);
    read_lists(p, r, count, NULL);
}

static bool read_manifest(struct manifest_crim *p)
{
    struct reader r = reader_make(p->bytes);
    if (!manifest_crim_signature(&r, "CRIM")) {
        return error_set(
            p->err, ERR_FORMAT, "its WEVT_TEMPLATE resource is not a compiled manifest");
    }
    size_t size = reader_u32(&r);
    if (size > p->bytes.size) {
        return error_set(p->err, ERR_FORMAT, "its compiled manifest is truncated");
    }
    reader_skip(&r, 4); /* version: 3.1 and 5.1 differ only in additional lists */
    size_t count = reader_u32(&r);
    if (r.failed || count > reader_left(&r) / 20) {
        return error_set(p->err, ERR_FORMAT, "its compiled manifest is truncated");
    }
    for (size_t i = 0; i < count && !p->failed; i++) {
        struct guid guid = reader_guid(&r);
        read_provider(p, &guid, reader_u32(&r));
    }
    return !p->failed;
}

struct source {
    struct span bytes;
    const struct message_table *tables;
    size_t table_count;
};

static bool fill_model(struct model *model, void *self, struct error *err)
{
    const struct source *source = self;
    struct manifest_crim p = {.model = model,
        .bytes = source->bytes,
        .tables = source->tables,
        .table_count = source->table_count,
        .entries_left = source->bytes.size / LEAST_ENTRY_BYTES,
        .err = err};
    model->has_texts = true;
    model->language = model->options->language;
    return read_manifest(&p);
}

struct manifest *manifest_binary_parse(struct span bytes, const struct message_table *tables,
    size_t table_count, const struct manifest_options *options, struct error *err)
{
    struct source source = {.bytes = bytes, .tables = tables, .table_count = table_count};
    if (bytes.size > MANIFEST_BINARY_MAX_BYTES) {
        error_set(err, ERR_LIMIT, "a compiled manifest is larger than %d MB",
            MANIFEST_BINARY_MAX_BYTES >> 20);
        return NULL;
    }
    return manifest_model_make(options, fill_model, &source, err);
}
