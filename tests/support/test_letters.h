#ifndef ETWSHIP_TESTS_SUPPORT_TEST_LETTERS_H
#define ETWSHIP_TESTS_SUPPORT_TEST_LETTERS_H

#include "pipeline/deliver/dead_letters.h"
#include "support/test.h"

/* Dead letters in a catalogue at ${path}, which is made. */
static inline struct dead_letters *test_letters_create(const char *path)
{
    struct error err = {0};
    struct catalogue *catalogue = catalogue_create(path, 7, span_text("test"), &err);
    assert_non_null(catalogue);
    assert_true(catalogue_commit(catalogue, &err));
    catalogue_close(catalogue);
    struct dead_letters *letters = dead_letters_catalogue_create(
        &(struct dead_letters_catalogue_settings){.path = path}, &err);
    assert_non_null(letters);
    return letters;
}

#endif
