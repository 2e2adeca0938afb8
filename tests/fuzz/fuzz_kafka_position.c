#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "outputs/kafka/kafka_position.h"
#include "outputs/kafka/kafka_settings.h"

/* Any bytes as a position in the topic of positions: ids are short, and a position that is read is
 * written to the same bytes. */
struct state {
    struct kafka_position_writer writer;
    size_t count;
};

static bool take(void *self, struct span id)
{
    struct state *state = self;
    if (id.size > 60) {
        abort();
    }
    kafka_position_add(&state->writer, id);
    state->count++;
    return true;
}

static bool count_only(void *self, struct span id)
{
    (void)id;
    (*(size_t *)self)++;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span bytes = span_make(data, size);
    struct span parts[KAFKA_PART_COUNT];
    char topic[KAFKA_TOPIC_MAX_BYTES + 1];
    struct state state = {.count = 0};
    struct buf out;
    uint64_t number = 0;
    uint64_t again = 0;
    size_t count = 0;
    buf_init(&out, 1024 * 1024);
    if (kafka_position_read(bytes, &number, NULL, NULL)) {
        kafka_position_begin(&state.writer, &out, number);
        kafka_position_read(bytes, &number, take, &state);
        if (!kafka_position_read(buf_span(&out), &again, count_only, &count) || again != number ||
            count != state.count) {
            abort();
        }
    }
    kafka_settings_split(bytes, parts, topic);
    if (strlen(topic) > KAFKA_TOPIC_MAX_BYTES || strchr(topic, '/')) {
        abort();
    }
    buf_fini(&out);
    return 0;
}

static const char *const seeds[] = {"etwship 1 1\n000000000000000ab000000000000001f\nN20\n",
    "etwship 1 123456789012345678\n", "etwship 1 7\n0a\n1b\n0\n", "etw|/pc1|/Provider|/3008"};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
