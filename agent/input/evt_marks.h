#ifndef ETWSHIP_INPUT_EVT_MARKS_H
#define ETWSHIP_INPUT_EVT_MARKS_H

#include "base/buf.h"
#include "platform/plat_thread.h"

/*
 * Bookmarks that become true with events. Channels are numbered by whoever reads them; of each record that was read it
 * is noted which number its event has in the session. When the session is in the spool up to a number, the
 * bookmark of each channel is the last record that is noted with it.
 *
 * Records are noted in runs, so a channel that is read without a query needs little memory. Where there are too
 * many runs, older ones are forgotten: a bookmark moves later then, never earlier.
 *
 * Any thread: there is a lock inside.
 */
struct evt_marks;

enum { EVT_MARKS_MAX_RUNS = 1 << 18, EVT_MARKS_MAX_CHANNELS = 4096 };

struct evt_marks *evt_marks_create(struct error *err);
void evt_marks_destroy(struct evt_marks *marks);

/* The channel of this name (UTF-8), which is copied; new ones have no bookmark. SIZE_MAX: there are too many, or
 * there is no memory. */
size_t evt_marks_channel(struct evt_marks *marks, struct span name);

/* The record that the bookmark of ${channel} is at; 0: it has none. */
uint64_t evt_marks_bookmark(struct evt_marks *marks, size_t channel);

/* Record ${id} of ${channel} was read; it, and all before it, are numbered up to ${number}. False: no memory. */
bool evt_marks_add(struct evt_marks *marks, size_t channel, uint64_t id, uint64_t number);

/* The session is safe up to ${number}: append the bookmarks. */
bool evt_marks_write(struct evt_marks *marks, uint64_t number, struct buf *out, struct error *err);

/* Take back what was written, into marks without channels. False: it is damaged. */
bool evt_marks_read(struct evt_marks *marks, struct span bytes);

#endif
