#include "cli/text/typed_words.h"

#include "base/visible.h"
#include "event/value/value_json.h"

enum { MAX_LINE_BYTES = 16 * 1024 };

/* The index's treatment of the type. */
static const char *word_of(enum index_type type)
{
    static const char *const words[] = {[INDEX_TEXT] = "text",
        [INDEX_NATURAL] = "a number",
        [INDEX_LONG] = "a number; values above 2^63 - 1 are not searchable",
        [INDEX_UNSIGNED] = "an unsigned number",
        [INDEX_DOUBLE] = "a float",
        [INDEX_NONE] = "stored but not searchable"};
    return words[type] ? words[type] : index_fields_word(type);
}

static void add_conflict(struct buf *line, const struct index_field *field)
{
    const char *comma = "";
    visible_add(line, field->path);
    buf_add_text(line, " is ");
    for (int type = 0; type < INDEX_TYPES; type++) {
        if (field->event_types[type].data) {
            buf_printf(line, "%s%s in ", comma, index_fields_word((enum index_type)type));
            visible_add(line, field->event_types[type]);
            comma = ", ";
        }
    }
    buf_printf(line, ": %s", word_of(field->type));
}

struct lines {
    struct buf line;
    void (*say)(void *self, const char *text);
    void *self;
};

static void finish(struct lines *lines)
{
    buf_add_byte(&lines->line, '\0');
    if (!lines->line.failed) {
        lines->say(lines->self, (const char *)lines->line.data);
    }
    buf_reset(&lines->line);
}

static void say_counts(struct lines *lines, const struct typed_fields *typed)
{
    struct index_counts counts = index_fields_counts(typed->fields);
    buf_printf(&lines->line,
        "%zu of %zu fields of payloads, by %zu definitions, have types of their own; with their "
        "objects they take %zu of the %zu for which the index has room",
        counts.chosen, counts.fields, typed->definitions, counts.taken, counts.room);
    finish(lines);
    if (counts.chosen < counts.fields) {
        buf_printf(&lines->line,
            "%zu fields have no room in the index: they are stored but not searchable. raise "
            "setup.max_fields, or name fewer providers or events",
            counts.fields - counts.chosen);
        finish(lines);
    }
    if (counts.unusable) {
        buf_printf(&lines->line,
            "%zu fields have names that an index does not accept: they are stored but not "
            "searchable",
            counts.unusable);
        finish(lines);
    }
}

static void say_unknown(struct lines *lines, const struct typed_fields *typed)
{
    if (typed->unknown_providers) {
        buf_printf(&lines->line, "%zu provider%s no definition", typed->unknown_providers,
            typed->unknown_providers == 1 ? " has" : "s have");
        if (typed->unknown.size) {
            buf_add_text(&lines->line, ", such as ");
            visible_add(&lines->line, typed->unknown);
        }
        buf_add_text(&lines->line, ": fields that only they have are stored but not searchable");
        finish(lines);
    }
    if (typed->open_sessions) {
        buf_printf(&lines->line,
            "%zu session%s no providers, such as %s: fields that only their events have are stored "
            "but not searchable, unless a trace that setup reads has them",
            typed->open_sessions, typed->open_sessions == 1 ? " names" : "s name", typed->open);
        finish(lines);
    }
}

void typed_words_each(const struct typed_fields *typed, size_t max_conflicts,
    void (*say)(void *self, const char *text), void *self)
{
    struct lines lines = {.say = say, .self = self};
    struct index_counts counts = index_fields_counts(typed->fields);
    const struct index_field *field;
    size_t cursor = 0;
    size_t told = 0;
    buf_init(&lines.line, MAX_LINE_BYTES);
    say_counts(&lines, typed);
    say_unknown(&lines, typed);
    while (told < max_conflicts && (field = index_fields_differing(typed->fields, &cursor))) {
        add_conflict(&lines.line, field);
        finish(&lines);
        told++;
    }
    if (told < counts.differ) {
        buf_printf(&lines.line,
            "%zu more fields are told apart by their definitions. check -v "
            "lists them",
            counts.differ - told);
        finish(&lines);
    }
    buf_fini(&lines.line);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_conflict(const struct index_field *field, struct buf *out)
{
    const char *comma = "";
    buf_add_text(out, "{\"field\":");
    value_json_string(field->path, out);
    buf_printf(out, ",\"becomes\":\"%s\",\"is\":[", index_fields_word(field->type));
    for (int type = 0; type < INDEX_TYPES; type++) {
        if (field->event_types[type].data) {
            buf_printf(out, "%s{\"type\":\"%s\",\"event\":", comma,
                index_fields_word((enum index_type)type));
            value_json_string(field->event_types[type], out);
            buf_add_byte(out, '}');
            comma = ",";
        }
    }
    buf_add_text(out, "]}");
}

void typed_words_write_json(const struct typed_fields *typed, struct buf *out)
{
    struct index_counts counts = index_fields_counts(typed->fields);
    const struct index_field *field;
    const char *comma = "";
    size_t cursor = 0;
    buf_printf(out,
        "{\"definitions\":%zu,\"fields\":%zu,\"typed\":%zu,\"taken\":%zu,\"room\":%zu,"
        "\"unusable\":%zu,\"unknown_providers\":%zu,\"open_sessions\":%zu,\"conflicts\":[",
        typed->definitions, counts.fields, counts.chosen, counts.taken, counts.room,
        counts.unusable, typed->unknown_providers, typed->open_sessions);
    while ((field = index_fields_differing(typed->fields, &cursor))) {
        buf_add_text(out, comma);
        write_conflict(field, out);
        comma = ",";
    }
    buf_add_text(out, "]}");
}
