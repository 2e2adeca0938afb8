#include "schema/source/known_providers.h"

/*
 * One array holds all names; a provider is a GUID and an offset into that array. The build sorts
 * both lists (cmake/Builtin.cmake), so nothing is computed at start.
 */
static const char names[] = {
#include "known_providers_names.def"
};

static const struct provider {
    struct guid guid;
    uint16_t name;
} by_guid[] = {
#define GUID(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, name) \
    {{{a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p}}, name},
#include "known_providers_by_guid.def"
#undef GUID
};

static const struct named {
    uint16_t name;
    uint16_t provider; /* index in by_guid */
} by_name[] = {
#define NAME(name, provider) {name, provider},
#include "known_providers_by_name.def"
#undef NAME
};

enum {
    PROVIDER_COUNT = sizeof(by_guid) / sizeof(by_guid[0]),
    NAME_COUNT = sizeof(by_name) / sizeof(by_name[0]),
};

struct span known_providers_name(const struct guid *provider)
{
    size_t low = 0;
    size_t high = PROVIDER_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = guid_compare(&by_guid[middle].guid, provider);
        if (order == 0) {
            return span_text(names + by_guid[middle].name);
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return span_make(NULL, 0);
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* The order of by_name: bytes in lower case, a shorter name before a longer one. */
static int compare_names(struct span a, struct span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    for (size_t i = 0; i < size; i++) {
        if (lower(a.data[i]) != lower(b.data[i])) {
            return lower(a.data[i]) < lower(b.data[i]) ? -1 : 1;
        }
    }
    return (a.size > b.size) - (a.size < b.size);
}

bool known_providers_guid(struct span name, struct guid *ret_guid)
{
    size_t low = 0;
    size_t high = NAME_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_names(span_text(names + by_name[middle].name), name);
        if (order == 0) {
            *ret_guid = by_guid[by_name[middle].provider].guid;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

void known_providers_each(
    void (*each)(void *self, const struct guid *provider, struct span name), void *self)
{
    for (size_t i = 0; i < PROVIDER_COUNT; i++) {
        each(self, &by_guid[i].guid, span_text(names + by_guid[i].name));
    }
}
