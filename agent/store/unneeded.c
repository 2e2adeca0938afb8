#include "store/unneeded.h"

#include "store/state/ids.h"

enum { MAX_FREED_PAGES = 64 };

struct unneeded {
    bool is_due;         /* the next commit looks for what is not needed */
    bool is_in_need;     /* of room: an empty file that is being written goes, too */
    bool is_stuck;       /* a file that cannot be deleted was reported */
    uint64_t written_to; /* 0: none in this run */
    struct ids deleting;
    struct ids gone; /* deleted, but still in the catalogue */

    /* As in the transaction that is open. */
    struct ids given_up;
    bool has_removed; /* the rows of `gone` */
};

struct unneeded *unneeded_create(void)
{
    return calloc(1, sizeof(struct unneeded));
}

void unneeded_destroy(struct unneeded *unneeded)
{
    if (unneeded) {
        ids_fini(&unneeded->deleting);
        ids_fini(&unneeded->gone);
        ids_fini(&unneeded->given_up);
        free(unneeded);
    }
}

void unneeded_look(struct unneeded *unneeded)
{
    unneeded->is_due = true;
}

bool unneeded_is_due(const struct unneeded *unneeded)
{
    return unneeded->is_due;
}

void unneeded_written_to(struct unneeded *unneeded, uint64_t segment)
{
    unneeded->written_to = segment;
}

void unneeded_need_room(struct unneeded *unneeded, bool is_needed)
{
    unneeded->is_due = unneeded->is_due || (is_needed && !unneeded->is_in_need);
    unneeded->is_in_need = is_needed;
}

void unneeded_disk_is_full(struct unneeded *unneeded)
{
    unneeded->is_in_need = true;
}

bool unneeded_add(struct unneeded *unneeded, uint64_t segment, struct error *err)
{
    return ids_add(&unneeded->deleting, segment, err);
}

/* ---- the transaction ------------------------------------------------------------------------- */

struct finding {
    struct unneeded *unneeded;
    const struct pending *pending;
    struct error *err;
    bool ok;
};

static bool each_segment(void *self, const struct catalogue_segment *segment)
{
    struct finding *finding = self;
    struct unneeded *unneeded = finding->unneeded;
    bool is_written_to = segment->id == unneeded->written_to && !unneeded->is_in_need;
    if (segment->state == CATALOGUE_SEGMENT_LIVE && segment->batches == 0 && !is_written_to &&
        !pending_uses(finding->pending, segment->id)) {
        finding->ok = ids_add(&unneeded->given_up, segment->id, finding->err);
    }
    return finding->ok;
}

/* Remove the row of a file that has gone only when no loss of power brings the file back: without
 * the row the store would not know that it was settled. */
static bool remove_gone(struct unneeded *unneeded, struct catalogue *catalogue,
    struct segments *segments, struct error *err)
{
    if (unneeded->gone.count == 0 || !segments_sync_folder(segments, NULL)) {
        return true;
    }
    unneeded->has_removed = true;
    for (size_t i = 0; i < unneeded->gone.count; i++) {
        if (!catalogue_remove_segment(catalogue, unneeded->gone.at[i], err)) {
            return false;
        }
    }
    return catalogue_shrink(catalogue, MAX_FREED_PAGES, err);
}

bool unneeded_write(struct unneeded *unneeded, struct catalogue *catalogue,
    struct segments *segments, const struct pending *pending, struct error *err)
{
    struct finding finding = {.unneeded = unneeded, .pending = pending, .err = err, .ok = true};
    unneeded->given_up.count = 0;
    unneeded->has_removed = false;
    bool ok = catalogue_segments(catalogue, each_segment, &finding, err) && finding.ok;
    for (size_t i = 0; ok && i < unneeded->given_up.count; i++) {
        const struct catalogue_segment segment = {
            .id = unneeded->given_up.at[i], .state = CATALOGUE_SEGMENT_DELETING};
        ok = catalogue_put_segment(catalogue, &segment, err);
    }
    return ok && remove_gone(unneeded, catalogue, segments, err);
}

void unneeded_written(struct unneeded *unneeded, bool is_more)
{
    unneeded->is_due = is_more;
    if (unneeded->has_removed) {
        unneeded->gone.count = 0;
    }
    for (size_t i = 0; i < unneeded->given_up.count; i++) {
        /* Without memory the row says it to the next run. */
        ids_add(&unneeded->deleting, unneeded->given_up.at[i], NULL);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

bool unneeded_delete(struct unneeded *unneeded, struct segments *segments, struct error *ret_why)
{
    size_t kept = 0;
    size_t count = unneeded->deleting.count;
    for (size_t i = 0; i < count; i++) {
        uint64_t id = unneeded->deleting.at[i];
        struct error why;
        if (segments_unlink(segments, id, &why)) {
            ids_add(
                &unneeded->gone, id, NULL); /* else the next run would try again without success */
            continue;
        }
        unneeded->deleting.at[kept++] = id;
        if (!unneeded->is_stuck) {
            *ret_why = why;
            unneeded->is_stuck = true;
        }
    }
    unneeded->deleting.count = kept;
    unneeded->is_stuck = kept != 0;
    return kept < count;
}

void unneeded_forget(struct unneeded *unneeded)
{
    unneeded->is_due = true;
    unneeded->deleting.count = 0;
    unneeded->gone.count = 0;
}
