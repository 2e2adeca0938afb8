#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "store/catalogue/catalogue_sources.h"
#include "store/letters/letter_files.h"
#include "store/rebuild_own.h"

/* Dead letters from their files (letter_files.h). */

struct restore {
    struct rebuild *rebuild;
    struct ids damaged; /* letters that cannot be read */
    uint64_t last;      /* the highest number that was seen */
    struct error *err;
};

static void see(struct restore *restore, uint64_t id)
{
    restore->last = id > restore->last && id < NUMBERS_END ? id : restore->last;
}

static bool on_letter(void *self, const struct catalogue_letter *letter)
{
    struct restore *restore = self;
    see(restore, letter->id);
    return catalogue_restore_letter(restore->rebuild->catalogue, letter, restore->err);
}

static void remove_damaged(struct ids *damaged, uint64_t to, uint64_t id)
{
    size_t left = 0;
    for (size_t i = 0; i < damaged->count; i++) {
        if (damaged->at[i] > to && damaged->at[i] != id) {
            damaged->at[left++] = damaged->at[i];
        }
    }
    damaged->count = left;
}

static bool on_gone(void *self, uint64_t to, struct span ids)
{
    struct restore *restore = self;
    struct catalogue *catalogue = restore->rebuild->catalogue;
    bool ok = to == 0 || catalogue_remove_letters_to(catalogue, to, restore->err);
    see(restore, to);
    remove_damaged(&restore->damaged, to, 0);
    for (size_t i = 0; ok && i + 8 <= ids.size; i += 8) {
        uint64_t id = load_le64(ids.data + i);
        uint64_t removed;
        see(restore, id);
        remove_damaged(&restore->damaged, 0, id);
        ok = catalogue_remove_letters(catalogue, &id, 1, &removed, restore->err);
    }
    return ok;
}

static bool on_damaged(void *self, uint64_t id)
{
    struct restore *restore = self;
    see(restore, id);
    return ids_add(&restore->damaged, id, restore->err);
}

/* One that stands elsewhere, too, is not lost. */
static bool count_lost(struct restore *restore, uint64_t *ret_lost)
{
    uint64_t lost = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < restore->damaged.count; i++) {
        bool found = false;
        bool again = false;
        for (size_t k = 0; k < i && !again; k++) {
            again = restore->damaged.at[k] == restore->damaged.at[i];
        }
        ok = catalogue_has_letter(
            restore->rebuild->catalogue, restore->damaged.at[i], &found, restore->err);
        lost += !found && !again;
    }
    *ret_lost = lost;
    return ok;
}

/* Their outputs are unknown. */
static bool put_gap(struct rebuild *rebuild, const char *unit, uint64_t count, struct error *err)
{
    const struct catalogue_gap gap = {.stage = span_text("spool"),
        .reason = span_text("dead_letters_damaged"),
        .unit = span_text(unit),
        .count = count,
        .exact = true,
        .to = ages_now(rebuild->ages)};
    return count == 0 || catalogue_put_gap(rebuild->catalogue, &gap, err);
}

static void tell(struct rebuild *rebuild, uint64_t letters, uint64_t lost, uint64_t skipped)
{
    if (lost || skipped) {
        report_news(rebuild->report, STORE_NEWS_LETTERS,
            "%" PRIu64 " dead letters were found in their files; %" PRIu64 " are lost, and %" PRIu64
            " other bytes of the files cannot be read",
            letters, lost, skipped);
    } else if (letters) {
        report_news(rebuild->report, STORE_NEWS_LETTERS,
            "%" PRIu64 " dead letters were found in their files", letters);
    }
}

bool rebuild_letters(struct rebuild *rebuild, struct error *err)
{
    struct restore restore = {.rebuild = rebuild, .err = err};
    struct catalogue_info info;
    uint64_t skipped = 0;
    uint64_t lost = 0;
    const struct letter_files_reader reader = {
        .letter = on_letter, .gone = on_gone, .damaged = on_damaged, .self = &restore};
    bool ok = letter_files_read(folder_letters(rebuild->folder), &reader, &skipped, err) &&
              count_lost(&restore, &lost);
    ids_fini(&restore.damaged);
    const struct catalogue_counters next = {.letter = restore.last + 1};
    ok = ok && catalogue_raise(rebuild->catalogue, &next, err) &&
         catalogue_info(rebuild->catalogue, &info, err) && put_gap(rebuild, "events", lost, err) &&
         put_gap(rebuild, "bytes", skipped, err);
    if (ok) {
        rebuild->letters_lost += lost + (skipped && !lost);
        tell(rebuild, info.letters, lost, skipped);
    }
    if (ok && (lost || skipped)) {
        /* So that it is not reported again. */
        letter_files_rewrite(folder_letters(rebuild->folder), rebuild->catalogue, NULL);
    }
    return ok;
}

/* ---- a catalogue that is older than the files ------------------------------------------------ */

struct look {
    struct catalogue *catalogue;
    uint64_t next;
    bool differs;
    struct error *err;
};

static bool look_letter(void *self, const struct catalogue_letter *letter)
{
    struct look *look = self;
    look->differs = look->differs || letter->id >= look->next;
    return true;
}

static bool look_gone(void *self, uint64_t to, struct span ids)
{
    struct look *look = self;
    bool ok = true;
    (void)to; /* evicted: that is as well */
    for (size_t i = 0; ok && !look->differs && i + 8 <= ids.size; i += 8) {
        ok = catalogue_has_letter(
            look->catalogue, load_le64(ids.data + i), &look->differs, look->err);
    }
    return ok;
}

static bool look_damaged(void *self, uint64_t id)
{
    (void)self;
    (void)id;
    return true;
}

bool rebuild_compare_letters(
    struct rebuild *rebuild, struct catalogue *catalogue, struct error *err)
{
    rebuild->catalogue = catalogue;
    struct catalogue_info info;
    uint64_t skipped;
    struct look look = {.catalogue = catalogue, .err = err};
    const struct letter_files_reader reader = {
        .letter = look_letter, .gone = look_gone, .damaged = look_damaged, .self = &look};
    if (!catalogue_check_letters(catalogue, err) || !catalogue_info(catalogue, &info, err)) {
        return false;
    }
    look.next = info.next.letter;
    if (!letter_files_read_newest(folder_letters(rebuild->folder), &reader, &skipped, err)) {
        return false;
    }
    if (!look.differs) {
        return true;
    }
    bool ok = catalogue_begin(catalogue, err) && rebuild_letters(rebuild, err) &&
              catalogue_commit(catalogue, err);
    if (!ok) {
        catalogue_rollback(catalogue);
    }
    return ok;
}
