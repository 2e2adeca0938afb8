#include "pipeline/source/source_own.h"
#include "platform/plat_clock.h"

/*
 * The clock of budgets is read occasionally while events arrive, and at each pause of the input.
 * Left-out events are counted per provider and reported about once a second, after the events
 * before them.
 */
static const uint64_t tick_ns = UINT64_C(1000000000);

static void tell_changes(struct source *source)
{
    const struct source_settings *settings = &source->settings;
    struct provider_change change;
    for (size_t cursor = 0; provider_budget_next_change(source->budget, &cursor, &change);) {
        if (settings->hooks.step) {
            settings->hooks.step(settings->hooks.self, settings->session, &change);
        }
    }
}

/* Without room, or with many gaps under way, left-out events keep adding up. */
static void ship_gaps(struct source *source, bool force)
{
    struct gap gap;
    size_t cursor = 0;
    if (!provider_budget_has_gaps(source->budget) || (!force && source->state == SOURCE_DROPS) ||
        !source_hand_over(source, force ? UINT64_MAX : 0)) {
        return;
    }
    while ((force || gap_list_may_take(&source->gaps)) &&
           provider_budget_next_gap(source->budget, &cursor, &gap)) {
        gap_list_add(&source->gaps, &gap);
        source_gaps_close(source, true);
    }
}

void source_budget_look(struct source *source, bool force)
{
    uint64_t now = plat_monotonic_ns();
    source->budget_now_ns = now;
    if (now - source->budget_ticked_ns >= tick_ns) {
        source->budget_ticked_ns = now;
        provider_budget_tick(source->budget, now);
    }
    tell_changes(source);
    if (force || now - source->budget_told_ns >= source->settings.gap_age_ns) {
        source->budget_told_ns = now;
        ship_gaps(source, force);
    }
}

bool source_budget_keeps(
    struct source *source, const struct event_record *record, uint32_t frame_count)
{
    if (source->until_budget_clock-- == 0) {
        source->until_budget_clock = SOURCE_CLOCK_EVERY - 1;
        source_budget_look(source, false);
    }
    enum provider_cut cut = provider_budget_ask(
        source->budget, record, frame_count, source->budget_now_ns);
    if (cut == PROVIDER_CUT_NONE) {
        return true;
    }
    source->slab_counts.dropped[SESSION_DROP_BUDGET_SAMPLED + (cut - PROVIDER_CUT_SAMPLED)]++;
    return false;
}
