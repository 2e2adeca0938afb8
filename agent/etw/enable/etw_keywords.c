#include "etw/enable/etw_keywords.h"

#include "base/guid.h"

static const struct etw_keyword keywords[] = {
#define KEYWORD(provider, mask, name, effect, ...) {provider, mask, name, effect, {{__VA_ARGS__}}},
#include "etw_keywords.def"
#undef KEYWORD
};

const struct etw_keyword *etw_keywords_get(size_t index)
{
    return index < sizeof(keywords) / sizeof(keywords[0]) ? &keywords[index] : NULL;
}

bool etw_keywords_is_of(const struct etw_keyword *keyword, const struct guid *provider)
{
    struct guid hashed = guid_from_name(span_text(keyword->provider));
    return guid_equal(&keyword->guid, provider) || guid_equal(&hashed, provider);
}

uint64_t etw_keywords_with_effects(const struct guid *provider)
{
    uint64_t bits = 0;
    for (size_t i = 0; etw_keywords_get(i); i++) {
        bits |= etw_keywords_is_of(&keywords[i], provider) ? keywords[i].mask : 0;
    }
    return bits;
}

bool etw_keywords_are_all(uint64_t any)
{
    return any == 0 || any == UINT64_MAX;
}

/* Keywords of a classic provider are flags, and 0 means none: so "all" is all bits. */
uint64_t etw_keywords_any(const struct etw_request *request)
{
    if (!etw_keywords_are_all(request->any)) {
        return request->any;
    }
    return ~(etw_keywords_with_effects(&request->provider) & ~request->named);
}

/* EnableTraceEx2 ignores MatchAllKeyword if MatchAnyKeyword is 0 (enabletraceex2). */
uint64_t etw_keywords_all(const struct etw_request *request)
{
    return request->any ? request->all : 0;
}
