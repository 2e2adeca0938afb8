#include "schema/pack/builtin_text.h"

#include <stdio.h>

#include "event/model/type_names.h"
#include "schema/manifest/manifest_model.h"
#include "schema/text/names.h"

/*
 * A statement begins at the start of a line; lines that begin with a blank continue it. Its first
 * word selects a row of `statements`. The result is the model that XML manifests produce, too.
 * Levels, tasks, opcodes and channels are found in it by their numbers as the text spells them.
 */
enum { MAX_BASES = 16 };

/* Reading position in the text. */
struct words {
    struct span rest;
    size_t line;
};

/* Keeps its words because later templates may begin with its fields. */
struct text_template {
    struct model_template model;
    struct words fields;
};

struct text_reader {
    struct model *model;
    struct model_provider *provider;
    struct words in;
    struct error *err;
};

static bool fail(const struct text_reader *r, const char *what, struct span word)
{
    return error_set(r->err, ERR_FORMAT, "line %zu: %s \"%.*s\"", r->in.line, what,
        SPAN_ARG(span_first(word, 64)));
}

static bool fail_memory(const struct text_reader *r)
{
    return error_set(r->err, ERR_MEMORY, "no memory left for event schemas");
}

static void *allocate(const struct text_reader *r, size_t size)
{
    void *memory = arena_alloc(&r->model->scratch, size);
    if (!memory) {
        fail_memory(r);
    }
    return memory;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Skip blanks, and line ends inside a statement. */
static void skip_blanks(struct words *in)
{
    while (in->rest.size) {
        bool goes_on = in->rest.data[0] == '\n' && in->rest.size > 1 && is_blank(in->rest.data[1]);
        if (!is_blank(in->rest.data[0]) && !goes_on) {
            return;
        }
        in->line += goes_on;
        in->rest = span_from(in->rest, 1);
    }
}

/* Next word of the statement including its quotes, which may enclose blanks. Empty at the end of
 * the statement. */
static struct span next_word(struct words *in)
{
    skip_blanks(in);
    size_t size = 0;
    bool quoted = false;
    while (size < in->rest.size && in->rest.data[size] != '\n' &&
           (quoted || !is_blank(in->rest.data[size]))) {
        quoted ^= in->rest.data[size] == '"';
        size++;
    }
    struct span word = span_first(in->rest, size);
    in->rest = span_from(in->rest, size);
    return word;
}

/* Skip to the next statement over empty lines and comments. False at the end of the text. */
static bool next_statement(struct words *in)
{
    while (in->rest.size) {
        uint8_t c = in->rest.data[0];
        if (c == '#') {
            const uint8_t *end = memchr(in->rest.data, '\n', in->rest.size);
            in->rest = span_from(in->rest, end ? (size_t)(end - in->rest.data) : in->rest.size);
        } else if (c == '\n' || is_blank(c)) {
            in->line += c == '\n';
            in->rest = span_from(in->rest, 1);
        } else {
            return true;
        }
    }
    return false;
}

/* Split ${word} at the first ${separator} outside quotes. False if there is none. */
static bool split(
    struct span word, uint8_t separator, struct span *ret_left, struct span *ret_right)
{
    bool quoted = false;
    for (size_t i = 0; i < word.size; i++) {
        quoted ^= word.data[i] == '"';
        if (!quoted && word.data[i] == separator) {
            *ret_left = span_first(word, i);
            *ret_right = span_from(word, i + 1);
            return true;
        }
    }
    return false;
}

/* Remove the quotes around a text. */
static struct span unquote(struct span word)
{
    if (word.size >= 2 && word.data[0] == '"' && word.data[word.size - 1] == '"') {
        return span_make(word.data + 1, word.size - 2);
    }
    return word;
}

static bool read_number(struct text_reader *r, uint64_t max, struct span *ret_word, uint64_t *ret)
{
    struct span word = next_word(&r->in);
    if (ret_word) {
        *ret_word = word;
    }
    return names_number(word, max, ret) || fail(r, "not a number, or out of range:", word);
}

static bool define(const struct text_reader *r, enum model_kind kind, struct span name, void *thing)
{
    struct map *names = &r->provider->names[kind];
    if (name.size == 0 || map_get(names, name)) {
        return fail(r, "name is empty or defined twice:", name);
    }
    return map_put(names, name, thing) || fail_memory(r);
}

/* ---- levels, tasks, opcodes, keywords, channels ---------------------------------------------- */

/* Parse `NUMBER NAME`. Events refer to the number as written; the name is shown. `-`: no name. */
static struct model_name *read_named(struct text_reader *r, uint64_t max)
{
    uint64_t value;
    struct model_name *named = allocate(r, sizeof(*named));
    if (!named || !read_number(r, max, &named->name, &value)) {
        return NULL;
    }
    named->value = value;
    struct span name = next_word(&r->in);
    named->message = span_is(name, "-") ? span_make(NULL, 0) : unquote(name);
    return named;
}

/* Parse `NUMBER NAME` and add it to the provider's items of ${kind}. */
static struct model_name *define_named(struct text_reader *r, enum model_kind kind, uint64_t max)
{
    struct model_name *named = read_named(r, max);
    if (!named || !define(r, kind, named->name, named)) {
        return NULL;
    }
    named->name = named->message;
    return named;
}

static bool read_channel(struct text_reader *r)
{
    struct model_name *channel = define_named(r, MODEL_CHANNEL, UINT8_MAX);
    if (channel) {
        manifest_model_add_channel(r->provider, channel);
    }
    return channel != NULL;
}

static bool read_keyword(struct text_reader *r)
{
    struct model_name *keyword = read_named(r, UINT64_MAX);
    if (!keyword) {
        return false;
    }
    keyword->mask = keyword->value;
    manifest_model_add_keyword(r->provider, keyword);
    return true;
}

static bool read_level(struct text_reader *r)
{
    return define_named(r, MODEL_LEVEL, UINT8_MAX) != NULL;
}

/* NUMBER NAME OPCODE=NAME ... */
static bool read_task(struct text_reader *r)
{
    struct model_name *task = define_named(r, MODEL_TASK, UINT16_MAX);
    struct span word;
    while (task && (word = next_word(&r->in)).size) {
        struct model_name *opcode = allocate(r, sizeof(*opcode));
        if (!opcode) {
            return false;
        }
        if (!split(word, '=', &opcode->name, &opcode->message) ||
            !names_number(opcode->name, UINT8_MAX, &opcode->value)) {
            return fail(r, "an opcode must be NUMBER=NAME, not", word);
        }
        opcode->message = unquote(opcode->message);
        opcode->next = task->opcodes;
        task->opcodes = opcode;
    }
    return task != NULL;
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* NAME NUMBER=TEXT ... */
static bool read_map(struct text_reader *r, enum map_kind kind)
{
    struct model_map *map = allocate(r, sizeof(*map));
    struct span word;
    if (!map) {
        return false;
    }
    map->kind = kind;
    map->name = unquote(next_word(&r->in));
    while ((word = next_word(&r->in)).size) {
        struct span value;
        struct model_entry *entry = allocate(r, sizeof(*entry));
        if (!entry) {
            return false;
        }
        if (map->count == SCHEMA_MAX_MAP_ENTRIES || !split(word, '=', &value, &entry->message) ||
            !names_number(value, UINT64_MAX, &entry->value)) {
            return fail(r, "a map entry must be NUMBER=TEXT, not", word);
        }
        entry->message = unquote(entry->message);
        manifest_model_add_entry(map, entry);
    }
    return define(r, MODEL_MAP, map->name, map);
}

static bool read_values(struct text_reader *r)
{
    return read_map(r, MAP_VALUE);
}

static bool read_bits(struct text_reader *r)
{
    return read_map(r, MAP_BITS);
}

/* ---- templates ------------------------------------------------------------------------------- */

/* Remove `OPEN extent CLOSE` from the end of ${word}; false if it does not end like that. */
static bool take_extent(struct span *word, uint8_t open, uint8_t close, struct span *ret_extent)
{
    struct span left;
    struct span right;
    if (word->size == 0 || word->data[word->size - 1] != close ||
        !split(*word, open, &left, &right)) {
        return false;
    }
    *ret_extent = span_first(right, right.size - 1);
    *word = left;
    return true;
}

/* A number, or the name of an earlier field. */
static bool read_extent(struct text_reader *r, struct span extent, uint16_t *number,
    struct span *ret_name, uint16_t *flags, uint16_t fixed)
{
    uint64_t value;
    if (extent.size == 0) {
        return fail(r, "not a count or length:", extent);
    }
    if (!names_number(extent, UINT64_MAX, &value)) {
        *ret_name = extent;
        return true;
    }
    if (value == 0 || value > UINT16_MAX) {
        return fail(r, "not a count or length:", extent);
    }
    *number = (uint16_t)value;
    *flags |= fixed;
    return true;
}

/* TYPE[@OUT] */
static bool read_types(struct text_reader *r, struct span types, struct schema_field *field)
{
    struct span in_type = types;
    struct span out_type = {0};
    bool has_out = split(types, '@', &in_type, &out_type);
    if (!type_names_find_in(in_type, &field->in_type) ||
        (has_out && !type_names_find_out(out_type, &field->out_type))) {
        return fail(r, "unknown type:", types);
    }
    return true;
}

static struct layout_node *add_node(struct text_reader *r, struct layout *layout)
{
    struct error why = {0};
    struct layout_node *node = layout_add(layout, &why);
    if (!node) {
        error_set(r->err, why.code, "line %zu: %s", r->in.line, why.text);
        return NULL;
    }
    node->field.count = 1;
    return node;
}

/* NAME:TYPE[@OUT][[COUNT]][(LENGTH)][=MAP], or of a struct, whose members follow, NAME[[COUNT]] */
static bool read_field(struct text_reader *r, struct layout *layout, struct span word)
{
    struct layout_node *node = add_node(r, layout);
    struct span types = {0};
    struct span extent;
    if (!node) {
        return false;
    }
    struct schema_field *field = &node->field;
    struct span whole = word;
    if (split(whole, '=', &word, &node->map_name)) {
        node->map_name = unquote(node->map_name);
    }
    if (take_extent(&word, '(', ')', &extent) &&
        !read_extent(
            r, extent, &field->length, &node->length_name, &field->flags, FIELD_FIXED_LENGTH)) {
        return false;
    }
    if (take_extent(&word, '[', ']', &extent) &&
        !read_extent(
            r, extent, &field->count, &node->count_name, &field->flags, FIELD_FIXED_COUNT)) {
        return false;
    }
    bool has_type = split(word, ':', &field->name, &types);
    field->name = unquote(has_type ? field->name : word);
    if (field->name.size == 0) {
        return fail(r, "not a field:", whole);
    }
    return !has_type || read_types(r, types, field);
}

/* True if the last field was written without a type, which makes it a struct. */
static bool lacks_type(const struct layout *layout)
{
    return layout->newest && layout->newest->field.in_type == IN_NULL &&
           !(layout->newest->field.flags & FIELD_STRUCT);
}

static bool read_brace(struct text_reader *r, struct layout *layout, struct span word)
{
    struct error why = {0};
    if (word.data[0] == '}') {
        if (layout->depth == 0) {
            return fail(r, "no struct is open for", word);
        }
        layout_close(layout);
        return true;
    }
    if (!lacks_type(layout)) {
        return fail(r, "the members of a struct must follow its name, not", word);
    }
    return layout_open(layout, &why) ||
           error_set(r->err, why.code, "line %zu: %s", r->in.line, why.text);
}

static bool read_fields(struct text_reader *r, struct layout *layout, unsigned bases);

/* +BASE: begin with the fields of the template BASE. */
static bool read_base(
    struct text_reader *r, struct layout *layout, struct span word, unsigned bases)
{
    const struct text_template *base = map_get(
        &r->provider->names[MODEL_TEMPLATE], span_from(word, 1));
    if (!base || bases == MAX_BASES) {
        return fail(r, "no earlier template is called", word);
    }
    struct words here = r->in;
    r->in = base->fields;
    bool ok = read_fields(r, layout, bases + 1);
    r->in = here;
    return ok;
}

static bool read_fields(struct text_reader *r, struct layout *layout, unsigned bases)
{
    struct span word;
    while ((word = next_word(&r->in)).size) {
        bool ok;
        if (word.data[0] == '+') {
            ok = read_base(r, layout, word, bases);
        } else if (span_is(word, "{") || span_is(word, "}")) {
            ok = read_brace(r, layout, word);
        } else if (lacks_type(layout)) {
            ok = fail(r, "'{' must follow the name of a struct, not", word);
        } else {
            ok = read_field(r, layout, word);
        }
        if (!ok) {
            return false;
        }
    }
    return (!lacks_type(layout) && layout->depth == 0) || fail(r, "a struct is not closed:", word);
}

/* NAME FIELD ... */
static bool read_template(struct text_reader *r)
{
    struct text_template *template = allocate(r, sizeof(*template));
    if (!template) {
        return false;
    }
    template->model.name = next_word(&r->in);
    template->fields = r->in;
    layout_init(&template->model.layout, &r->model->scratch);
    return read_fields(r, &template->model.layout, 0) &&
           define(r, MODEL_TEMPLATE, template->model.name, template);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Build `A=%1;%nB=%2`, the form of nearly all messages of the .NET runtime. */
static bool make_message(
    const struct text_reader *r, const struct layout *layout, struct span *ret_message)
{
    size_t size = 0;
    for (const struct layout_node *n = layout->root.first; n; n = n->next) {
        size += n->field.name.size + sizeof(";%n=%65535");
    }
    char *text = arena_alloc(&r->model->manifest->arena, size + 1);
    if (!text) {
        return fail_memory(r);
    }
    size_t end = 0;
    unsigned number = 1;
    for (const struct layout_node *n = layout->root.first; n; n = n->next) {
        end += (size_t)snprintf(text + end, size + 1 - end, "%s%.*s=%%%u", number > 1 ? ";%n" : "",
            SPAN_ARG(n->field.name), number);
        number++;
    }
    *ret_message = span_make(text, end);
    return true;
}

/* Parse the word after the template: nothing, a text, or `*` for a message made of the field
 * names. */
static bool read_message(struct text_reader *r, struct model_event *event)
{
    struct span word = next_word(&r->in);
    event->message = unquote(word);
    if (!span_is(word, "*")) {
        return true;
    }
    return event->template ? make_message(r, &event->template->layout, &event->message)
                           : fail(r, "an event without fields cannot have the message", word);
}

/* Find the template ${name}; `-`: no payload. */
static bool find_template(struct text_reader *r, struct span name, struct model_event *event)
{
    if (span_is(name, "-")) {
        return true;
    }
    event->template = map_get(&r->provider->names[MODEL_TEMPLATE], name);
    return event->template || fail(r, "no template is called", name);
}

/* ID VERSION LEVEL TASK OPCODE KEYWORDS CHANNEL TEMPLATE [MESSAGE] */
static bool read_event(struct text_reader *r)
{
    struct model_event *event = allocate(r, sizeof(*event));
    struct event_descriptor *d = allocate(r, sizeof(*d));
    uint64_t n[7];
    if (!event || !d) {
        return false;
    }
    event->line = r->in.line;
    if (!read_number(r, UINT16_MAX, &event->id, &n[0]) ||
        !read_number(r, UINT8_MAX, &event->version, &n[1]) ||
        !read_number(r, UINT8_MAX, &event->level, &n[2]) ||
        !read_number(r, UINT16_MAX, &event->task, &n[3]) ||
        !read_number(r, UINT8_MAX, &event->opcode, &n[4]) ||
        !read_number(r, UINT64_MAX, NULL, &n[5]) ||
        !read_number(r, UINT8_MAX, &event->channel, &n[6])) {
        return false;
    }
    *d = (struct event_descriptor){.id = (uint16_t)n[0],
        .version = (uint8_t)n[1],
        .level = (uint8_t)n[2],
        .task = (uint16_t)n[3],
        .opcode = (uint8_t)n[4],
        .keyword = n[5],
        .channel = (uint8_t)n[6]};
    event->descriptor = d;
    manifest_model_add_event(r->provider, event);
    return find_template(r, next_word(&r->in), event) && read_message(r, event);
}

/* ---- statements ------------------------------------------------------------------------------ */

/* GUID NAME: must be the first statement and the only one of its kind. */
static bool read_provider(struct text_reader *r)
{
    struct model_provider *provider = allocate(r, sizeof(*provider));
    if (!provider) {
        return false;
    }
    struct span guid = next_word(&r->in);
    if (!guid_parse(guid, &provider->guid)) {
        return fail(r, "not a GUID:", guid);
    }
    provider->name = unquote(next_word(&r->in));
    provider->kind = r->model->options->kind;
    provider->usable = true;
    manifest_model_add_provider(r->model, provider);
    r->provider = provider;
    return true;
}

static const struct statement {
    const char *word;
    bool (*read)(struct text_reader *r);
} statements[] = {
    {"event", read_event},
    {"template", read_template},
    {"task", read_task},
    {"keyword", read_keyword},
    {"values", read_values},
    {"bits", read_bits},
    {"channel", read_channel},
    {"level", read_level},
    {"provider", read_provider},
};

static bool read_statement(struct text_reader *r)
{
    struct span word = next_word(&r->in);
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        if (!span_is(word, statements[i].word)) {
            continue;
        }
        if ((statements[i].read == read_provider) != (r->provider == NULL)) {
            return fail(r, "exactly one provider must come first; found", word);
        }
        if (!statements[i].read(r)) {
            return false;
        }
        struct span more = next_word(&r->in);
        return more.size == 0 || fail(r, "unexpected text after the statement:", more);
    }
    return fail(r, "unknown statement:", word);
}

static bool fill_model(struct model *model, void *self, struct error *err)
{
    const struct span *text = self;
    struct text_reader r = {.model = model, .in = {.rest = *text, .line = 1}, .err = err};
    model->has_texts = true;
    while (next_statement(&r.in)) {
        if (!read_statement(&r)) {
            return false;
        }
    }
    return r.provider || error_set(err, ERR_FORMAT, "the text names no provider");
}

struct manifest *builtin_text_read(
    struct span text, const struct manifest_options *options, struct error *err)
{
    if (text.size > BUILTIN_TEXT_MAX_BYTES) {
        error_set(err, ERR_LIMIT, "larger than %d bytes", BUILTIN_TEXT_MAX_BYTES);
        return NULL;
    }
    return manifest_model_make(options, fill_model, &text, err);
}
