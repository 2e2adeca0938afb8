#define _GNU_SOURCE

#include "platform/plat_sign.h"

#include <dlfcn.h>

/* Functions of libcrypto (evp.h and x509.h of OpenSSL 1.1.1 and 3). libcurl usually has loaded the library. */
struct crypto {
    void *(*read_key)(void **key, const unsigned char **der, long size);
    void (*free_key)(void *key);
    void *(*new_context)(void);
    void (*free_context)(void *context);
    const void *(*sha256)(void);
    int (*begin)(void *context, void **ret_padding, const void *hash, void *engine, void *key);
    int (*set)(void *padding, const char *name, const char *value);
    int (*sign)(void *context, unsigned char *to, size_t *size, const unsigned char *text,
        size_t text_size);
};

static void *open_library(void)
{
    static const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* The library is never unloaded. */
static bool load(struct crypto *ret, struct error *err)
{
    void *library = open_library();
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"d2i_AutoPrivateKey", &ret->read_key}, {"EVP_PKEY_free", &ret->free_key},
        {"EVP_MD_CTX_new", &ret->new_context}, {"EVP_MD_CTX_free", &ret->free_context},
        {"EVP_sha256", &ret->sha256}, {"EVP_DigestSignInit", &ret->begin},
        {"EVP_PKEY_CTX_ctrl_str", &ret->set}, {"EVP_DigestSign", &ret->sign}};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *found = library ? dlsym(library, functions[i].name) : NULL;
        if (!found) {
            return error_set(err, ERR_UNSUPPORTED,
                "there is no libcrypto of OpenSSL 3 or 1.1.1 on this system, which signs with "
                "certificates. install it");
        }
        memcpy(functions[i].to, &found, sizeof(found));
    }
    return true;
}

static bool sign_with(const struct crypto *crypto, void *context, void *key, struct span text,
    struct buf *out, struct error *err)
{
    void *padding = NULL;
    size_t size = 0;
    bool good = crypto->begin(context, &padding, crypto->sha256(), NULL, key) == 1 &&
                crypto->set(padding, "rsa_padding_mode", "pss") == 1 &&
                crypto->set(padding, "rsa_pss_saltlen", "digest") == 1 &&
                crypto->sign(context, NULL, &size, text.data, text.size) == 1;
    if (good && !buf_reserve(out, size)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (!good || crypto->sign(context, out->data + out->size, &size, text.data, text.size) != 1) {
        return error_set(err, ERR_FORMAT, "the key cannot sign. is it one of RSA?");
    }
    out->size += size;
    return true;
}

bool plat_sign_ps256(struct span key, struct span text, struct buf *out, struct error *err)
{
    struct crypto crypto;
    if (!load(&crypto, err)) {
        return false;
    }
    const unsigned char *der = key.data;
    void *parsed = crypto.read_key(NULL, &der, (long)key.size);
    void *context = parsed ? crypto.new_context() : NULL;
    bool good = false;
    if (context) {
        good = sign_with(&crypto, context, parsed, text, out, err);
    } else {
        error_set(err, ERR_FORMAT, "this is no private key that can be read");
    }
    crypto.free_context(context);
    crypto.free_key(parsed);
    return good;
}
