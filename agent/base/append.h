#ifndef ETWSHIP_BASE_APPEND_H
#define ETWSHIP_BASE_APPEND_H

#include <stddef.h>

#include "base/error.h"

/* Append to the text in ${text}, an array of ${room} bytes; what does not fit is left out. */
void append_printf(char *text, size_t room, const char *format, ...) ETWSHIP_PRINTF(3, 4);

#endif
