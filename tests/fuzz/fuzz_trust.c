#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "support/sddl.h"
#include "trust/descriptor.h"
#include "trust/reparse.h"

/* Security descriptors and links of Windows. A verdict names an account exactly if that account may
 * do harm. A folder is trusted only if a file, and a folder on the way, with its descriptor would
 * be. */
static struct trust_verdict judge(struct span bytes, enum trust_use use)
{
    struct trust_verdict verdict;
    descriptor_judge(bytes, use, NULL, &verdict);
    bool is_named = verdict.party == TRUST_SID || verdict.party == TRUST_ALL;
    if (is_named != (verdict.harms != 0) || verdict.party == TRUST_USER ||
        verdict.party == TRUST_GROUP) {
        abort();
    }
    if (verdict.party == TRUST_SID && sid_is_trusted(&verdict.sid, NULL)) {
        abort();
    }
    return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span bytes = span_make(data, size);
    struct buf target;
    bool root = judge(bytes, TRUST_ROOT).party == TRUST_NONE;
    bool way = judge(bytes, TRUST_WAY).party == TRUST_NONE;
    bool file = judge(bytes, TRUST_FILE).party == TRUST_NONE;
    bool folder = judge(bytes, TRUST_FOLDER).party == TRUST_NONE;
    if ((folder && !(file && way)) || (way && !root)) {
        abort();
    }
    buf_init(&target, 1024);
    enum reparse_kind kind = reparse_read(bytes, &target);
    if (kind == REPARSE_LINK && !target.size) {
        abort();
    }
    buf_fini(&target);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const seeds[] = {
        "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;CI;DCLCRPCR;;;BU)",
        "O:TID:(D;;FA;;;WD)(A;;LC;;;AU)(A;OICIIO;SDGXGWGR;;;AU)(A;;FA;;;U1)",
        "O:BAD:(OA;;FW;bf967aba-0de6-11d0-a285-00aa003049e2;;BU)(XA;;FW;;;BU;(a))(D;OICI;GA;;;BU)",
        "O:U1",
    };
    static const uint8_t link[] = {0x0c, 0, 0, 0xa0, 20, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0,
        0, '.', 0, '.', 0, '\\', 0, 'b', 0};
    uint8_t bytes[SDDL_MAX_BYTES];
    size_t size = sizeof(link);
    if (index < sizeof(seeds) / sizeof(seeds[0])) {
        size = sddl_encode(seeds[index], bytes);
    } else if (index == sizeof(seeds) / sizeof(seeds[0])) {
        memcpy(bytes, link, sizeof(link));
    } else {
        return 0;
    }
    if (size > max) {
        return 0;
    }
    memcpy(out, bytes, size);
    return size;
}
