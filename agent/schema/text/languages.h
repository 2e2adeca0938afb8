#ifndef ETWSHIP_SCHEMA_LANGUAGES_H
#define ETWSHIP_SCHEMA_LANGUAGES_H

#include <stdint.h>

#include "base/span.h"

/*
 * Languages of texts: as tags (en-US, RFC 5646), and as numbers of Windows (LANGID, [MS-LCID] 2.2). One language is
 * chosen for all texts of a file, so that texts are never mixed.
 */

/* The number of ${tag}, ignoring case; 0: unknown. Those that Windows is translated into are known. */
uint16_t languages_id(struct span tag);

/* True if texts of both may stand in one event: one language, or one of them is unknown or neutral (0). */
bool languages_go_together(uint16_t a, uint16_t b);

/*
 * How far a language is from the wanted one; the lowest rank is taken: the wanted one, the same language of another
 * country, en-US, neutral (0, an empty tag), other English, any other. ${wanted} empty or 0: en-US.
 */
enum { LANGUAGES_RANKS = 6 };
unsigned languages_rank(uint16_t wanted, uint16_t language);
unsigned languages_rank_tag(struct span wanted, struct span tag);

#endif
