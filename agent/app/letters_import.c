#include "app/letters_import.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/data_folder.h"
#include "pipeline/dead_letters.h"
#include "pipeline/grow.h"
#include "platform/plat_file.h"
#include "store/catalogue_letters.h"
#include "store/catalogue_sources.h"
#include "store/letter_files.h"
#include "store/store.h"

/*
 * In one transaction: the letters, and the number of the last one, as the state of a session with a name
 * that none has. Whoever finds letters up to that one, because a crash kept them from being removed, knows
 * that they are in the catalogue. When they are gone it is forgotten: a folder that somebody has removed
 * numbers its letters from the beginning.
 */
static const char mark_name[] = "/letters";

struct import {
    struct catalogue *catalogue;
    uint64_t mark; /* letters up to this one are there */
    uint64_t last;
    uint64_t count;
    uint64_t *ids; /* of all that are to be removed */
    size_t id_count;
    size_t id_capacity;
    char files[DATA_FOLDER_PATH_BYTES]; /* the folder of letter files */
    struct error *err;
    bool ok;
};

static bool add_id(struct import *import, uint64_t id)
{
    uint64_t *ids = grow_list(import->ids, import->id_count, &import->id_capacity, sizeof(*ids));
    if (!ids) {
        return error_set(import->err, ERR_MEMORY, "out of memory");
    }
    import->ids = ids;
    ids[import->id_count++] = id;
    return true;
}

static bool take(void *self, const struct dead_letter *letter)
{
    struct import *import = self;
    const struct catalogue_letter row = dead_letters_catalogue_row(letter);
    const struct catalogue_letters_room room = {
        .max_bytes = DEAD_LETTERS_CATALOGUE_MAX_BYTES, .waits = true};
    import->ok = add_id(import, letter->id);
    if (import->ok && letter->id > import->mark) {
        import->ok = catalogue_put_letters(import->catalogue, &row, 1, &room, NULL, import->err);
        import->last = letter->id;
        import->count += import->ok;
    }
    return import->ok;
}

static bool read_mark(struct import *import)
{
    struct buf text;
    uint64_t live;
    buf_init(&text, 64);
    bool ok = catalogue_find_session(
        import->catalogue, span_text(mark_name), &text, &live, import->err);
    buf_add_byte(&text, 0);
    ok = ok && (!text.failed || error_set(import->err, ERR_DAMAGED, "a mark of letters is wrong"));
    import->mark = ok ? strtoull((const char *)text.data, NULL, 10) : 0;
    import->last = import->mark;
    buf_fini(&text);
    return ok;
}

static bool write_mark(struct import *import)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)import->last);
    return catalogue_put_state(
        import->catalogue, span_text(mark_name), span_text(text), import->err);
}

static bool take_all(struct import *import, struct dead_letters *letters)
{
    bool ok = catalogue_begin(import->catalogue, import->err) && read_mark(import) &&
              letters->ops->each(letters, take, import, import->err) && import->ok &&
              write_mark(import) && catalogue_commit(import->catalogue, import->err);
    if (!ok) {
        catalogue_rollback(import->catalogue);
    }
    return ok;
}

/* The second copy that letters in a catalogue have. */
static bool copy_to_files(struct import *import)
{
    bool ok = import->count == 0 ||
              (catalogue_begin(import->catalogue, import->err) &&
                  letter_files_rewrite(import->files, import->catalogue, import->err));
    catalogue_rollback(import->catalogue);
    return ok;
}

static bool forget_mark(struct import *import)
{
    bool ok = catalogue_begin(import->catalogue, import->err) &&
              catalogue_remove_session(import->catalogue, span_text(mark_name), import->err) &&
              catalogue_commit(import->catalogue, import->err);
    if (!ok) {
        catalogue_rollback(import->catalogue);
    }
    return ok;
}

static bool run(struct import *import, struct dead_letters *letters)
{
    uint64_t removed;
    return take_all(import, letters) && copy_to_files(import) &&
           (import->id_count == 0 || letters->ops->remove(letters, import->ids, import->id_count,
                                         &removed, import->err)) &&
           forget_mark(import);
}

bool letters_import(const char *data_dir, uint64_t *ret_count, struct error *err)
{
    char folder[DATA_FOLDER_PATH_BYTES];
    char path[DATA_FOLDER_PATH_BYTES];
    struct import import = {.err = err, .ok = true};
    if (!data_folder_path(data_dir, "dead_letters", folder, err) ||
        !data_folder_path(data_dir, "spool/" STORE_LETTERS_FOLDER, import.files, err) ||
        !data_folder_path(data_dir, "spool/catalogue.db", path, err)) {
        return false;
    }
    *ret_count = 0;
    if (plat_path_kind(folder) == PLAT_PATH_NONE) {
        return true;
    }
    const struct dead_letters_folder_settings settings = {.folder = folder};
    struct dead_letters *letters = dead_letters_folder_create(&settings, err);
    import.catalogue = letters ? catalogue_open_beside(path, err) : NULL;
    bool ok = import.catalogue && run(&import, letters);
    catalogue_close(import.catalogue);
    dead_letters_destroy(letters);
    free(import.ids);
    *ret_count = import.count;
    return ok;
}
