#include "fuzz/fuzz.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Runs a fuzz target without libFuzzer, so that every ordinary test run exercises every target, the
 * same way each time. A target is one file:
 *
 *     #include "fuzz/fuzz.h"
 *     int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { ...; return 0; }
 *     size_t fuzz_seed(size_t index, uint8_t *out, size_t max) { ... }    (optional, see fuzz.h)
 *
 * The driver runs, in this order: the empty input; each seed; each seed cut off at every length
 * (long seeds: MAX_CUTS lengths, the first and last ones and an even choice between); mutations of
 * each seed (bit flips, numbers at the edges, bytes inserted, removed, repeated, spliced from
 * another seed), all from a fixed random sequence. Without seeds, it starts from 64 random bytes.
 * Counts and bytes are limited so that a target takes a second or two.
 *
 *     fuzz_x [file...]            also (first) run these files: crashes that libFuzzer found
 *     fuzz_x --write-seeds DIR    write the seeds to DIR/seed-N, a start corpus for libFuzzer, and
 *                                 end
 *     ETWSHIP_FUZZ_ROUNDS=n       n times as many mutations (default 1)
 *
 * Each input is a heap block of its exact size, so that AddressSanitizer sees reads beyond the end.
 * When the target crashes, its input is written to ./crash-replay-<run>, and the name is printed.
 */
enum {
    MAX_INPUT_BYTES = 1 << 18,
    MAX_SEEDS = 1024,
    MAX_CUTS = 2048,               /* per seed */
    MAX_CUT_BYTES = 32 << 20,      /* per program */
    MUTATIONS = 4000,              /* per program and round */
    MAX_MUTATION_BYTES = 32 << 20, /* per program and round */
    CRASH_FILE_SIZE = 64,
};

/* Absent unless the target, or the sanitizer's runtime, defines them. */
#pragma weak fuzz_seed
#pragma weak fuzz_slowness
#pragma weak __sanitizer_set_death_callback
void __sanitizer_set_death_callback(void (*callback)(void));

struct seeds {
    uint8_t *bytes[MAX_SEEDS];
    size_t sizes[MAX_SEEDS];
    size_t count;
};

static struct seeds seeds;
static uint64_t random_state = 0x9e3779b97f4a7c15;
static const uint8_t *current;
static size_t current_size;
static unsigned long runs;

/* xorshift64* (Marsaglia 2003, Vigna 2014): the same sequence everywhere. */
static uint64_t random_next(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1d;
}

static size_t random_below(size_t bound)
{
    return bound ? (size_t)((random_next() >> 11) % bound) : 0;
}

static void save_crash(void)
{
    char name[CRASH_FILE_SIZE];
    snprintf(name, sizeof(name), "crash-replay-%lu", runs);
    FILE *file = fopen(name, "wb");
    if (file) {
        fwrite(current, 1, current_size, file);
        fclose(file);
    }
    fprintf(stderr, "replay: run %lu failed with %zu bytes, see %s\n", runs, current_size, name);
}

static void on_signal(int number)
{
    signal(number, SIG_DFL);
    save_crash();
    raise(number);
}

static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        fprintf(stderr, "replay: no memory\n");
        exit(2);
    }
    if (size) {
        memcpy(copy, data, size);
    }
    current = copy;
    current_size = size;
    runs++;
    LLVMFuzzerTestOneInput(copy, size);
    current = NULL;
    current_size = 0;
    free(copy);
}

static void seeds_add(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size);
    if (!copy) {
        fprintf(stderr, "replay: no memory\n");
        exit(2);
    }
    memcpy(copy, data, size);
    seeds.bytes[seeds.count] = copy;
    seeds.sizes[seeds.count] = size;
    seeds.count++;
}

static void seeds_collect(uint8_t *scratch)
{
    while (fuzz_seed && seeds.count < MAX_SEEDS) {
        size_t size = fuzz_seed(seeds.count, scratch, MAX_INPUT_BYTES);
        if (size == 0) {
            break;
        }
        if (size > MAX_INPUT_BYTES) {
            fprintf(stderr, "replay: seed %zu is beyond its maximum\n", seeds.count);
            exit(2);
        }
        seeds_add(scratch, size);
    }
    if (seeds.count == 0) {
        for (size_t i = 0; i < 64; i++) {
            scratch[i] = (uint8_t)random_next();
        }
        seeds_add(scratch, 64);
    }
}

static int seeds_write(const char *folder)
{
    for (size_t i = 0; i < seeds.count; i++) {
        char name[1024];
        snprintf(name, sizeof(name), "%s/seed-%zu", folder, i);
        FILE *file = fopen(name, "wb");
        if (!file || fwrite(seeds.bytes[i], 1, seeds.sizes[i], file) != seeds.sizes[i]) {
            perror(name);
            return 2;
        }
        fclose(file);
    }
    return 0;
}

static size_t slowness(void)
{
    return fuzz_slowness ? fuzz_slowness() : 1;
}

