#include "schema/mof/mof_fields.h"

enum { WIDE_BYTES = 16 }; /* size of a GUID or IPv6 address */

struct kind {
    const char *name;
    uint16_t in_type;
    uint16_t out_type;
};

/* CIM types of fixed size, and their type with Format("x"). */
static const struct {
    struct kind kind;
    uint16_t hex_in_type;
    uint16_t hex_out_type;
} numbers[] = {
    {{"sint8", IN_INT8, OUT_NULL}, IN_UINT8, OUT_HEX_INT8},
    {{"uint8", IN_UINT8, OUT_NULL}, IN_UINT8, OUT_HEX_INT8},
    {{"sint16", IN_INT16, OUT_NULL}, IN_UINT16, OUT_HEX_INT16},
    {{"uint16", IN_UINT16, OUT_NULL}, IN_UINT16, OUT_HEX_INT16},
    {{"sint32", IN_INT32, OUT_NULL}, IN_HEX_INT32, OUT_NULL},
    {{"uint32", IN_UINT32, OUT_NULL}, IN_HEX_INT32, OUT_NULL},
    {{"sint64", IN_INT64, OUT_NULL}, IN_HEX_INT64, OUT_NULL},
    {{"uint64", IN_UINT64, OUT_NULL}, IN_HEX_INT64, OUT_NULL},
    {{"real32", IN_FLOAT, OUT_NULL}, IN_FLOAT, OUT_NULL},
    {{"real64", IN_DOUBLE, OUT_NULL}, IN_DOUBLE, OUT_NULL},
};

/* Extensions that determine the whole type of a property. */
static const struct kind extensions[] = {
    {"SizeT", IN_SIZE_T, OUT_NULL},
    {"Guid", IN_GUID, OUT_NULL},
    {"IPAddr", IN_UINT32, OUT_IPV4},
    {"IPAddrV4", IN_UINT32, OUT_IPV4},
    {"IPAddrV6", IN_BINARY, OUT_IPV6},
    {"Port", IN_UINT16, OUT_PORT},
    {"Sid", IN_WBEM_SID, OUT_NULL},
    {"Variant", IN_HEX_DUMP, OUT_NULL},
    {"WmiTime", IN_WMI_TIME, OUT_NULL},
    {"RString", IN_ANSI_STRING, OUT_NULL},
    {"RWString", IN_UNICODE_STRING, OUT_NULL},
};

/* Types of ANSI and wide texts by StringTermination. */
static const struct {
    const char *name;
    uint16_t ansi;
    uint16_t wide;
} terminations[] = {
    {"NullTerminated", IN_ANSI_STRING, IN_UNICODE_STRING},
    {"Counted", IN_COUNTED_ANSI_STRING, IN_COUNTED_STRING},
    {"ReverseCounted", IN_REVERSED_COUNTED_ANSI_STRING, IN_REVERSED_COUNTED_STRING},
    {"NotCounted", IN_NON_NUL_TERMINATED_ANSI_STRING, IN_NON_NUL_TERMINATED_STRING},
};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

struct reading {
    const struct mof_property *property;
    struct schema_field *field;
    struct layout_node *node;
    uint64_t count; /* number of elements; 0: not given */
};

static struct span qualifier(const struct reading *r, const char *name)
{
    return mof_qualifier_text(r->property->qualifiers, name);
}

static bool has(const struct reading *r, const char *name)
{
    return mof_qualifier_find(r->property->qualifiers, name) != NULL;
}

static bool is_type(const struct reading *r, const char *name)
{
    return span_equal_nocase(r->property->type, span_text(name));
}

static bool has_format(const struct reading *r, char letter)
{
    struct span format = qualifier(r, "Format");
    return format.size == 1 && (format.data[0] | 0x20) == (uint8_t)letter;
}

static void set_type(const struct reading *r, uint16_t in_type, uint16_t out_type)
{
    r->field->in_type = in_type;
    r->field->out_type = out_type;
}

/* Set the count of elements: Max, the number in brackets, the property that holds it, or up to the
 * end of the payload. */
