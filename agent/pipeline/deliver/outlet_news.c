#include "pipeline/deliver/outlet_news.h"

#include <stdio.h>

#include "platform/plat_clock.h"

enum { MAX_LINE_BYTES = 900 };

static const struct {
    const char *kind;
    const char *before; /* the text of the news */
    const char *behind;
} lines[] = {[DELIVERY_FAILS] = {"retry", "", "; trying again"},
    [DELIVERY_REFUSED] = {"refused", "",
        "; rejected events are lost. set agent.data_dir to keep them"},
    [DELIVERY_DEGRADED] = {"degraded",
        "degraded: ", "; trying again slowly until its set-up is corrected"},
    [DELIVERY_MENDED] = {"mended", "delivers again", ""},
    [DELIVERY_DUPLICATES] = {"duplicates",
        "the destination already had events that were never sent before. look for a proxy that "
        "repeats requests, or a copy of this machine",
        ""},
    [DELIVERY_AGED] = {"aged", "", "; they are lost. set agent.data_dir to keep them"}};

void outlet_news_init(struct outlet_news *news)
{
    plat_mutex_init(&news->mutex);
    news->degraded_lanes = 0;
}

void outlet_news_fini(struct outlet_news *news)
{
    plat_mutex_fini(&news->mutex);
}

/* One more lane is degraded, or one less. Is that news of the whole output? */
static bool count_degraded(struct outlet_news *news, bool degraded)
{
    if (degraded) {
        news->degraded_lanes++;
    } else {
        news->degraded_lanes--;
    }
    ledger_set_degraded(
        news->ledger, news->index, news->degraded_lanes > 0 || news->parked_routes > 0);
    return news->degraded_lanes == (degraded ? 1 : 0);
}

static void warn(
    const struct outlet_news *news, enum delivery_news what, const char *text, bool ended)
{
    const char *behind = lines[what].behind;
    if (what == DELIVERY_FAILS && ended) {
        behind = "";
    } else if (what == DELIVERY_REFUSED && news->dead_letters) {
        behind = "; rejected events are kept as dead letters: see etwship deadletter list";
    } else if (what == DELIVERY_AGED && news->dead_letters) {
        behind = "; they are kept as dead letters: see etwship deadletter list";
    }
    char line[MAX_LINE_BYTES];
    snprintf(line, sizeof(line), "%s%s%s", lines[what].before, text, behind);
    news->warn(news->self, news->output, lines[what].kind, line);
}

void outlet_news_tell(
    struct outlet_news *news, enum delivery_news what, const char *text, bool ended)
{
    bool of_state = what == DELIVERY_DEGRADED || what == DELIVERY_MENDED;
    plat_mutex_lock(&news->mutex);
    if (what == DELIVERY_FAILS || of_state) {
        ledger_set_trouble(news->ledger, news->index, what == DELIVERY_MENDED ? "" : text);
    }
    if (!of_state || count_degraded(news, what == DELIVERY_DEGRADED)) {
        warn(news, what, text, ended);
    }
    plat_mutex_unlock(&news->mutex);
}

void outlet_news_parked(
    struct outlet_news *news, enum parking_news what, const char *route, const char *text)
{
    static const char *const kinds[] = {
        [PARKING_PARKED] = "parked", [PARKING_REFUSES] = "refuses", [PARKING_OPENED] = "unparked"};
    char line[MAX_LINE_BYTES];
    bool parked = what == PARKING_PARKED || what == PARKING_REFUSES;
    plat_mutex_lock(&news->mutex);
    if (what == PARKING_PARKED) {
        news->parked_routes++;
    } else if (!parked) {
        news->parked_routes--;
    }
    ledger_set_degraded(
        news->ledger, news->index, news->degraded_lanes > 0 || news->parked_routes > 0);
    if (parked) {
        snprintf(line, sizeof(line),
            "degraded: %s accepts no events: %s; its events are held until it does, all others "
            "continue",
            route, text);
    } else {
        snprintf(line, sizeof(line), "%s accepts events again", route);
    }
    if (what != PARKING_EMPTY) {
        news->warn(news->self, news->output, kinds[what], line);
    }
    plat_mutex_unlock(&news->mutex);
}

void outlet_news_gave_way(struct outlet_news *news, size_t count)
{
    char line[MAX_LINE_BYTES];
    snprintf(line, sizeof(line),
        "held events have filled their share of the spool: the oldest %zu of them are lost, as "
        "spool.on_full says",
        count);
    news->warn(news->self, news->output, "held", line);
}

void outlet_news_full(struct outlet_news *news, bool full)
{
    plat_mutex_lock(&news->mutex);
    if (full && !news->full) {
        news->warn(news->self, news->output, "full",
            "degraded: held events have filled their share of the spool; the output sends nothing "
            "more until some of them are accepted");
    }
    news->full = full;
    plat_mutex_unlock(&news->mutex);
}

/* Events of recorded sessions can wait, live ones cannot. The agent's own wait where no session is
 * live: else live events would wait with them. */
static bool can_wait(
    const struct outlet_news *news, const struct batch *batch, const struct delivery_refusal *what)
{
    if (!news->losses) {
        return false;
    }
    if (!batch->own) {
        return batch->segment_count &&
               losses_comes_again(
                   news->losses, batch->segments[batch_segment_of(batch, what->place)].session);
    }
    bool recorded = true;
    for (size_t i = 0; i + 1 < news->session_count; i++) {
        recorded = recorded && losses_comes_again(news->losses, i);
    }
    return recorded;
}

bool outlet_news_keep(const struct outlet_news *news, uint64_t epoch, const struct batch *batch,
    const struct delivery_refusal *refusals, size_t count, struct error *err)
{
    struct dead_letter items[DELIVERY_KEPT_AT_ONCE];
    uint64_t now = plat_now_filetime();
    for (size_t i = 0; i < count; i++) {
        const struct delivery_refusal *refusal = &refusals[i];
        struct span document = refusal->document;
        bool ended = document.size && document.data[document.size - 1] == '\n';
        items[i] = (struct dead_letter){.time = now,
            .epoch = epoch,
            .record = batch->first_record + refusal->place,
            .waits = can_wait(news, batch, refusal),
            .output = span_text(news->output),
            .status = refusal->why.status,
            .type = refusal->why.type,
            .reason = refusal->why.reason,
            .index = refusal->why.index,
            .route = refusal->route,
            .document_id = refusal->id,
            .document = span_first(document, document.size - ended)};
    }
    return news->dead_letters->ops->put(news->dead_letters, items, count, err);
}
