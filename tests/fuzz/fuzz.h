#ifndef ETWSHIP_TESTS_FUZZ_FUZZ_H
#define ETWSHIP_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The target: any bytes, any size. It must not keep ${data}. Broken promises end in abort(). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Optional: inputs to start from, which the target makes itself. Write seed number ${index} (from
 * 0) to ${out}, at most ${max} bytes, and return its size; 0 means that there are no more. The same
 * index gives the same bytes at every call.
 */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max);

/* Optional: how many times slower the target is than others. Where no fuzzer chooses the inputs,
 * that many times fewer are run. */
unsigned fuzz_slowness(void);

#endif