static void set_count(const struct reading *r)
{
    if (r->node->count_name.size) {
        return;
    }
    if (r->count > 1 || (r->count == 1 && r->property->is_array)) {
        r->field->count = (uint16_t)r->count;
        r->field->flags |= FIELD_FIXED_COUNT;
    } else if (r->property->is_array) {
        r->field->flags |= FIELD_REST_COUNT;
    }
}

/* An array of characters or bytes is one text or blob; its count is the length. */
static void set_length(const struct reading *r, uint16_t in_type, uint16_t out_type)
{
    set_type(r, in_type, out_type);
    r->node->length_name = r->node->count_name;
    r->node->count_name = span_make(NULL, 0);
    r->field->length = (uint16_t)r->count;
    r->field->flags |= r->count ? FIELD_FIXED_LENGTH : 0;
}

static bool has_length(const struct reading *r)
{
    return r->count > 1 || r->node->count_name.size;
}

/* True for an array of bytes with the size of ${kind}. Windows' own classes write GUIDs as uint8
 * x[16]. */
static bool is_bytes_of(const struct reading *r, const struct kind *kind)
{
    return (is_type(r, "uint8") || is_type(r, "sint8")) &&
           (r->count == 0 || r->count == WIDE_BYTES || kind->in_type == IN_WBEM_SID ||
               kind->in_type == IN_HEX_DUMP);
}

static bool set_by_extension(const struct reading *r)
{
    struct span extension = qualifier(r, "Extension");
    for (size_t i = 0; extension.size && i < COUNT_OF(extensions); i++) {
        const struct kind *kind = &extensions[i];
        if (!span_equal_nocase(extension, span_text(kind->name))) {
            continue;
        }
        set_type(r, kind->in_type, kind->out_type);
        if (!is_bytes_of(r, kind)) {
            set_count(r);
        }
        return true;
    }
    return false;
}

static bool set_number(const struct reading *r)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (is_type(r, numbers[i].kind.name)) {
            bool hex = has_format(r, 'x');
            set_type(r, hex ? numbers[i].hex_in_type : numbers[i].kind.in_type,
                hex ? numbers[i].hex_out_type : numbers[i].kind.out_type);
            set_count(r);
            return true;
        }
    }
    return false;
}

/* Bytes that are characters, or opaque. */
static bool set_bytes(const struct reading *r)
{
    bool is_byte = is_type(r, "uint8") || is_type(r, "sint8");
    bool is_text = has_format(r, 'c') || has_format(r, 's');
    bool is_blob = span_equal_nocase(qualifier(r, "Extension"), span_text("NoPrint"));
    if (!is_byte || (!is_text && !(is_blob && has_length(r)))) {
        return false;
    }
    if (!is_text) {
        set_length(r, IN_BINARY, OUT_NULL);
    } else if (has_length(r) || has_format(r, 's')) {
        set_length(r, IN_ANSI_STRING, OUT_NULL);
    } else {
        set_type(r, IN_ANSI_CHAR, OUT_NULL);
        set_count(r);
    }
    return true;
}

static bool set_char16(const struct reading *r)
{
    if (!is_type(r, "char16")) {
        return false;
    }
    if (has_length(r) || has_format(r, 's')) {
        set_length(r, IN_UNICODE_STRING, OUT_NULL);
    } else {
        set_type(r, IN_UNICODE_CHAR, OUT_NULL);
        set_count(r);
    }
    return true;
}

static const char *set_string(const struct reading *r)
{
    struct span termination = qualifier(r, "StringTermination");
    size_t row = 0;
    while (termination.size && row < COUNT_OF(terminations) &&
           !span_equal_nocase(termination, span_text(terminations[row].name))) {
        row++;
    }
    if (row == COUNT_OF(terminations)) {
        return "its StringTermination is unknown";
    }
    bool wide = has_format(r, 'w');
    set_type(r, wide ? terminations[row].wide : terminations[row].ansi,
        has(r, "XMLFragment") ? OUT_XML : OUT_NULL);
    set_count(r);
    return NULL;
}

static void set_boolean(const struct reading *r, enum mof_boolean boolean)
{
    if (boolean == MOF_BOOLEAN_LONG) {
        set_type(r, IN_BOOLEAN, OUT_NULL);
    } else {
        set_type(r, IN_UINT8, OUT_BOOLEAN);
    }
    set_count(r);
}

