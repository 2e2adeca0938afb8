#include "input/live/provider_spec.h"

#include "base/hex.h"
#include "config/config_text.h"

enum { MAX_PARTS = 5, MAX_LEVEL = 255, MAX_ID = 65535 };

void provider_spec_init(struct provider_spec *spec)
{
    *spec = (struct provider_spec){.level = PROVIDER_LEVEL_ALL};
}

bool provider_spec_parse_bits(struct span text, uint64_t *ret_bits)
{
    bool hex = span_equal_nocase(span_first(text, 2), span_text("0x"));
    uint64_t base = hex ? 16 : 10;
    struct span digits = span_from(text, hex ? 2 : 0);
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size; i++) {
        unsigned digit = hex_digit(digits.data[i]);
        if (digit >= base || value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    if (digits.size) {
        *ret_bits = value;
    }
    return digits.size > 0;
}

bool provider_spec_parse_level(struct span text, uint8_t *ret_level, struct error *err)
{
    static const struct {
        const char *name;
        uint8_t level;
    } names[] = {{"critical", 1}, {"error", 2}, {"warning", 3}, {"information", 4}, {"verbose", 5},
        {"info", 4}, {"informational", 4}};
    struct config_nearest nearest = {.text = text};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_equal_nocase(text, span_text(names[i].name))) {
            *ret_level = names[i].level;
            return true;
        }
        config_text_consider(&nearest, names[i].name);
    }
    uint64_t value;
    if (provider_spec_parse_bits(text, &value) && value <= MAX_LEVEL) {
        *ret_level = (uint8_t)value;
        return true;
    }
    const char *meant = config_text_meant(&nearest);
    return error_set(err, ERR_CONFIG,
        "%s is not a level. %s%s%swrite a number from 0 to 255, critical, error, warning, "
        "information or verbose",
        config_text_quote(text).text, meant ? "did you mean '" : "", meant ? meant : "",
        meant ? "'? " : "");
}

static struct span cut(struct span *text, const char *separators)
{
    size_t size = 0;
    while (size < text->size && !(text->data[size] && strchr(separators, text->data[size]))) {
        size++;
    }
    struct span part = span_first(*text, size);
    *text = span_from(*text, size + 1);
    return part;
}

bool provider_spec_add_range(struct provider_events *events, struct span text, struct error *err)
{
    struct span rest = text;
    struct span first = cut(&rest, "-");
    bool is_range = first.size < text.size;
    uint64_t low;
    uint64_t high;
    bool good = provider_spec_parse_bits(first, &low) && low <= MAX_ID;
    high = good ? low : 0;
    good = good &&
           (!is_range || (provider_spec_parse_bits(rest, &high) && high <= MAX_ID && high >= low));
    if (!good) {
        return error_set(err, ERR_CONFIG,
            "%s is not an event id. write a number from 0 to 65535, or a range such as 5-9",
            config_text_quote(text).text);
    }
    if (events->range_count == PROVIDER_MAX_RANGES) {
        return error_set(
            err, ERR_CONFIG, "more than %d event ids. join some to ranges", PROVIDER_MAX_RANGES);
    }
    events->ranges[events->range_count++] = (struct provider_id_range){
        .first = (uint16_t)low, .last = (uint16_t)high};
    return true;
}

/* True for digits, ranges and separators only: the rest of an entry that was split at a comma. */
static bool is_only_ids(struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!text.data[i] || !strchr("0123456789-+,", text.data[i])) {
            return false;
        }
    }
    return text.size > 0;
}

/* True for what is probably meant as a GUID: braces, or five groups of only digits. */
static bool looks_like_guid(struct span text)
{
    size_t dashes = 0;
    size_t digits = 0;
    for (size_t i = 0; i < text.size; i++) {
        dashes += text.data[i] == '-';
        digits += hex_digit(text.data[i]) < 16;
    }
    return text.data[0] == '{' || text.data[text.size - 1] == '}' ||
           (dashes == 4 && dashes + digits == text.size);
}

