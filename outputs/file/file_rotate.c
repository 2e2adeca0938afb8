#include "outputs/file/file_rotate.h"

#include <stdio.h>
#include <stdlib.h>

#include "outputs/file/file_keep.h"
#include "outputs/file/file_number.h"
#include "platform/plat_clock.h"
#include "platform/plat_path.h"

enum { MAX_CHORES = 10000, MAX_TAKEN = 1000, MAX_PATH_BYTES = 32 * 1024 };

static const uint64_t rename_again_ns = UINT64_C(1000000000);
static const uint64_t chores_again_ns = UINT64_C(30000000000);

/* A pending chore for PATH.number, or with number 0 for the family of PATH. */
struct chore {
    struct chore *next;
    uint64_t number;
    bool kept; /* the family was checked */
    char path[];
};

void file_rotator_init(struct file_rotator *rotator, const struct file_rotation *rules,
    struct file_set *set, const struct event_template *template)
{
    *rotator = (struct file_rotator){.rules = *rules, .set = set, .template = template};
    rotator->last = &rotator->first;
}

static void drop_first(struct file_rotator *rotator)
{
    struct chore *chore = rotator->first;
    file_gzip_destroy(rotator->job);
    rotator->job = NULL;
    rotator->first = chore->next;
    if (!rotator->first) {
        rotator->last = &rotator->first;
    }
    rotator->count--;
    free(chore);
}

void file_rotator_fini(struct file_rotator *rotator)
{
    while (rotator->first) {
        drop_first(rotator);
    }
}

/* A chore that does not fit is found again when the folder is read next; at worst it is never done,
 * which costs disk space only. */
static void add_chore(struct file_rotator *rotator, struct span path, uint64_t number)
{
    bool wanted = rotator->rules.keep || (rotator->rules.gzip && number);
    struct chore *chore = wanted && rotator->count < MAX_CHORES
                              ? malloc(sizeof(*chore) + path.size + 1)
                              : NULL;
    if (chore) {
        *chore = (struct chore){.number = number};
        memcpy(chore->path, path.data, path.size);
        chore->path[path.size] = '\0';
        *rotator->last = chore;
        rotator->last = &chore->next;
        rotator->count++;
    }
}

static void warn(const struct file_rotator *rotator, const struct error *err)
{
    if (rotator->warn) {
        rotator->warn(rotator->warn_self, err->text);
    }
}

/* ---- rotation -------------------------------------------------------------------------------- */

static uint64_t left(uint64_t now, uint64_t end)
{
    return now < end ? end - now : 0;
}

bool file_rotator_is_due(
    const struct file_rotator *rotator, const struct file_entry *entry, uint64_t more)
{
    const struct file_rotation *rules = &rotator->rules;
    if (!entry->ordinary || entry->bytes == 0 || entry->state == FILE_FRESH) {
        return false;
    }
    uint64_t now = plat_now_filetime();
    bool is_full = rules->size_bytes && more > left(entry->bytes, rules->size_bytes);
    bool is_old = rules->age_ns && now > entry->started_at &&
                  now - entry->started_at >= rules->age_ns / 100;
    return (is_full || is_old) && plat_monotonic_ns() >= entry->rotate_not_before;
}

uint64_t file_rotator_age_left_ns(
    const struct file_rotator *rotator, const struct file_entry *entry)
{
    const uint64_t most_ns = UINT64_C(60000000000);
    uint64_t age_ns = rotator->rules.age_ns;
    if (age_ns == 0 || !entry->ordinary || entry->bytes == 0 || entry->state == FILE_FRESH) {
        return UINT64_MAX;
    }
    uint64_t young = left(plat_now_filetime(), entry->started_at + age_ns / 100);
    uint64_t young_ns = young < most_ns / 100 ? young * 100 : most_ns;
    uint64_t pause_ns = left(plat_monotonic_ns(), entry->rotate_not_before);
    return young_ns > pause_ns ? young_ns : pause_ns;
}

