#ifndef ETWSHIP_TESTS_SUPPORT_CRIM_SAMPLE_H
#define ETWSHIP_TESTS_SUPPORT_CRIM_SAMPLE_H

#include "support/crim_put.h"
#include "support/pe_put.h"

/* One provider, "Sample-Compiled", with one of everything: as XML, and as the message compiler
 * would lay it out, with its texts. */
extern const char crim_sample_xml[];
extern const struct crim_put_provider crim_sample_provider;
extern const struct guid crim_sample_guid;

/* Append the compiled manifest. */
void crim_sample_put(struct buf *out);

/* Append a manifest of ${count} providers, which are all the same one, with ${count} lists, which
 * are all the same one, of ${count} entries. */
void crim_sample_put_overlaps(struct buf *out, uint32_t count);

/* Append the message table, in English or in German. */
void crim_sample_put_messages(struct buf *out, bool german);

#endif
