#include "platform/plat_hash.h"

#include <openssl/evp.h>

/* A struct plat_hash is an EVP_MD_CTX that was started once, so it knows its digest and has its
 * memory. */
static EVP_MD_CTX *context_of(struct plat_hash *hash)
{
    return (EVP_MD_CTX *)hash;
}

struct plat_hash *plat_hash_create(struct error *err)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(context);
        error_set(err, ERR_UNSUPPORTED, "libcrypto has no SHA-256");
        return NULL;
    }
    return (struct plat_hash *)context;
}

void plat_hash_destroy(struct plat_hash *hash)
{
    EVP_MD_CTX_free(context_of(hash));
}

bool plat_hash_pair(struct plat_hash *hash, struct span first, struct span second,
    uint8_t ret_digest[PLAT_HASH_BYTES])
{
    EVP_MD_CTX *context = context_of(hash);
    return EVP_DigestInit_ex(context, NULL, NULL) == 1 &&
           EVP_DigestUpdate(context, first.data, first.size) == 1 &&
           EVP_DigestUpdate(context, second.data, second.size) == 1 &&
           EVP_DigestFinal_ex(context, ret_digest, NULL) == 1;
}
