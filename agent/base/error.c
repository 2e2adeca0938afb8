#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/append.h"
#include "base/visible.h"

bool error_set(struct error *err, enum error_code code, const char *format, ...)
{
    if (err) {
        err->code = code;
        err->os_code = 0;
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof(err->text), format, args);
        va_end(args);
        visible_fit(err->text, sizeof(err->text));
    }
    return false;
}

bool error_set_os(struct error *err, int64_t os_code, const char *reason, const char *format, ...)
{
    if (err) {
        err->code = ERR_IO;
        err->os_code = os_code;
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof(err->text), format, args);
        va_end(args);
        append_printf(err->text, sizeof(err->text), ": %s", reason);
        visible_fit(err->text, sizeof(err->text));
    }
    return false;
}
