#include "outputs/template_check.h"

#include <stdlib.h>

/* Report the column of an error as the place of the fault instead of in the text. */
void template_check(struct config_check *check, const char *key, const char *const *text,
    enum event_template_safety safety)
{
    static const char head[] = "column ";
    struct error err;
    struct event_template *template = event_template_create(span_text(*text), safety, &err);
    event_template_destroy(template);
    if (template) {
        return;
    }
    if (strncmp(err.text, head, sizeof(head) - 1) == 0) {
        char *what;
        size_t column = (size_t)strtoul(err.text + sizeof(head) - 1, &what, 10);
        CONFIG_FAULT_IN(check, text, column - 1, "%s: %s", key, what + strspn(what, ": "));
    } else {
        CONFIG_FAULT(check, text, "%s: %s", key, err.text);
    }
}
