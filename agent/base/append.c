#include "base/append.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void append_printf(char *text, size_t room, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, room - used, format, args);
    va_end(args);
}
