#ifndef ETWSHIP_CLI_SERVICE_NOTE_H
#define ETWSHIP_CLI_SERVICE_NOTE_H

#include "app/install/install_note.h"

/* How an installation finds the machine, and its note of that in Windows' registry, which only
 * administrators may write. Any thread, one at a time. */

/* What there is now; ${config} is the path of the configuration. */
bool service_note_look(const char *config, struct install_note *ret_note, struct error *err);

/* The same of the service alone; the rest of ${note} stays. */
bool service_note_look_at_service(struct install_note *note, struct error *err);

bool service_note_write(const struct install_note *note, struct error *err);

/* ${ret_there}: there is one, which ${ret_note} says. ERR_FORMAT: it is none of ours. */
bool service_note_read(bool *ret_there, struct install_note *ret_note, struct error *err);

/* True, too, if there is none. */
bool service_note_forget(struct error *err);

#endif
