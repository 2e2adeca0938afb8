#ifndef ETWSHIP_CLI_SERVICE_NOTE_H
#define ETWSHIP_CLI_SERVICE_NOTE_H

#include "app/install/install_note.h"

/* The state of the machine before an installation, saved in Windows' registry, where only
 * administrators may write. Any thread, one at a time. */

/* The current state; ${config} is the path of the configuration. */
bool service_note_look(const char *config, struct install_note *ret_note, struct error *err);

/* The current state of the service only; the rest of ${note} stays. */
bool service_note_look_at_service(struct install_note *note, struct error *err);

bool service_note_write(const struct install_note *note, struct error *err);

/* ${ret_there}: a note exists and is in ${ret_note}. ERR_FORMAT: not written by etwship. */
bool service_note_read(bool *ret_there, struct install_note *ret_note, struct error *err);

/* True also if there is none. */
bool service_note_delete(struct error *err);

#endif
