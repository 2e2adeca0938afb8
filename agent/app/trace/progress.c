#include "app/trace/progress.h"

#include <stdio.h>

#include "platform/plat_clock.h"
#include "platform/plat_self.h"

enum { BAR_WIDTH = 40 };

static const uint64_t first_ns = UINT64_C(1000000000);
static const uint64_t interval_ns = UINT64_C(100000000);

void progress_init(struct progress *progress, bool wanted)
{
    uint64_t now = plat_monotonic_ns();
    *progress = (struct progress){
        .enabled = wanted && plat_is_terminal(2), .started_ns = now, .next_ns = now + first_ns};
}

void progress_update(struct progress *progress, uint64_t done_bytes, uint64_t total_bytes)
{
    if (!progress->enabled || total_bytes == 0) {
        return;
    }
    uint64_t now = plat_monotonic_ns();
    if (now < progress->next_ns) {
        return;
    }
    progress->next_ns = now + interval_ns;
    progress->shown = true;
    double share = (double)done_bytes / (double)total_bytes;
    share = share > 1 ? 1 : share;
    int filled = (int)(share * (int)BAR_WIDTH);
    char bar[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++) {
        bar[i] = i < filled ? '#' : '.';
    }
    bar[BAR_WIDTH] = '\0';
    double seconds = (double)(now - progress->started_ns) / 1e9;
    fprintf(stderr, "\r[%s] %3.0f %%  %.0f MB/s ", bar, share * 100,
        (double)done_bytes / 1e6 / seconds);
    fflush(stderr);
}

void progress_clear(struct progress *progress)
{
    if (progress->shown) {
        fprintf(stderr, "\r%*s\r", BAR_WIDTH + 24, "");
        fflush(stderr);
        progress->shown = false;
    }
}
