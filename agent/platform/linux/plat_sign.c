#include "platform/plat_sign.h"

#include <openssl/evp.h>
#include <openssl/rsa.h>

static bool sign_with(
    EVP_MD_CTX *context, EVP_PKEY *key, struct span text, struct buf *out, struct error *err)
{
    EVP_PKEY_CTX *padding = NULL; /* belongs to the context */
    size_t size = 0;
    bool good = EVP_DigestSignInit(context, &padding, EVP_sha256(), NULL, key) == 1 &&
                EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) == 1 &&
                EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, RSA_PSS_SALTLEN_DIGEST) == 1 &&
                EVP_DigestSign(context, NULL, &size, text.data, text.size) == 1;
    if (good && !buf_reserve(out, size)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (!good || EVP_DigestSign(context, out->data + out->size, &size, text.data, text.size) != 1) {
        return error_set(err, ERR_FORMAT, "the key cannot sign. use an RSA key");
    }
    out->size += size;
    return true;
}

bool plat_sign_ps256(struct span key, struct span text, struct buf *out, struct error *err)
{
    const unsigned char *der = key.data;
    EVP_PKEY *parsed = d2i_AutoPrivateKey(NULL, &der, (long)key.size);
    EVP_MD_CTX *context = parsed ? EVP_MD_CTX_new() : NULL;
    bool good = false;
    if (context) {
        good = sign_with(context, parsed, text, out, err);
    } else {
        error_set(err, ERR_FORMAT, "this is not a readable private key");
    }
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(parsed);
    return good;
}
