#ifndef ETWSHIP_SCHEMA_LANGUAGES_H
#define ETWSHIP_SCHEMA_LANGUAGES_H

#include <stdint.h>

#include "base/span.h"

/*
 * Languages of texts: as tags (en-US, RFC 5646), and as Windows' numbers (LANGID, [MS-LCID] 2.2).
 * One language is chosen for all texts of a file, so that texts are never mixed.
 */

/* Number of ${tag}, ignoring case; 0: unknown. The languages into which Windows is translated are
 * known. */
uint16_t languages_id(struct span tag);

/* True if texts in both languages may be in one event: the languages are equal apart from the
 * country, or one is unknown or neutral (0). */
bool languages_go_together(uint16_t a, uint16_t b);

/*
 * Rank of a language by its distance to the wanted one; the lowest is taken: the wanted one, that
 * of another country, en-US, neutral (0, an empty tag), other English, any other. ${wanted} empty
 * or 0: en-US.
 */
unsigned languages_rank(uint16_t wanted, uint16_t language);
unsigned languages_rank_tag(struct span wanted, struct span tag);

#endif
