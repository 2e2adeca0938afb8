#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "support/etw_sim/sim_world_parse.h"

/* Any text is a world or an error that says where. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct error err = {0};
    struct sim_world_item *first = NULL;
    arena_init(&arena, 1 << 20);
    bool ok = sim_world_parse(span_make(data, size), "w", &arena, &first, &err);
    if (!ok && strncmp(err.text, "w:", 2) != 0) {
        abort();
    }
    size_t texts = 0;
    for (; ok && first; first = first->next) {
        texts += first->name ? strlen(first->name) : 0;
        texts += first->path ? strlen(first->path) : 0;
    }
    if (texts > size) {
        abort();
    }
    arena_fini(&arena);
    return 0;
}

static const char *const seeds[] = {
    "# a world\nprocessors 4\nwindows 0x4f7c\nlogger 10\nown 12 \"a b.exe\"\nnot_administrator\n"
    "no_profile_privilege\nschemas a.man\nlearn b.etl\r\nnames c.tsv\n"
    "provider P guid {1C95126E-7EEA-49A9-A3FE-A378B03DDB4D} kind classic pid 4 kernel error 5\n"
    "provider Q kind tracelogging unregistered\nemit * d.etl rate 10 rounds 2\n"
    "session S guid 1c95126e-7eea-49a9-a3fe-a378b03ddb4d mode 0x100 buffer 64 flags 1 clock 2 "
    "control_error 5 open_error 5\nprocess 4 System package P app A\n",
    "session\n",
    "provider \"open\n",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
