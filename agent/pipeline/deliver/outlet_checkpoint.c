#include "pipeline/deliver/outlet_checkpoint.h"

bool outlet_checkpoint_has(const struct outlet *outlet)
{
    return outlet->settings.ops->checkpoint && outlet->settings.workers <= 1;
}

/* The positions of this moment and ${fresh} are what is stored next. */
static void set_checkpoint(struct outlet *outlet, struct buf *fresh)
{
    size_t size = outlet->settings.session_count * sizeof(*outlet->stored);
    plat_mutex_lock(&outlet->mutex);
    if (memcmp(outlet->stored, outlet->mark.acked, size) != 0 ||
        !span_equal(buf_span(fresh), buf_span(&outlet->checkpoint))) {
        memcpy(outlet->stored, outlet->mark.acked, size);
        struct buf before = outlet->checkpoint;
        outlet->checkpoint = *fresh;
        *fresh = before;
        outlet->change++;
    }
    plat_mutex_unlock(&outlet->mutex);
}

bool outlet_checkpoint_take(struct outlet_lane *lane, bool now, struct error *err)
{
    struct outlet *outlet = lane->outlet;
    struct spool *spool = outlet->settings.spool;
    struct buf fresh;
    buf_init(&fresh, OUTPUT_CHECKPOINT_MAX_BYTES);
    bool ok = !outlet_checkpoint_has(outlet) || delivery_host_checkpoint(lane->host, &fresh, err);
    if (fresh.failed) {
        ok = error_set(err, ERR_LIMIT, "its checkpoint is too long");
    }
    if (ok && spool->keeps) {
        ok = spool->ops->checkpoint(spool, outlet->settings.cursor, buf_span(&fresh), now, err);
    } else if (ok) {
        set_checkpoint(outlet, &fresh);
    }
    buf_fini(&fresh);
    return ok;
}

bool outlet_checkpoint_save(void *self, struct error *err)
{
    struct outlet_lane *lane = self;
    const struct outlet_settings *settings = &lane->outlet->settings;
    return outlet_checkpoint_take(lane, true, err) &&
           (settings->spool->keeps || settings->save(settings->self, err));
}
