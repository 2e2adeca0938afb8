#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "outputs/file/file_rotate.h"

/*
 * A checkpoint of the file output, read from a state file that anyone may have written. Writing the
 * accepted part and reading that again gives the same. No file is touched.
 */
enum { MAX_OUT = 1 << 22 };

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

/* Only some paths are accepted. */
static bool accept(void *self, struct span path)
{
    (void)self;
    check(memchr(path.data, 0, path.size) == NULL && path.size > 0);
    return path.data[0] != '!';
}

static bool take(struct span bytes, struct buf *out)
{
    static const struct file_rotation rules = {.gzip = true};
    struct file_set set;
    struct file_rotator rotator;
    struct error err = {0};
    struct reader in = reader_make(bytes);
    file_set_init(&set, NULL, false);
    file_rotator_init(&rotator, &rules, &set, NULL);
    bool good = file_set_load(&set, &in, accept, NULL, &err);
    check(good || (set.count == 0 && err.text[0] != 0));
    bool chores = good && file_rotator_load(&rotator, &in, accept, NULL, &err);
    check(chores || err.text[0] != 0);
    file_set_save(&set, MAX_OUT / 2, out);
    file_rotator_save(&rotator, MAX_OUT / 2, out);
    file_rotator_fini(&rotator);
    file_set_fini(&set);
    return chores;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf first;
    struct buf second;
    buf_init(&first, MAX_OUT);
    buf_init(&second, MAX_OUT);
    take(span_make(data, size), &first);
    check(take(buf_span(&first), &second));
    check(span_equal(buf_span(&first), buf_span(&second)));
    buf_fini(&first);
    buf_fini(&second);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const paths[] = {"a", "!b", "a/c.ndjson", "a"};
    struct buf seed;
    uint8_t number[8];
    if (index > 4) {
        return 0;
    }
    buf_init(&seed, max);
    buf_add_text(&seed, "EWF1");
    for (size_t list = 0; list < 2; list++) {
        for (size_t i = 0; i < index; i++) {
            store_le16(number, (uint16_t)strlen(paths[i]));
            buf_add(&seed, number, 2);
            buf_add_text(&seed, paths[i]);
            store_le64(number, i + 1);
            for (size_t k = 0; k < (list ? 1 : 3); k++) {
                buf_add(&seed, number, 8);
            }
        }
        store_le16(number, 0);
        buf_add(&seed, number, 2);
    }
    size_t size = seed.size;
    memcpy(out, seed.data, size);
    buf_fini(&seed);
    return size;
}