static void run_cuts(const uint8_t *data, size_t size, size_t *budget)
{
    size_t near = MAX_CUTS / 4;
    size_t step = size > MAX_CUTS ? (size - 2 * near) / (2 * near) : 1;
    for (size_t cut = 0; cut < size && cut <= *budget;) {
        run(data, cut);
        *budget -= cut;
        bool between = cut >= near && cut + near < size;
        cut += (between && step > 1 ? step : 1) * slowness();
    }
}

/* Make room for ${more} bytes at ${at}; false if the input is as long as it may be. */
static bool open_gap(uint8_t *data, size_t *size, size_t at, size_t more)
{
    if (more > MAX_INPUT_BYTES - *size) {
        return false;
    }
    memmove(data + at + more, data + at, *size - at);
    *size += more;
    return true;
}

/* Numbers where length and offset arithmetic breaks, little-endian. */
static void put_edge(uint8_t *data, size_t size)
{
    static const uint64_t edges[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 0x47, 0x48, 0x7f, 0x80, 0xff,
        0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
        0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffff8, 0xffffffffffffffff};
    uint64_t value = edges[random_below(sizeof(edges) / sizeof(edges[0]))];
    size_t width = (size_t)1 << random_below(4);
    size_t at = random_below(size);
    for (size_t i = 0; i < width && at + i < size; i++) {
        data[at + i] = (uint8_t)(value >> (8 * i));
    }
}

static size_t mutate_once(uint8_t *data, size_t size)
{
    size_t at = random_below(size + 1);
    size_t length = 1 + random_below(random_below(8) ? 8 : 256);
    size_t left = size - at < length ? size - at : length;
    const struct seeds *all = &seeds;
    size_t other = random_below(all->count);
    size_t from = random_below(all->sizes[other]);

    switch (size ? random_below(8) : 3) {
    case 0: /* flip a bit */
        data[random_below(size)] ^= (uint8_t)(1u << random_below(8));
        break;
    case 1: /* any byte */
        data[random_below(size)] = (uint8_t)random_next();
        break;
    case 2: /* up or down by a little */
        data[random_below(size)] += (uint8_t)(random_below(17) - 8);
        break;
    case 3: /* insert */
        if (open_gap(data, &size, at, length)) {
            memset(data + at, (int)(random_next() & 0xff), length);
        }
        break;
    case 4: /* remove */
        memmove(data + at, data + at + left, size - at - left);
        size -= left;
        break;
    case 5: /* repeat */
        if (left && open_gap(data, &size, at, left)) {
            memcpy(data + at, data + at + left, left);
        }
        break;
    case 6: /* splice in a piece of a seed */
        if (length > all->sizes[other] - from) {
            length = all->sizes[other] - from;
        }
        if (open_gap(data, &size, at, length)) {
            memcpy(data + at, all->bytes[other] + from, length);
        }
        break;
    default:
        put_edge(data, size);
        break;
    }
    return size;
}

static void run_mutations(uint8_t *scratch, unsigned long rounds)
{
    for (unsigned long round = 0; round < rounds; round++) {
        size_t budget = MAX_MUTATION_BYTES;
        for (size_t i = 0; i < MUTATIONS / slowness(); i++) {
            size_t seed = i % seeds.count;
            size_t size = seeds.sizes[seed];
            memcpy(scratch, seeds.bytes[seed], size);
            for (size_t steps = 1 + random_below(8); steps > 0; steps--) {
                size = mutate_once(scratch, size);
            }
            if (size > budget) {
                break;
            }
            budget -= size;
            run(scratch, size);
        }
    }
}

static int run_file(const char *name, uint8_t *scratch)
{
    FILE *file = fopen(name, "rb");
    if (!file) {
        perror(name);
        return 2;
    }
    size_t size = fread(scratch, 1, MAX_INPUT_BYTES, file);
    fclose(file);
    run(scratch, size);
    return 0;
}

int main(int argc, char **argv)
{
    static uint8_t scratch[MAX_INPUT_BYTES];
    const char *text = getenv("ETWSHIP_FUZZ_ROUNDS");
    unsigned long rounds = text ? strtoul(text, NULL, 10) : 1;

    seeds_collect(scratch);
    if (argc == 3 && strcmp(argv[1], "--write-seeds") == 0) {
        return seeds_write(argv[2]);
    }
    signal(SIGABRT, on_signal);
    signal(SIGFPE, on_signal);
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(save_crash);
    } else {
        signal(SIGSEGV, on_signal);
    }
    for (int i = 1; i < argc; i++) {
        if (run_file(argv[i], scratch) != 0) {
            return 2;
        }
    }
    run(scratch, 0);
    size_t cut_budget = MAX_CUT_BYTES;
    for (size_t i = 0; i < seeds.count; i++) {
        run(seeds.bytes[i], seeds.sizes[i]);
        run_cuts(seeds.bytes[i], seeds.sizes[i], &cut_budget);
    }
    run_mutations(scratch, rounds);
    printf("%lu runs from %zu seeds\n", runs, seeds.count);
    for (size_t i = 0; i < seeds.count; i++) {
        free(seeds.bytes[i]);
    }
    return 0;
}
