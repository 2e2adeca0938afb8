#include "outputs/file/file_gzip.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"

enum { CHUNK_BYTES = 64 * 1024, LEVEL = 3, WINDOW_BITS = 15, GZIP_FORMAT = 16, MEMORY_LEVEL = 8 };

struct file_gzip {
    struct file_marks *marks;
    size_t base_size;
    char *path;
    char *temp; /* path.gz.tmp */
    char *done; /* path.gz */
    struct plat_file *in;
    struct plat_file *out;
    struct plat_file_id out_id;
    uint64_t at; /* position in the file */
    z_stream stream;
    bool has_stream;
    uint8_t from[CHUNK_BYTES];
    uint8_t to[CHUNK_BYTES];
};

static char *join(const char *a, const char *b)
{
    size_t a_size = strlen(a);
    size_t b_size = strlen(b) + 1;
    char *text = malloc(a_size + b_size);
    if (text) {
        memcpy(text, a, a_size);
        memcpy(text + a_size, b, b_size);
    }
    return text;
}

static void close_files(struct file_gzip *self)
{
    plat_file_close(self->in);
    plat_file_close(self->out);
    self->in = NULL;
    self->out = NULL;
}

void file_gzip_destroy(struct file_gzip *self)
{
    if (!self) {
        return;
    }
    bool unfinished = self->out != NULL;
    close_files(self);
    if (unfinished) {
        plat_path_remove(self->temp, NULL);
    }
    if (self->has_stream) {
        deflateEnd(&self->stream);
    }
    free(self->path);
    free(self->temp);
    free(self->done);
    free(self);
}

static bool is_ours(const struct file_gzip *self, const char *path)
{
    return file_marks_has_at(self->marks, path, self->base_size);
}

static bool fail_foreign(const char *path, const char *plain, struct error *err)
{
    return error_set(err, ERR_BUSY,
        "%s: belongs to another program, so %s is not compressed. rename it", path, plain);
}

/* Remove files of an interrupted run. An empty file was created but not marked. */
static bool clear_temp(struct file_gzip *self, struct error *err)
{
    bool there = false;
    uint64_t bytes = 0;
    bool ours = is_ours(self, self->temp) ||
                (file_marks_is_file(self->temp) &&
                    plat_path_find(self->temp, &there, &bytes, NULL) && there && bytes == 0);
    return !ours || plat_path_remove(self->temp, err);
}

static bool make_temp(struct file_gzip *self, struct error *err)
{
    struct error why = {0};
    if (!clear_temp(self, err)) {
        return false;
    }
    self->out = plat_file_open(self->temp, PLAT_FILE_CREATE_NEW, &why);
    if (!self->out) {
        if (why.code == ERR_BUSY) {
            return fail_foreign(self->temp, self->path, err);
        }
        *err = why;
        return false;
    }
    return plat_file_id(self->out, &self->out_id) &&
           file_marks_add(self->marks, span_text(self->temp), self->base_size, &self->out_id, err);
}

static bool start(struct file_gzip *self, struct error *err)
{
    if (!is_ours(self, self->path)) {
        return error_set(err, ERR_STOPPED, "%s: no longer exists", self->path);
    }
    if (is_ours(self, self->done)) {
        /* It has its final name, so it is complete: only the last step was missing. */
        return plat_path_remove(self->path, err) &&
               error_set(err, ERR_STOPPED, "%s: was compressed already", self->path);
    }
    if (plat_path_kind(self->done) != PLAT_PATH_NONE) {
        return fail_foreign(self->done, self->path, err);
    }
    self->in = plat_file_open(self->path, PLAT_FILE_READ, err);
    if (!self->in || !make_temp(self, err)) {
        return false;
    }
    int result = deflateInit2(&self->stream, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP_FORMAT,
        MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
    self->has_stream = result == Z_OK;
    return self->has_stream || error_set(err, ERR_MEMORY, "out of memory");
}

struct file_gzip *file_gzip_start(
    struct file_marks *marks, const char *path, size_t base_size, struct error *err)
{
    struct file_gzip *self = calloc(1, sizeof(*self));
    if (self) {
        self->marks = marks;
        self->base_size = base_size;
        self->path = join(path, "");
        self->temp = join(path, ".gz.tmp");
        self->done = join(path, ".gz");
    }
    if (!self || !self->path || !self->temp || !self->done) {
        file_gzip_destroy(self);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    if (!start(self, err)) {
        file_gzip_destroy(self);
        return NULL;
    }
    return self;
}

static bool finish(struct file_gzip *self, struct error *err)
{
    if (!plat_file_sync(self->out, err)) {
        return false;
    }
    close_files(self);
    /* Mark it first: a file with the mark and this name is complete. */
    if (!file_marks_add(self->marks, span_text(self->done), self->base_size, &self->out_id, err) ||
        !plat_path_rename_new(self->temp, self->done, err)) {
        plat_path_remove(self->temp, NULL);
        return false;
    }
    file_marks_remove(self->marks, span_text(self->temp));
    if (!plat_path_remove(self->path, err)) {
        return false;
    }
    file_marks_remove(self->marks, span_text(self->path));
    return true;
}

/* Compress what is in `from`; with Z_FINISH also what the stream still holds. */
static bool deflate_chunk(struct file_gzip *self, size_t size, int flush, struct error *err)
{
    self->stream.next_in = self->from;
    self->stream.avail_in = (uInt)size;
    do {
        self->stream.next_out = self->to;
        self->stream.avail_out = sizeof(self->to);
        deflate(&self->stream, flush);
        size_t made = sizeof(self->to) - self->stream.avail_out;
        if (made && !plat_file_write(self->out, span_make(self->to, made), err)) {
            return false;
        }
    } while (self->stream.avail_out == 0);
    return true;
}

enum file_gzip_result file_gzip_step(struct file_gzip *self, size_t bytes, struct error *err)
{
    for (size_t done = 0; done < bytes || done == 0;) {
        size_t got = 0;
        if (!plat_file_read_at(self->in, self->at, self->from, sizeof(self->from), &got, err)) {
            return FILE_GZIP_FAILED;
        }
        bool last = got < sizeof(self->from);
        if (!deflate_chunk(self, got, last ? Z_FINISH : Z_NO_FLUSH, err)) {
            return FILE_GZIP_FAILED;
        }
        if (last) {
            return finish(self, err) ? FILE_GZIP_DONE : FILE_GZIP_FAILED;
        }
        self->at += got;
        done += got;
    }
    return FILE_GZIP_MORE;
}
