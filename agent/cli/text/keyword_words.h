#ifndef ETWSHIP_CLI_KEYWORD_WORDS_H
#define ETWSHIP_CLI_KEYWORD_WORDS_H

#include "input/live/provider_spec.h"

struct etw_request;

/* Keywords with side effects (etw_keywords.h) of the provider: those that a request for all
 * keywords omits, and those that are requested. A sentence each. */
void keyword_words_each(const struct etw_request *request, const struct provider_spec *spec,
    void (*note)(void *self, const char *text), void *self);

#endif