bool provider_spec_set_name(struct provider_spec *spec, struct span text, struct error *err)
{
    if (text.size == 0) {
        return error_set(err, ERR_CONFIG,
            "the provider has no name. write its name or GUID, as in Name:level:ids");
    }
    if (text.data[0] == ' ' || text.data[text.size - 1] == ' ') {
        return error_set(err, ERR_CONFIG,
            "%s begins or ends with a space, which no provider name does. remove it",
            config_text_quote(text).text);
    }
    if (guid_parse(text, &spec->guid)) { /* may consist of digits only */
        return true;
    }
    if (is_only_ids(text)) {
        return error_set(err, ERR_CONFIG,
            "%s is not a provider: in [ ] a comma starts a new entry. quote the whole expression "
            "before it, or join ids with +",
            config_text_quote(text).text);
    }
    if (looks_like_guid(text)) {
        return error_set(err, ERR_CONFIG,
            "%s is not a GUID. write 8-4-4-4-12 hexadecimal digits, as in "
            "1c95126e-7eea-49a9-a3fe-a378b03ddb4d",
            config_text_quote(text).text);
    }
    spec->name = text;
    return true;
}

/* ---- the compact form ------------------------------------------------------------------------ */

struct reading {
    struct provider_spec *spec;
    struct span text;
    provider_spec_fault_fn *fault;
    void *self;
    bool good;
};

/* Report an error in ${part} of the text. */
static void report_part(struct reading *reading, struct span part, const struct error *err)
{
    const uint8_t *start = reading->text.data;
    size_t characters = 0;
    for (const uint8_t *c = start; c < part.data; c++) {
        characters += (*c & 0xc0) != 0x80;
    }
    reading->good = false;
    reading->fault(reading->self, characters, err->text);
}

/* Parse `1+5-9` or `1,5-9`. */
static void read_ids(struct reading *reading, struct span text)
{
    bool more = text.size > 0;
    while (more) {
        struct error err;
        struct span rest = text;
        struct span range = cut(&rest, "+,");
        more = range.size < text.size;
        if (!provider_spec_add_range(&reading->spec->include, range, &err)) {
            report_part(reading, range, &err);
        }
        text = rest;
    }
}

static void read_keywords(
    struct reading *reading, struct provider_keywords *keywords, struct span text)
{
    struct error err;
    if (text.size && !provider_spec_parse_bits(text, &keywords->bits)) {
        error_set(&err, ERR_CONFIG,
            "%s is not a keyword mask. write it as a number; names work in the long form, "
            "keywords: {any: [NAME]}",
            config_text_quote(text).text);
        report_part(reading, text, &err);
    }
    keywords->named = keywords->bits == UINT64_MAX ? 0 : keywords->bits;
    keywords->given = text.size > 0;
}

bool provider_spec_read(
    struct provider_spec *spec, struct span text, provider_spec_fault_fn *fault, void *self)
{
    struct reading reading = {spec, text, fault, self, true};
    struct span parts[MAX_PARTS] = {{NULL, 0}};
    struct span rest = text;
    struct error err;
    bool more = true;
    for (size_t i = 0; i < MAX_PARTS && more; i++) {
        size_t before = rest.size;
        parts[i] = cut(&rest, ":");
        more = parts[i].size < before;
    }
    provider_spec_init(spec);
    if (more) {
        error_set(&err, ERR_CONFIG,
            "%s has too many parts. write (Name|GUID)[:Level[:EventIDs[:AnyKeywords"
            "[:AllKeywords]]]]",
            config_text_quote(text).text);
        report_part(&reading, rest, &err);
        return false;
    }
    if (!provider_spec_set_name(spec, parts[0], &err)) {
        report_part(&reading, parts[0], &err);
    }
    if (parts[1].size && !provider_spec_parse_level(parts[1], &spec->level, &err)) {
        report_part(&reading, parts[1], &err);
    }
    read_ids(&reading, parts[2]);
    read_keywords(&reading, &spec->any, parts[3]);
    read_keywords(&reading, &spec->all, parts[4]);
    return reading.good;
}

struct first_fault {
    struct error *err;
    bool found;
};

static void keep_first(void *self, size_t character, const char *what)
{
    struct first_fault *first = self;
    (void)character;
    if (!first->found) {
        error_set(first->err, ERR_CONFIG, "%s", what);
    }
    first->found = true;
}

bool provider_spec_parse(struct provider_spec *spec, struct span text, struct error *err)
{
    struct first_fault first = {.err = err};
    return provider_spec_read(spec, text, keep_first, &first);
}
