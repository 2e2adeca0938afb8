#ifndef ETWSHIP_CLI_TOP_TEXT_H
#define ETWSHIP_CLI_TOP_TEXT_H

#include "base/buf.h"
#include "base/error.h"

/* Two looks at the metrics of an agent as a table. */
struct top_look;

struct top_look *top_text_create(void); /* NULL: out of memory */
void top_text_destroy(struct top_look *look);

/* Put ${metrics}, of plat_monotonic_ns ${now_ns}, in the place of what is there. */
bool top_text_read(
    struct span metrics, uint64_t now_ns, struct top_look *ret_look, struct error *err);

/* Rates from one look to the next. ${clears}: each line ends by clearing the rest of it, for a terminal. */
void top_text_write(
    const struct top_look *before, const struct top_look *now, bool clears, struct buf *out);

#endif
