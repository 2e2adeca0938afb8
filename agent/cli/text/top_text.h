#ifndef ETWSHIP_CLI_TOP_TEXT_H
#define ETWSHIP_CLI_TOP_TEXT_H

#include "base/buf.h"
#include "base/error.h"

/* Two samples of an agent's metrics as a table. */
struct top_look;

struct top_look *top_text_create(void); /* NULL: out of memory */
void top_text_destroy(struct top_look *look);

/* Set the current sample to ${metrics}, taken at plat_monotonic_ns() ${now_ns}. */
bool top_text_read(
    struct span metrics, uint64_t now_ns, struct top_look *ret_look, struct error *err);

/* Append the rates between the two samples. ${clears}: each line ends with the code that clears the
 * rest of a terminal line. */
void top_text_write(
    const struct top_look *before, const struct top_look *now, bool clears, struct buf *out);

#endif
