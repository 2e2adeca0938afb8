#include "outputs/elasticsearch/es_template.h"

#include <stdio.h>

#include "base/sha1.h"
#include "event/value/value_json.h"
#include "outputs/elasticsearch/es_unindexed.h"

/*
 * No content of an event may make a server refuse it. So mappings are closed (`dynamic: false`: an
 * unknown field is stored but not indexed), a payload is one field of a type that accepts any keys
 * and values (two providers may use one name for two types), and a value that does not fit is left
 * out of the index instead of refused. If the user wants types for payload fields, they come from
 * definitions (event/model/index_fields.h). Other fields are stored but not searchable: a server
 * that guesses a type refuses values that do not fit its guess.
 *
 * A table's rows are flat paths in any order; the nested object is made by searching, at each
 * level, for the next names. With a hundred rows that needs no tree.
 */
enum mapping {
    KEYWORD,
    KEYWORD_TEXT, /* these two can also be searched by words, under NAME.text */
    WILDCARD_TEXT,
    WILDCARD, /* text of any length, of which any part can be searched */
    CONSTANT_KEYWORD,
    MATCH_ONLY_TEXT,
    LONG,
    DATE,
    BOOLEAN,
    IP,
    UNINDEXED,
    UNMAPPED, /* stored only */
    OBJECT,   /* object with any keys and values */
};

struct es_field {
    const char *path; /* ends with ".*": any name */
    enum mapping mapping;
};

#define FIELD(path, mapping) {path, mapping},

static const struct es_field native_fields[] = {
#include "native_fields.def"
    {NULL, KEYWORD},
};

static const struct es_field ecs_fields[] = {
#include "ecs_fields.def"
    {NULL, KEYWORD},
};

/* Longer words are not indexed. A term of Lucene has 32,766 bytes at most, and a character of UTF-8
 * up to 4; no string is longer than 32,766 bytes, as the output cuts them (max_string). */
#define KEYWORD_TYPE "\"keyword\",\"ignore_above\":8191"
#define LONG_KEYWORD_TYPE "\"keyword\",\"ignore_above\":32766"
#define PAYLOAD_TYPE "\"flattened\",\"ignore_above\":32000"

static const char *text_type_of(const struct es_template *wanted)
{
    return wanted->types == ES_TYPES_ALL ? "\"match_only_text\"" : "\"text\",\"norms\":false";
}

static const char *object_type_of(const struct es_template *wanted)
{
    return wanted->types == ES_TYPES_FEW ? "\"object\",\"dynamic\":false"
           : wanted->opensearch          ? "\"flat_object\""
                                         : PAYLOAD_TYPE;
}

static const char *date_type_of(const struct es_template *wanted, const struct es_field *field)
{
    /* The time of a data stream must be one. */
    if (strcmp(field->path, "@timestamp") == 0) {
        return wanted->nanos ? "\"date_nanos\"" : "\"date\"";
    }
    return wanted->nanos ? "\"date_nanos\",\"ignore_malformed\":true"
                         : "\"date\",\"ignore_malformed\":true";
}

static const char *type_of(const struct es_template *wanted, const struct es_field *field)
{
    bool all = wanted->types == ES_TYPES_ALL;
    switch (field->mapping) {
    case CONSTANT_KEYWORD:
        /* One value per index is what a data stream has by its name. OpenSearch requires the value,
         * but one template serves several streams. */
        return wanted->data_stream && all && !wanted->opensearch ? "\"constant_keyword\""
                                                                 : KEYWORD_TYPE;
    case MATCH_ONLY_TEXT:
        return text_type_of(wanted);
    case LONG:
        return "\"long\",\"ignore_malformed\":true";
    case DATE:
        return date_type_of(wanted, field);
    case BOOLEAN:
        return "\"boolean\"";
    case IP:
        return "\"ip\",\"ignore_malformed\":true";
    case UNINDEXED:
        return "\"keyword\",\"index\":false,\"doc_values\":false";
    case UNMAPPED:
        return "\"object\",\"enabled\":false";
    case OBJECT:
        return object_type_of(wanted);
    case WILDCARD:
    case WILDCARD_TEXT:
        return all ? "\"wildcard\"" : LONG_KEYWORD_TYPE;
    case KEYWORD:
    case KEYWORD_TEXT:
        break;
    }
    return KEYWORD_TYPE;
}

