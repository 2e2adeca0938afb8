#include "platform/plat_hash.h"

#include <windows.h>

#include <bcrypt.h>
#include <stdlib.h>
#include <string.h>

#include "platform/windows/plat_cng.h"

struct plat_hash {
    BCRYPT_ALG_HANDLE algorithm;
    BCRYPT_HASH_HANDLE hash; /* reusable: finishing it starts it anew */
    NTSTATUS(WINAPI *open)(BCRYPT_ALG_HANDLE *, LPCWSTR, LPCWSTR, ULONG);
    NTSTATUS(WINAPI *close)(BCRYPT_ALG_HANDLE, ULONG);
    NTSTATUS(WINAPI *create)
    (BCRYPT_ALG_HANDLE, BCRYPT_HASH_HANDLE *, PUCHAR, ULONG, PUCHAR, ULONG, ULONG);
    NTSTATUS(WINAPI *destroy)(BCRYPT_HASH_HANDLE);
    NTSTATUS(WINAPI *add)(BCRYPT_HASH_HANDLE, PUCHAR, ULONG, ULONG);
    NTSTATUS(WINAPI *finish)(BCRYPT_HASH_HANDLE, PUCHAR, ULONG, ULONG);
};

static bool open_hash(struct plat_hash *h, struct error *err)
{
    const struct plat_cng_function functions[] = {{"BCryptOpenAlgorithmProvider", &h->open},
        {"BCryptCloseAlgorithmProvider", &h->close}, {"BCryptCreateHash", &h->create},
        {"BCryptDestroyHash", &h->destroy}, {"BCryptHashData", &h->add},
        {"BCryptFinishHash", &h->finish}};
    if (!plat_cng_find(functions, sizeof(functions) / sizeof(functions[0]), err)) {
        return false;
    }
    NTSTATUS status = h->open(&h->algorithm, L"SHA256", NULL, 0);
    if (status >= 0) {
        status = h->create(h->algorithm, &h->hash, NULL, 0, NULL, 0, BCRYPT_HASH_REUSABLE_FLAG);
    }
    return status >= 0 || error_set_os(err, status, "BCryptCreateHash failed",
                              "CNG has no SHA-256 (0x%08lx)", (unsigned long)status);
}

struct plat_hash *plat_hash_create(struct error *err)
{
    struct plat_hash *hash = calloc(1, sizeof(*hash));
    if (!hash) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    if (!open_hash(hash, err)) {
        plat_hash_destroy(hash);
        return NULL;
    }
    return hash;
}

void plat_hash_destroy(struct plat_hash *hash)
{
    if (hash && hash->hash) {
        hash->destroy(hash->hash);
    }
    if (hash && hash->algorithm) {
        hash->close(hash->algorithm, 0);
    }
    free(hash);
}

static bool add(struct plat_hash *hash, struct span bytes)
{
    for (; bytes.size; bytes = span_from(bytes, 1u << 30)) {
        struct span part = span_first(bytes, 1u << 30);
        if (hash->add(hash->hash, (PUCHAR)(uintptr_t)part.data, (ULONG)part.size, 0) < 0) {
            return false;
        }
    }
    return true;
}

bool plat_hash_pair(struct plat_hash *hash, struct span first, struct span second,
    uint8_t ret_digest[PLAT_HASH_BYTES])
{
    uint8_t digest[PLAT_HASH_BYTES];
    bool good = add(hash, first) && add(hash, second);
    /* Also after a failure, as it makes the object ready for the next digest. */
    good = hash->finish(hash->hash, digest, sizeof(digest), 0) >= 0 && good;
    if (good) {
        memcpy(ret_digest, digest, sizeof(digest));
    }
    return good;
}
