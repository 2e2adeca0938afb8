#include "input/windows/etw_tell.h"

#include <stdarg.h>
#include <stdio.h>

void etw_tell(void (*note)(void *self, enum input_note level, const char *text), void *self,
    enum input_note level, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (note) {
        note(self, level, text);
    }
}