static bool has_words(const struct es_field *field)
{
    return field->mapping == KEYWORD_TEXT || field->mapping == WILDCARD_TEXT;
}

/* ---- the tables ------------------------------------------------------------------------------ */

static const struct es_field *fields_of(const struct es_template *wanted)
{
    return strcmp(wanted->format, "ecs") == 0 ? ecs_fields : native_fields;
}

/* The rest of ${path} after ${prefix} ("a.b.", or ""); NULL: it begins differently. */
static const char *path_after(const char *path, struct span prefix)
{
    return strncmp(path, (const char *)prefix.data, prefix.size) == 0 ? path + prefix.size : NULL;
}

/* The name at the start of ${text}, up to a dot. */
static struct span first_name(const char *text)
{
    return span_make(text, strcspn(text, "."));
}

/* True if a row before ${row} begins with the same name. */
static bool is_seen(
    const struct es_field *fields, const struct es_field *row, struct span prefix, struct span name)
{
    for (const struct es_field *earlier = fields; earlier < row; earlier++) {
        const char *rest = path_after(earlier->path, prefix);
        if (rest && span_equal(first_name(rest), name)) {
            return true;
        }
    }
    return false;
}

static bool is_free(struct span name)
{
    return name.size == 1 && name.data[0] == '*';
}

/* ---- payloads -------------------------------------------------------------------------------- */

/* Path of the payload's fields in the formats. */
static bool is_payload(const struct es_field *field)
{
    return strcmp(field->path, "data") == 0 || strcmp(field->path, "winlog.event_data") == 0;
}

/* The formats never write times as milliseconds. */
static const char *payload_date_of(const struct es_template *wanted)
{
    return wanted->nanos ? "\"date_nanos\",\"format\":\"strict_date_optional_time_nanos\","
                           "\"ignore_malformed\":true"
                         : "\"date\",\"format\":\"strict_date_optional_time\","
                           "\"ignore_malformed\":true";
}

/* Another version of a provider may write values that no available definition has. */
static const char *payload_type_of(const struct es_template *wanted, enum index_type type)
{
    bool all = wanted->types == ES_TYPES_ALL;
    switch (type) {
    case INDEX_NATURAL:
    case INDEX_LONG:
        return "\"long\",\"ignore_malformed\":true";
    case INDEX_UNSIGNED:
        return all ? "\"unsigned_long\",\"ignore_malformed\":true"
                   : "\"long\",\"ignore_malformed\":true";
    case INDEX_DOUBLE:
        return "\"double\",\"ignore_malformed\":true";
    case INDEX_BOOLEAN:
        return all && !wanted->opensearch ? "\"boolean\",\"ignore_malformed\":true" : "\"boolean\"";
    case INDEX_TIME:
        return payload_date_of(wanted);
    case INDEX_IP:
        return "\"ip\",\"ignore_malformed\":true";
    default:
        return LONG_KEYWORD_TYPE;
    }
}

static void write_payload_fields( // NOLINT(misc-no-recursion): as deep as structs of payloads
    const struct es_template *wanted, const struct index_field *field, bool first, struct buf *out)
{
    for (; field; field = field->next, first = false) {
        buf_add_text(out, first ? "" : ",");
        value_json_string(field->name, out);
        if (field->type == INDEX_OBJECT) {
            buf_add_text(out, ":{\"properties\":{");
            write_payload_fields(wanted, field->first, true, out);
            buf_add_text(out, "}}");
        } else {
            buf_printf(out, ":{\"type\":%s}", payload_type_of(wanted, field->type));
        }
    }
}

static void write_payload(const struct es_template *wanted, struct buf *out)
{
    bool is_ecs = strcmp(wanted->format, "ecs") == 0;
    buf_add_text(out, "\"type\":\"object\",\"dynamic\":false,\"properties\":{");
    if (is_ecs) { /* items of the header become fields of the payload */
        buf_printf(out, "\"extended_data\":{\"type\":%s}", object_type_of(wanted));
    }
    if (wanted->fields) {
        write_payload_fields(wanted, index_fields_first(wanted->fields), !is_ecs, out);
    }
    /* And a field for payloads that do not fit these types. */
    buf_printf(out, "}},\"%s" ES_UNINDEXED_SUFFIX "\":{\"type\":\"object\",\"enabled\":false",
        is_ecs ? "event_data" : "data");
}

