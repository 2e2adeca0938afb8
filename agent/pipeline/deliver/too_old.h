#ifndef ETWSHIP_PIPELINE_TOO_OLD_H
#define ETWSHIP_PIPELINE_TOO_OLD_H

#include "base/buf.h"
#include "outputs/output.h"

/* The type of what is kept because it became too old; its reason begins with it, too. */
#define TOO_OLD_TYPE "too_old"

enum { TOO_OLD_MAX_BYTES = 640 /* of a reason */ };

/*
 * Why a record that is given up after retry.max_age is kept: with what the destination said last of
 * it (${why}), or of everything (${last_words}). The text stands in ${words}, where it stays, as
 * room was made there before; without room the type says it alone.
 */
struct output_rejection too_old_say(
    struct buf *words, const char *last_words, struct output_rejection why);

#endif
