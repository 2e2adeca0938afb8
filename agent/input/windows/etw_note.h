#ifndef ETWSHIP_INPUT_WINDOWS_ETW_NOTE_H
#define ETWSHIP_INPUT_WINDOWS_ETW_NOTE_H

#include "base/error.h"
#include "base/span.h"

/*
 * What an agent leaves for the next one about a session: a file etw-SESSION.KIND in the data folder,
 * one line of words. ${data_dir} may be NULL: nothing is left then, and nothing is found.
 */
enum { ETW_NOTE_BYTES = 1024 };

struct etw_note {
    char text[ETW_NOTE_BYTES];
    struct span rest; /* what etw_note_word has not taken yet */
};

/* False if there is none. */
bool etw_note_load(
    const char *data_dir, const char *session, const char *kind, struct etw_note *ret_note);

/* The next word; empty at the end. */
struct span etw_note_word(struct etw_note *note);

/* The next word as a number; false if it is none, or above ${max}. */
bool etw_note_number(struct etw_note *note, uint64_t max, uint64_t *ret_number);

/* In one piece: ${line}, or what was there before. */
bool etw_note_save(const char *data_dir, const char *session, const char *kind, struct span line,
    struct error *err);

void etw_note_remove(const char *data_dir, const char *session, const char *kind);

#endif