/* ---- members --------------------------------------------------------------------------------- */

static void write_properties(
    const struct es_template *wanted, const char *start, size_t size, struct buf *out);

/* The member ${name}; ${row} is its first row. */
static void write_member(const struct es_template *wanted, const struct es_field *row,
    struct span prefix, struct span name, struct buf *out)
{
    const char *rest = row->path + prefix.size + name.size;
    buf_printf(out, "\"%.*s\":{", (int)name.size, (const char *)name.data);
    if (rest[0] == '\0' && wanted->typed && is_payload(row)) {
        write_payload(wanted, out);
    } else if (rest[0] == '\0') {
        /* Rows below it describe its content, which is not mapped. */
        buf_printf(out, "\"type\":%s", type_of(wanted, row));
        if (has_words(row)) {
            buf_printf(out, ",\"fields\":{\"text\":{\"type\":%s}}", text_type_of(wanted));
        }
    } else if (is_free(span_text(rest + 1))) {
        buf_add_text(out, "\"type\":\"object\",\"dynamic\":true");
    } else {
        size_t inner = prefix.size + name.size + 1;
        buf_add_text(out, "\"properties\":{");
        write_properties(wanted, row->path, inner, out);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, '}');
}

/* The members below the prefix, the first ${size} bytes of ${start}. */
static void write_properties( // NOLINT(misc-no-recursion): as deep as the table's paths
    const struct es_template *wanted, const char *start, size_t size, struct buf *out)
{
    const struct es_field *fields = fields_of(wanted);
    struct span prefix = span_make(start, size);
    bool first = true;
    for (const struct es_field *row = fields; row->path; row++) {
        const char *rest = path_after(row->path, prefix);
        struct span name = rest ? first_name(rest) : span_make(NULL, 0);
        if (rest && !is_free(name) && !is_seen(fields, row, prefix, name)) {
            if (!first) {
                buf_add_byte(out, ',');
            }
            first = false;
            write_member(wanted, row, prefix, name, out);
        }
    }
}

/* Text under names that are not known in advance. */
static void write_free_fields(const struct es_template *wanted, struct buf *out)
{
    const struct es_field *fields = fields_of(wanted);
    bool first = true;
    for (const struct es_field *row = fields; row->path; row++) {
        size_t size = strlen(row->path);
        if (strchr(row->path, '.') == row->path + size - 2 && row->path[size - 1] == '*') {
            buf_printf(out, "%s{\"%.*s\":{\"path_match\":\"%s\",\"match_mapping_type\":\"string\",",
                first ? "" : ",", (int)(size - 2), row->path, row->path);
            buf_printf(out, "\"mapping\":{\"type\":%s}}}", type_of(wanted, row));
            first = false;
        }
    }
}

/* ---- the template ---------------------------------------------------------------------------- */

/* Of two templates that match a name, the server uses the one with the higher priority, and it
 * refuses two with equal priority. So a longer pattern gets a higher one. The templates that
 * Elasticsearch installs for `logs-*-*` have 100, those of its integrations 200. */
static unsigned priority_of(const struct es_template *wanted)
{
    return 300 + (unsigned)strlen(wanted->pattern);
}

static void write_inner(const struct es_template *wanted, struct buf *out)
{
    buf_add_text(out, "\"template\":{\"settings\":{");
    if (wanted->policy) {
        buf_printf(out, "\"index.%s\":",
            wanted->opensearch ? "plugins.index_state_management.policy_id" : "lifecycle.name");
        value_json_string(span_text(wanted->policy), out);
    }
    if (wanted->max_fields && wanted->max_fields != ES_TEMPLATE_USUAL_FIELDS) {
        buf_printf(out, "%s\"index.mapping.total_fields.limit\":%zu", wanted->policy ? "," : "",
            wanted->max_fields);
    }
    buf_add_text(
        out, "},\"mappings\":{\"dynamic\":false,\"date_detection\":false,\"dynamic_templates\":[");
    write_free_fields(wanted, out);
    buf_add_text(out, "],\"properties\":{");
    write_properties(wanted, "", 0, out);
    buf_add_text(out, "}}}");
}

