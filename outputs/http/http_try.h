#ifndef ETWSHIP_OUTPUTS_HTTP_TRY_H
#define ETWSHIP_OUTPUTS_HTTP_TRY_H

#include "outputs/http/http_client.h"
#include "outputs/output.h"

/* Findings of `test-output` at a server, without secrets. */
struct http_try {
    const struct output_talk *talk;
    const struct http_client *client; /* has the secrets; NULL: no client yet */
    bool faulty;                      /* a fault was reported */
};

/* Returns false for a fault. */
bool http_try_tell(struct http_try *self, enum output_finding finding, const char *format, ...)
    ETWSHIP_PRINTF(3, 4);

/* For http_client_setup.note and output_env.note; ${self} is their host. */
void http_try_note(void *self, const char *text);

#endif
