#include "store/catalogue/epochs.h"

#include "base/bytes.h"
#include "platform/plat_system.h"

enum { EPOCH_BYTES = 8 };

bool epochs_draw(uint64_t *ret_epoch, struct error *err)
{
    bool ok;
    do {
        ok = plat_random(ret_epoch, sizeof(*ret_epoch), err);
    } while (ok && *ret_epoch == 0);
    return ok;
}

void epochs_add(struct epochs *epochs, uint64_t epoch)
{
    size_t kept = epochs->size;
    if (kept + EPOCH_BYTES > sizeof(epochs->bytes)) {
        kept = sizeof(epochs->bytes) - EPOCH_BYTES;
    }
    memmove(epochs->bytes + EPOCH_BYTES, epochs->bytes, kept);
    store_le64(epochs->bytes, epoch);
    epochs->size = kept + EPOCH_BYTES;
}

bool epochs_has(struct span epochs, uint64_t epoch)
{
    for (size_t at = 0; at + EPOCH_BYTES <= epochs.size; at += EPOCH_BYTES) {
        if (load_le64(epochs.data + at) == epoch) {
            return true;
        }
    }
    return false;
}
