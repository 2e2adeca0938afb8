#ifndef ETWSHIP_INPUT_EVT_MARKS_H
#define ETWSHIP_INPUT_EVT_MARKS_H

#include "base/buf.h"
#include "platform/plat_thread.h"

/*
 * Bookmarks that move when events are safe. The reader of a channel adds each record with the
 * number that its event has in the session. Once the spool has the session's events up to a number,
 * the bookmark of each channel is its last record with at most that number.
 *
 * Records with consecutive numbers form a run, so a channel that is read without a query takes
 * little memory. If there are too many runs, older ones are dropped: the bookmark then moves later,
 * never too early.
 *
 * Thread-safe; a lock is inside.
 */
struct evt_marks;

enum { EVT_MARKS_MAX_RUNS = 1 << 18, EVT_MARKS_MAX_CHANNELS = 4096 };

struct evt_marks *evt_marks_create(struct error *err);
void evt_marks_destroy(struct evt_marks *marks);

/* The channel ${name} (UTF-8, copied). A new one has no bookmark. SIZE_MAX: there are too many
 * channels, or there is no memory. */
size_t evt_marks_channel(struct evt_marks *marks, struct span name);

/* Record number in the bookmark of ${channel}; 0: it has no bookmark. */
uint64_t evt_marks_bookmark(struct evt_marks *marks, size_t channel);

/* Record ${id} of ${channel} was read. Its event, and those of all records read earlier, have
 * numbers up to ${number}. False: no memory. */
bool evt_marks_add(struct evt_marks *marks, size_t channel, uint64_t id, uint64_t number);

/* The events of the session are safe up to ${number}: move the bookmarks, and append them to
 * ${out}. */
bool evt_marks_write(struct evt_marks *marks, uint64_t number, struct buf *out, struct error *err);

/* Restore what evt_marks_write wrote; ${marks} must have no channels yet. False: ${bytes} are
 * damaged. */
bool evt_marks_read(struct evt_marks *marks, struct span bytes);

#endif