const char *mof_fields_fill(
    const struct mof_property *property, enum mof_boolean boolean, struct layout_node *node)
{
    struct reading r = {
        .property = property, .field = &node->field, .node = node, .count = property->length};
    node->field.name = property->name;
    node->field.count = 1;
    node->count_name = qualifier(&r, "WmiSizeIs");
    if (property->is_bad || (has(&r, "Max") && !mof_qualifier_number(property->qualifiers, "Max",
                                                   UINT16_MAX, &r.count))) {
        return "it is a reference or an array with an invalid size";
    }
    if (has(&r, "Pointer") || has(&r, "PointerType")) {
        set_type(&r, IN_POINTER, OUT_NULL);
        set_count(&r);
        return NULL;
    }
    if (set_by_extension(&r) || set_bytes(&r) || set_number(&r) || set_char16(&r)) {
        return NULL;
    }
    if (is_type(&r, "string")) {
        return set_string(&r);
    }
    if (is_type(&r, "boolean")) {
        set_boolean(&r, boolean);
        return NULL;
    }
    return is_type(&r, "object") ? "it is an object without a known extension"
                                 : "its type is unknown";
}

/* ---- maps ------------------------------------------------------------------------------------ */

struct map_texts {
    const struct mof_qualifier *names;
    const struct mof_qualifier *values; /* NULL: the list position counts */
    bool is_bits;                       /* the names are those of bits */
    bool is_position;                   /* values are bit positions */
};

static bool find_texts(const struct mof_property *property, struct map_texts *ret_texts)
{
    const struct mof_qualifier *qualifiers = property->qualifiers;
    const struct mof_qualifier *bits = mof_qualifier_find(qualifiers, "BitValues");
    const struct mof_qualifier *names = mof_qualifier_find(qualifiers, "Values");
    if (bits) {
        *ret_texts = (struct map_texts){.names = bits,
            .values = mof_qualifier_find(qualifiers, "BitMap"),
            .is_bits = true,
            .is_position = true};
    } else if (names) {
        *ret_texts = (struct map_texts){.names = names,
            .values = mof_qualifier_find(qualifiers, "ValueMap"),
            .is_bits = span_equal_nocase(
                mof_qualifier_text(qualifiers, "ValueType"), span_text("flag"))};
    }
    return bits || names;
}

/* Number that the entry at ${place} stands for. */
static bool entry_value(
    const struct map_texts *texts, const struct mof_value *value, size_t place, uint64_t *ret_value)
{
    uint64_t number = place;
    if (texts->values && (!value || !mof_number(value->text, UINT64_MAX, &number))) {
        return false;
    }
    bool is_position = texts->is_position || (texts->is_bits && !texts->values);
    if (is_position && number >= 64) {
        return false;
    }
    *ret_value = is_position ? UINT64_C(1) << number : number;
    return true;
}

bool mof_fields_map(
    const struct mof_property *property, struct arena *arena, const struct schema_map **ret_map)
{
    struct map_texts texts;
    *ret_map = NULL;
    if (!find_texts(property, &texts) || texts.names->value_count > SCHEMA_MAX_MAP_ENTRIES) {
        return true;
    }
    struct schema_map *map = arena_alloc(arena, sizeof(*map));
    struct schema_map_entry *entries = arena_alloc_array(
        arena, texts.names->value_count, sizeof(*entries));
    if (!map || !entries) {
        return false;
    }
    const struct mof_value *value = texts.values ? texts.values->values : NULL;
    size_t count = 0;
    size_t place = 0;
    for (const struct mof_value *name = texts.names->values; name; name = name->next, place++) {
        struct schema_map_entry *entry = &entries[count];
        if (entry_value(&texts, value, place, &entry->value)) {
            entry->text = name->text;
            count++;
        }
        value = value ? value->next : NULL;
    }
    if (!texts.is_bits) {
        schema_map_sort(entries, count);
    }
    *map = (struct schema_map){.kind = texts.is_bits ? MAP_BITS : MAP_VALUE,
        .entries = entries,
        .entry_count = count,
        .name = property->name};
    *ret_map = map;
    return true;
}
