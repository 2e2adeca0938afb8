#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "outputs/relp/relp_frame.h"

/* Any bytes as a receiver's answer. Frames lie within the bytes. Invalid bytes stay invalid however
 * many follow, and a frame stays the same frame when more bytes follow. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span bytes = span_make(data, size);
    bool was_frame = false;
    for (size_t end = 0; end <= size && end < 64; end++) {
        struct relp_frame frame;
        size_t used = 0;
        enum relp_read state = relp_frame_read(span_first(bytes, end), &frame, &used);
        if (state == RELP_FRAME && (used == 0 || used > end || frame.data.size > used)) {
            abort();
        }
        if (was_frame && state != RELP_FRAME) {
            abort();
        }
        was_frame = state == RELP_FRAME;
    }
    for (size_t at = 0; at < size;) {
        struct relp_frame frame;
        size_t used = 0;
        if (relp_frame_read(span_from(bytes, at), &frame, &used) != RELP_FRAME) {
            break;
        }
        relp_frame_offers(frame.data, "syslog");
        if (relp_frame_code(frame.data) < 0 || relp_frame_code(frame.data) > 999) {
            abort();
        }
        at += used;
    }
    return 0;
}

static const char *const seeds[] = {"2 rsp 6 200 OK\n3 rsp 6 200 OK\n0 serverclose 0\n",
    "1 rsp 60 200 OK\nrelp_version=0\nrelp_software=librelp\ncommands=syslog,eventlog\n",
    "1 rsp 0\n2 rsp 0 \n", "999999999 rsp 3 500\n"};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
