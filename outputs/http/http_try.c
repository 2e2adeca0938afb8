#include "outputs/http/http_try.h"

#include <stdarg.h>
#include <stdio.h>

bool http_try_tell(struct http_try *self, enum output_finding finding, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (self->client) {
        http_client_hide(self->client, text);
    }
    self->faulty = self->faulty || finding == OUTPUT_FOUND_FAULT;
    self->talk->say(self->talk->host, finding, text);
    return finding != OUTPUT_FOUND_FAULT;
}

void http_try_note(void *self, const char *text)
{
    http_try_tell(self, OUTPUT_FOUND_NOTE, "%s", text);
}
