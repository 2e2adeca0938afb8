#ifndef ETWSHIP_INPUT_WINDOWS_ETW_NOTE_H
#define ETWSHIP_INPUT_WINDOWS_ETW_NOTE_H

#include "base/error.h"
#include "base/span.h"

/*
 * A note about a session for the next run of the agent: a file etw-SESSION.KIND in the data folder
 * with one line of words. ${data_dir} may be NULL: nothing is saved or found.
 */
enum { ETW_NOTE_BYTES = 1024 };

struct etw_note {
    char text[ETW_NOTE_BYTES];
    struct span rest; /* not yet taken by etw_note_word */
};

/* False if there is no note. */
bool etw_note_load(
    const char *data_dir, const char *session, const char *kind, struct etw_note *ret_note);

/* The next word; empty at the end. */
struct span etw_note_word(struct etw_note *note);

/* The next word as a number; false if it is not one, or above ${max}. */
bool etw_note_number(struct etw_note *note, uint64_t max, uint64_t *ret_number);

/* Replace the note with ${line} atomically. */
bool etw_note_save(const char *data_dir, const char *session, const char *kind, struct span line,
    struct error *err);

void etw_note_remove(const char *data_dir, const char *session, const char *kind);

#endif
