#ifndef ETWSHIP_APP_INSTALL_NOTE_H
#define ETWSHIP_APP_INSTALL_NOTE_H

#include "base/buf.h"
#include "service/service_plan.h"

/*
 * How an installer found the machine before it changed anything: what it takes to put it back,
 * for another process, when the installation fails.
 */
enum {
    INSTALL_NOTE_MAX_BYTES = 128 * 1024,
    INSTALL_NOTE_TEXT_BYTES = 32768,
    INSTALL_NOTE_DIGEST_BYTES = 65 /* SHA-256 in hex, and a terminator */
};

struct install_note {
    bool has_config;  /* the configuration of the system is there */
    bool has_service; /* and what follows down to the command means something */
    bool runs;
    enum service_start start;
    char account[256];
    char command[INSTALL_NOTE_TEXT_BYTES];
    char wrote[INSTALL_NOTE_DIGEST_BYTES]; /* the configuration that setup wrote; "": none so far */
};

/* The digest of ${text}. */
bool install_note_digest(
    struct span text, char ret_digest[INSTALL_NOTE_DIGEST_BYTES], struct error *err);

/* Append it as lines `key value`. False (ERR_FORMAT) for texts that hold control characters. */
bool install_note_write(const struct install_note *note, struct buf *out, struct error *err);

/* Read what install_note_write wrote; false (ERR_FORMAT) for anything else. */
bool install_note_read(struct span text, struct install_note *ret_note, struct error *err);

#endif