uint64_t file_rotator_room(const struct file_rotator *rotator, const struct file_entry *entry)
{
    uint64_t max = rotator->rules.size_bytes;
    if (max == 0 || !entry->ordinary || plat_monotonic_ns() < entry->rotate_not_before) {
        return UINT64_MAX;
    }
    return left(entry->bytes, max);
}

/* The rotated files of one path: the highest number, and uncompressed ones. */
struct survey {
    struct file_rotator *rotator;
    const struct file_entry *entry;
    uint64_t highest;     /* of any program */
    uint64_t own_highest; /* of this output */
};

static bool survey_one(void *self_, const char *path, struct file_number number)
{
    struct survey *self = self_;
    bool is_ours = file_marks_has_at(self->rotator->set->marks, path, strlen(self->entry->path));
    self->highest = number.number > self->highest ? number.number : self->highest;
    if (is_ours && number.number > self->own_highest) {
        self->own_highest = number.number;
    }
    if (is_ours && !number.compressed && !self->entry->surveyed) {
        add_chore(self->rotator, span_text(self->entry->path), number.number);
    }
    return true;
}

static char *numbered(const char *path, uint64_t number, const char *ending)
{
    size_t size = strlen(path) + 32;
    char *text = malloc(size);
    if (text) {
        snprintf(text, size, "%s.%llu%s", path, (unsigned long long)number, ending);
    }
    return text;
}

/* True if PATH.number exists, compressed or not. */
static bool is_taken(const char *path, uint64_t number)
{
    char *plain = numbered(path, number, "");
    char *compressed = numbered(path, number, ".gz");
    bool taken = !plain || !compressed || plat_path_kind(plain) != PLAT_PATH_NONE ||
                 plat_path_kind(compressed) != PLAT_PATH_NONE;
    free(plain);
    free(compressed);
    return taken;
}

/* The number after all existing ones; if another program has the maximum number, the one after this
 * output's. */
static bool number_next(struct file_rotator *rotator, struct file_entry *entry, struct error *err)
{
    if (entry->next_number && !is_taken(entry->path, entry->next_number)) {
        return true;
    }
    struct survey survey = {.rotator = rotator, .entry = entry};
    if (!file_number_each(entry->path, survey_one, &survey, err)) {
        return false;
    }
    entry->next_number = 1 +
                         (survey.highest < FILE_NUMBER_MAX ? survey.highest : survey.own_highest);
    entry->surveyed = true;
    return true;
}

/* Rename the closed file to `next_number`, or the next free one. */
static bool rename_to_next(const struct file_rotator *rotator, struct file_entry *entry,
    const struct plat_file_id *id, struct error *err)
{
    struct file_marks *marks = rotator->set->marks;
    error_set(err, ERR_BUSY, "%s: cannot be renamed, as all numbers are taken", entry->path);
    for (int i = 0; i < MAX_TAKEN && entry->next_number <= FILE_NUMBER_MAX; i++) {
        struct error why = {0};
        char *to = is_taken(entry->path, entry->next_number)
                       ? NULL
                       : numbered(entry->path, entry->next_number, "");
        bool marked = to && file_marks_add(marks, span_text(to), strlen(entry->path), id, &why);
        bool good = marked && plat_path_rename_new(entry->path, to, &why);
        if (marked && !good) {
            file_marks_remove(marks, span_text(to));
        }
        free(to);
        if (good) {
            return true;
        }
        if (to && why.code != ERR_BUSY) {
            if (err) {
                *err = why;
            }
            return false;
        }
        entry->next_number++;
    }
    return false;
}

static bool set_aside(struct file_rotator *rotator, struct file_entry *entry, struct error *err)
{
    const struct plat_file_id id = entry->id;
    if (!number_next(rotator, entry, err)) {
        return false;
    }
    /* Windows renames no file that is open for appending. */
    file_set_close(rotator->set, entry);
    return rename_to_next(rotator, entry, &id, err);
}

