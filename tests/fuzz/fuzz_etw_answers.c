#include <stdlib.h>

#include "etw/enable/etw_registrations.h"
#include "etw/etw_api.h"
#include "etw/session/etw_block.h"
#include "etw/session/etw_kernel.h"
#include "fuzz/fuzz.h"

/* Any bytes as answers of Windows, or of a library in its place: they are read within their
 * bounds. */
static struct span answer;

static uint32_t give(void *out, uint32_t out_bytes, uint32_t *ret_bytes)
{
    *ret_bytes = (uint32_t)answer.size;
    if (out_bytes < answer.size) {
        return ETW_ERROR_INSUFFICIENT_BUFFER;
    }
    if (answer.size) {
        memcpy(out, answer.data, answer.size);
    }
    return ETW_SUCCESS;
}

static uint32_t enumerate(uint32_t info_class, void *in, uint32_t in_bytes, void *out,
    uint32_t out_bytes, uint32_t *ret_bytes)
{
    (void)info_class;
    (void)in;
    (void)in_bytes;
    return give(out, out_bytes, ret_bytes);
}

static uint32_t query(
    uint64_t session, uint32_t info_class, void *out, uint32_t out_bytes, uint32_t *ret_bytes)
{
    (void)session;
    (void)info_class;
    return give(out, out_bytes, ret_bytes);
}

static void promise(bool kept)
{
    if (!kept) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct etw_api api = {
        .EnumerateTraceGuidsEx = enumerate, .TraceQueryInformation = query};
    static struct etw_session_state session;
    static struct etw_block block;
    struct guid provider = {{1}};
    struct etw_profile_source sources[8];
    struct etw_registrations found;
    struct etw_provider_enabled enabled;
    struct guid *guids;
    size_t count;
    answer = span_make(data, size);
    etw_api_use(&api);
    if (etw_registrations_query(&provider, &found, NULL)) {
        promise(found.hold_count <= ETW_MAX_HOLDS);
    }
    if (etw_registrations_query_session(&provider, 1, &enabled, NULL)) {
        promise(enabled.entries || enabled.any == 0);
    }
    if (etw_registrations_list(&guids, &count, NULL)) {
        promise(count == size / 16);
        free(guids);
    }
    if (etw_kernel_profile_sources(sources, 8, &count, NULL)) {
        promise(count <= 8);
        for (size_t i = 0; i < count; i++) {
            promise(memchr(sources[i].name, '\0', sizeof(sources[i].name)) != NULL);
        }
    }
    memset(&block, 0xff, sizeof(block));
    if (size) {
        memcpy(&block, data, size < sizeof(block) ? size : sizeof(block));
    }
    etw_block_read(&block, &session);
    promise(memchr(session.name, '\0', sizeof(session.name)) != NULL);
    promise(memchr(session.file, '\0', sizeof(session.file)) != NULL);
    etw_api_use(NULL);
    return 0;
}

/* Two instances, one with a session; two counters; a block. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const uint32_t instances[] = {
        2, 0, 48, 1, 880, 0, 1, 0x00210005, 0x81, 0, 0x40, 0, 7, 0, 0, 0, 4, 1};
    static const uint32_t counters[] = {28, 1, 4096, 65536, 0, 0, 'T', 0, 19, 1, 2, 0, 0, 'X'};
    static struct etw_block block;
    const void *seeds[] = {instances, counters, &block};
    const size_t sizes[] = {sizeof(instances), sizeof(counters), 400};
    if (index >= 3 || sizes[index] > max) {
        return 0;
    }
    etw_block_init(&block, 2);
    memcpy(out, seeds[index], sizes[index]);
    return sizes[index];
}