static void write_all(const struct es_template *wanted, struct buf *out)
{
    buf_add_text(out, "\"index_patterns\":[");
    value_json_string(span_text(wanted->pattern), out);
    buf_printf(out, "],\"priority\":%u,", priority_of(wanted));
    if (wanted->data_stream) {
        buf_add_text(out, "\"data_stream\":{},");
    }
    write_inner(wanted, out);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void mark_of(struct span text, char ret_mark[ES_TEMPLATE_MARK_BYTES])
{
    uint8_t digest[SHA1_SIZE];
    struct sha1 sha;
    sha1_init(&sha);
    sha1_update(&sha, text);
    sha1_final(&sha, digest);
    for (size_t i = 0; i < (ES_TEMPLATE_MARK_BYTES - 1) / 2; i++) {
        snprintf(ret_mark + 2 * i, 3, "%02x", digest[i]);
    }
}

void es_template_mark(const struct es_template *wanted, char ret_mark[ES_TEMPLATE_MARK_BYTES])
{
    struct es_template without = *wanted;
    struct buf body;
    without.fields = NULL;
    buf_init(&body, ES_TEMPLATE_MAX_BYTES);
    write_all(&without, &body);
    mark_of(buf_span(&body), ret_mark);
    buf_fini(&body);
}

void es_template_fields_mark(
    const struct index_fields *fields, char ret_mark[ES_TEMPLATE_MARK_BYTES])
{
    const struct es_template any = {.format = "native", .pattern = ""};
    struct buf body;
    buf_init(&body, ES_TEMPLATE_MAX_BYTES);
    write_payload_fields(&any, index_fields_first(fields), true, &body);
    mark_of(buf_span(&body), ret_mark);
    buf_fini(&body);
}

/* ---- number of fields ------------------------------------------------------------------------ */

/* True if a row before ${row} begins with the first ${size} bytes of its path. */
static bool is_counted(const struct es_field *fields, const struct es_field *row, size_t size)
{
    for (const struct es_field *earlier = fields; earlier < row; earlier++) {
        const char *rest = path_after(earlier->path, span_make(row->path, size));
        if (rest && (*rest == '.' || *rest == '\0')) {
            return true;
        }
    }
    return false;
}

/* True if it is inside an object that is mapped as one field. */
static bool is_inside(const struct es_field *fields, const struct es_field *row)
{
    for (const struct es_field *other = fields; other->path; other++) {
        const char *rest = path_after(row->path, span_text(other->path));
        if (other->mapping == OBJECT && rest && *rest == '.') {
            return true;
        }
    }
    return false;
}

/* Servers count fields, the objects around them, and additional fields of one value. */
static size_t count_fields(const struct es_field *fields)
{
    size_t count = 0;
    for (const struct es_field *row = fields; row->path; row++) {
        for (size_t size = 0; !is_inside(fields, row) && row->path[size];) {
            bool is_name = !is_free(span_text(row->path + size));
            size += strcspn(row->path + size, ".");
            count += is_name && !is_counted(fields, row, size);
            size += row->path[size] == '.';
        }
        count += has_words(row);
    }
    return count;
}

size_t es_template_room(const char *format, size_t max_fields)
{
    /* Labels become fields on first use. Two more fields belong to payloads: items of the header in
     * ECS, and payloads that are not indexed. */
    enum { LABEL_ROOM = 64, OTHERS = 2 };
    const struct es_template wanted = {.format = format};
    size_t count = count_fields(fields_of(&wanted)) + LABEL_ROOM + OTHERS;
    max_fields = max_fields ? max_fields : ES_TEMPLATE_USUAL_FIELDS;
    return max_fields > count ? max_fields - count : 0;
}

/* ---- the whole template ---------------------------------------------------------------------- */

void es_template_write(const struct es_template *wanted, struct buf *out)
{
    char mark[ES_TEMPLATE_MARK_BYTES];
    es_template_mark(wanted, mark);
    buf_printf(out, "{\"_meta\":{\"managed_by\":\"etwship\",\"mark\":\"%s\"", mark);
    if (wanted->fields) {
        es_template_fields_mark(wanted->fields, mark);
        buf_printf(out, ",\"fields\":\"%s\"", mark);
    }
    buf_add_text(out, "},");
    write_all(wanted, out);
    buf_add_byte(out, '}');
}