bool file_rotator_rotate(struct file_rotator *rotator, struct file_entry *entry, struct error *err)
{
    if (!set_aside(rotator, entry, err)) {
        entry->rotate_not_before = plat_monotonic_ns() + rename_again_ns;
        return false;
    }
    rotator->renamed = true;
    add_chore(rotator, span_text(entry->path), entry->next_number++);
    entry->state = FILE_FRESH;
    entry->bytes = 0;
    entry->dirty = true;
    return true;
}

void file_rotator_began(struct file_rotator *rotator, const struct file_entry *entry)
{
    if (rotator->template) {
        add_chore(rotator, span_text(entry->path), 0);
    }
}

/* ---- chores ---------------------------------------------------------------------------------- */

bool file_rotator_has_chores(const struct file_rotator *rotator)
{
    return rotator->first && plat_monotonic_ns() >= rotator->not_before;
}

static void put_off(struct file_rotator *rotator, const struct error *err)
{
    warn(rotator, err);
    file_gzip_destroy(rotator->job);
    rotator->job = NULL;
    rotator->not_before = plat_monotonic_ns() + chores_again_ns;
}

/* Begin to compress the first chore's file. */
static void start_job(struct file_rotator *rotator)
{
    const struct chore *chore = rotator->first;
    struct error err = {0};
    char *path = numbered(chore->path, chore->number, "");
    rotator->job = path ? file_gzip_start(rotator->set->marks, path, strlen(chore->path), &err)
                        : NULL;
    free(path);
    if (rotator->job) {
        return;
    }
    if (err.code == ERR_STOPPED) {
        drop_first(rotator);
    } else if (err.code == ERR_BUSY) {
        warn(rotator, &err);
        drop_first(rotator);
    } else {
        put_off(rotator, &err);
    }
}

void file_rotator_step(struct file_rotator *rotator, size_t bytes)
{
    struct chore *chore = rotator->first;
    struct error err = {0};
    if (!file_rotator_has_chores(rotator)) {
        return;
    }
    if (rotator->job) {
        enum file_gzip_result result = file_gzip_step(rotator->job, bytes, &err);
        if (result == FILE_GZIP_DONE) {
            drop_first(rotator);
        } else if (result == FILE_GZIP_FAILED) {
            put_off(rotator, &err);
        }
        return;
    }
    if (!chore->kept && rotator->rules.keep) {
        chore->kept = true;
        if (!file_keep_newest(rotator->set, rotator->template, chore->path,
                (uint64_t)rotator->rules.keep, &err)) {
            warn(rotator, &err);
        }
    }
    if (chore->number && rotator->rules.gzip) {
        start_job(rotator);
    } else {
        drop_first(rotator);
    }
}

/* ---- checkpoint ------------------------------------------------------------------------------ */

void file_rotator_save(const struct file_rotator *rotator, size_t max_bytes, struct buf *out)
{
    uint8_t bytes[8];
    size_t start = out->size;
    for (const struct chore *chore = rotator->first; chore; chore = chore->next) {
        size_t size = strlen(chore->path);
        if (size > MAX_PATH_BYTES || out->size - start + size + 12 > max_bytes) {
            continue;
        }
        store_le16(bytes, (uint16_t)size);
        buf_add(out, bytes, 2);
        buf_add(out, chore->path, size);
        store_le64(bytes, chore->number);
        buf_add(out, bytes, 8);
    }
    store_le16(bytes, 0);
    buf_add(out, bytes, 2);
}

bool file_rotator_load(struct file_rotator *rotator, struct reader *in,
    bool (*accept)(void *self, struct span path), void *self, struct error *err)
{
    for (size_t size = reader_u16(in); size; size = reader_u16(in)) {
        struct span path = reader_take(in, size);
        uint64_t number = reader_u64(in);
        if (!in->failed && !memchr(path.data, 0, path.size) && accept(self, path)) {
            add_chore(rotator, path, number);
        }
    }
    return !in->failed || error_set(err, ERR_FORMAT, "the checkpoint is damaged");
}
