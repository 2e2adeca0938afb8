#ifndef ETWSHIP_APP_PROGRESS_H
#define ETWSHIP_APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A bar on stderr for work that takes longer than a second; nothing where stderr is no terminal. */
struct progress {
    bool enabled;
    bool shown;
    uint64_t started_ns;
    uint64_t next_ns;
};

void progress_init(struct progress *progress, bool wanted);
void progress_update(struct progress *progress, uint64_t done_bytes, uint64_t total_bytes);

/* Take the bar away, before other text is printed and at the end. */
void progress_clear(struct progress *progress);

#endif
