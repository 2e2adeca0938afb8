#ifndef ETWSHIP_TESTS_SUPPORT_UTF_CHECK_H
#define ETWSHIP_TESTS_SUPPORT_UTF_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Compares a UTF engine with the scalar one. No cmocka, so that it also runs where there is none
 * (another architecture under an emulator). Each function returns true, or false with what differed
 * in ${text}. They leave the engine of utf.h changed.
 */
extern const char *const utf_check_engines[];
extern const size_t utf_check_engine_count;

/* Every unit 0 to 0xffff at every place of a 40-unit string, at changing alignments. */
bool utf_check_every_unit(const char *engine, char *text, size_t text_size);

/* Random strings of mixed classes and all lengths to 100 units, from a fixed seed; the same for
 * UTF-8 and for utf16_until_nul. No byte after the bound is written. */
bool utf_check_random(const char *engine, size_t strings, char *text, size_t text_size);

#endif
