#include "cli/text/keyword_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "etw/enable/etw_keywords.h"

void keyword_words_each(const struct etw_request *request, const struct provider_spec *spec,
    void (*note)(void *self, const char *text), void *self)
{
    bool is_resolved = request->any || spec->any.name_count == 0;
    uint64_t asked = is_resolved ? etw_keywords_any(request) : 0;
    const struct etw_keyword *keyword;
    for (size_t i = 0; (keyword = etw_keywords_get(i)) != NULL; i++) {
        char text[600];
        if (!etw_keywords_is_of(keyword, &request->provider)) {
            continue;
        }
        if (asked & keyword->mask) {
            snprintf(text, sizeof(text), "%s (0x%" PRIx64 "): %s, whenever the provider is enabled",
                keyword->name, keyword->mask, keyword->effect);
        } else if (is_resolved && etw_keywords_are_all(request->any)) {
            snprintf(text, sizeof(text),
                "all keywords but %s (0x%" PRIx64 "), with which %s: it must be named",
                keyword->name, keyword->mask, keyword->effect);
        } else {
            continue;
        }
        note(self, text);
    }
}
