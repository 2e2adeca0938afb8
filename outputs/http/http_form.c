#include "outputs/http/http_form.h"

void http_form_add_value(struct buf *out, const char *value)
{
    for (const char *c = value; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || strchr("-._~", *c);
        buf_printf(out, plain ? "%c" : "%%%02X", plain ? *c : (int)(uint8_t)*c);
    }
}

void http_form_add(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s%s=", out->size ? "&" : "", name);
    http_form_add_value(out, value);
}
