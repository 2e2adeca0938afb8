#include "app/provider_spec.h"

#include "config/config_text.h"

enum { MAX_PARTS = 5, MAX_LEVEL = 255, MAX_ID = 65535 };

void provider_spec_init(struct provider_spec *spec)
{
    *spec = (struct provider_spec){.level = PROVIDER_LEVEL_ALL};
}

static unsigned digit_of(uint8_t c)
{
    uint8_t letter = (uint8_t)(c | 0x20);
    return c >= '0' && c <= '9'             ? (unsigned)(c - '0')
           : letter >= 'a' && letter <= 'f' ? (unsigned)(letter - 'a') + 10
                                            : 16;
}

bool provider_spec_parse_bits(struct span text, uint64_t *ret_bits)
{
    bool hex = span_equal_nocase(span_first(text, 2), span_text("0x"));
    uint64_t base = hex ? 16 : 10;
    struct span digits = span_from(text, hex ? 2 : 0);
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size; i++) {
        unsigned digit = digit_of(digits.data[i]);
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
        "%s is no level. %s%s%swrite a number from 0 to 255, critical, error, warning, information "
        "or verbose",
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
            "%s is no event id. write a number from 0 to 65535, or a range such as 5-9",
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

/* `1+5-9` or `1,5-9`. */
static bool parse_ids(struct provider_spec *spec, struct span text, struct error *err)
{
    bool more = text.size > 0;
    while (more) {
        struct span rest = text;
        struct span range = cut(&rest, "+,");
        more = range.size < text.size;
        if (!provider_spec_add_range(&spec->include, range, err)) {
            return false;
        }
        text = rest;
    }
    return true;
}

static bool parse_keywords(struct provider_keywords *keywords, struct span text, struct error *err)
{
    if (text.size && !provider_spec_parse_bits(text, &keywords->bits)) {
        return error_set(err, ERR_CONFIG,
            "%s is no keyword mask. write it as a number; names work in the long form, keywords: "
            "{any: [NAME]}",
            config_text_quote(text).text);
    }
    keywords->given = text.size > 0;
    return true;
}

/* Only digits, ranges and separators: what is left of an entry that a comma cut. */
static bool is_only_ids(struct span text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!text.data[i] || !strchr("0123456789-+,", text.data[i])) {
            return false;
        }
    }
    return text.size > 0;
}

bool provider_spec_set_name(struct provider_spec *spec, struct span text, struct error *err)
{
    if (text.size == 0) {
        return error_set(err, ERR_CONFIG,
            "the provider has no name. write its name or GUID, as in Name:level:ids");
    }
    if (is_only_ids(text)) {
        return error_set(err, ERR_CONFIG,
            "%s is no provider: in [ ] a comma starts a new entry. quote the whole expression "
            "before it, or join ids with +",
            config_text_quote(text).text);
    }
    if (!guid_parse(text, &spec->guid)) {
        spec->name = text;
    }
    return true;
}

bool provider_spec_parse(struct provider_spec *spec, struct span text, struct error *err)
{
    struct span rest = text;
    struct span parts[MAX_PARTS] = {{NULL, 0}};
    for (size_t i = 0; i < MAX_PARTS && rest.size; i++) {
        parts[i] = cut(&rest, ":");
    }
    provider_spec_init(spec);
    if (rest.size) {
        return error_set(err, ERR_CONFIG,
            "%s has too many parts. write (Name|GUID)[:Level[:EventIDs[:AnyKeywords"
            "[:AllKeywords]]]]",
            config_text_quote(text).text);
    }
    return provider_spec_set_name(spec, parts[0], err) &&
           (parts[1].size == 0 || provider_spec_parse_level(parts[1], &spec->level, err)) &&
           parse_ids(spec, parts[2], err) && parse_keywords(&spec->any, parts[3], err) &&
           parse_keywords(&spec->all, parts[4], err);
}
