#ifndef ETWSHIP_EVENT_EVENT_TEMPLATE_H
#define ETWSHIP_EVENT_EVENT_TEMPLATE_H

#include "base/buf.h"
#include "base/error.h"
#include "event/model/event.h"
#include "event/write/event_path.h"

/*
 * A text with values of an event, for the path of a file or the name of an index:
 *
 *   %Y %m %d %H %M   the event's own time, UTC: year (4 digits), month, day, hour, minute (2)
 *   {provider.name}  the field at that path of the native event (event_path.h)
 *   %%  {{  }}       a percent sign, a brace
 *
 * Everything else is literal; other uses of % and braces are errors. A field that is missing,
 * empty, a list or an object is `unknown`.
 */
struct event_template;

/*
 * Data is hostile. In a path, a field cannot add control characters, separators, other characters
 * that Windows forbids in names, or invisible ones that change the direction of text (each becomes
 * `_`), nor form a name with a meaning: `.`, `..`, a device of Windows (`NUL`, `com1.log`), a dot
 * or space at the end. So data cannot move the path out of the folders of its literal text. A
 * component is at most EVENT_TEMPLATE_MAX_NAME bytes: fields are cut, on a character, to the room
 * that the template leaves them.
 */
enum event_template_safety {
    EVENT_TEMPLATE_PATH,
    EVENT_TEMPLATE_INDEX, /* fields: lower case, `_` for bytes outside [a-z0-9._]; text comes first;
                             the whole is at most EVENT_TEMPLATE_MAX_INDEX bytes */
};

enum {
    EVENT_TEMPLATE_MAX_NAME = 200, /* leaves room below 255 for the endings of rotated files */
    EVENT_TEMPLATE_MAX_INDEX = 100,
    EVENT_TEMPLATE_MAX_PARTS = 64,
    EVENT_TEMPLATE_MAX_BYTES = 4096, /* size of a template; a rendered one has at most twice as many
                                        bytes */
};

/* Copies ${text}. NULL with ${err} set, "column N: …", counted in characters from 1. */
struct event_template *event_template_create(
    struct span text, enum event_template_safety safety, struct error *err);
void event_template_destroy(struct event_template *template); /* NULL is fine */

/* True if the template has no fields: its result is equal for all events. */
bool event_template_is_constant(const struct event_template *template);

/* Append the common start of all results. */
void event_template_start(const struct event_template *template, struct buf *out);

/* Append the shape of its results (template_shape.h). */
void event_template_shape(const struct event_template *template, struct buf *out);

/*
 * Append the text for ${event}, decoded, to ${out}, which has failed if there was no room. Several
 * threads may render with one template, each with its own ${context}. Of a constant one ${event}
 * and ${context} may be NULL.
 */
void event_template_render(const struct event_template *template, const struct event *event,
    struct event_path_context *context, struct buf *out);

/* Append the text for an event of the agent itself with the name ${name} (a gap), about the session
 * of ${trace} (may be NULL) at FILETIME ${time}. */
void event_template_render_own(const struct event_template *template, const char *name,
    const struct trace_info *trace, uint64_t time, struct event_path_context *context,
    struct buf *out);

/*
 * Find the digits of times in ${rendered}: ${ret_mask}, of the same size, gets the letter of the
 * time there ('Y') and 0 elsewhere, so that results of the same fields at other times can be found.
 * False if ${template} cannot give ${rendered}.
 */
bool event_template_find_times(
    const struct event_template *template, struct span rendered, uint8_t *ret_mask);

/* Append ${rendered} with ${value} in place of every field. False if ${template} cannot give
 * ${rendered}: nothing is appended. */
bool event_template_refill(const struct event_template *template, struct span rendered,
    struct span value, struct buf *out);

/* Append a pattern (plat_glob) that matches all results of a path template: `*` for each field, `?`
 * for a digit of the time. */
void event_template_pattern(const struct event_template *template, struct buf *out);

#endif
