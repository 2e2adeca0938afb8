#ifndef ETWSHIP_CLI_KEYWORD_WORDS_H
#define ETWSHIP_CLI_KEYWORD_WORDS_H

#include "input/live/provider_spec.h"

struct etw_request;

/* Of the provider's keywords with side effects (etw_keywords.h): those that the request for all keywords
 * leaves out, and those that are asked for. A sentence each. */
void keyword_words_each(const struct etw_request *request, const struct provider_spec *spec,
    void (*note)(void *self, const char *text), void *self);

#endif
