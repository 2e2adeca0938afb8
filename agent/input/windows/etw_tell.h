#ifndef ETWSHIP_INPUT_WINDOWS_ETW_TELL_H
#define ETWSHIP_INPUT_WINDOWS_ETW_TELL_H

#include "input/input.h"

/* Call ${note}, as in struct input_env, with a text of at most 699 bytes. */
void etw_tell(void (*note)(void *self, enum input_note level, const char *text), void *self,
    enum input_note level, const char *format, ...) ETWSHIP_PRINTF(4, 5);

#endif
