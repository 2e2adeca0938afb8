#include "outputs/azure_logs/azure_assertion.h"

#include <stdlib.h>

#include "base/guid.h"
#include "base/text/base64.h"
#include "outputs/pem.h"
#include "platform/plat_file.h"
#include "platform/plat_hash.h"
#include "platform/plat_sign.h"
#include "platform/plat_system.h"

enum { MAX_FILE_BYTES = 64 * 1024, MAX_TEXT_BYTES = 64 * 1024, LASTS_SECONDS = 10 * 60 };

/* ---- files ----------------------------------------------------------------------------------- */

/* Load a key or certificate in PEM from ${path} as DER. ${label} names its block; see pem_read. */
static bool load(const char *path, const char *label, struct buf *out, struct error *err)
{
    char *text;
    size_t size;
    if (!plat_file_load(path, MAX_FILE_BYTES, &text, &size, err)) {
        return false;
    }
    bool locked = strstr(text, "-----BEGIN ENCRYPTED PRIVATE KEY-----") != NULL ||
                  strstr(text, "Proc-Type: 4,ENCRYPTED") != NULL;
    bool key = strcmp(label, "CERTIFICATE") != 0;
    bool good = !(key && locked) && pem_read(span_make(text, size), label, out);
    memset(text, 0, size);
    free(text);
    if (key && locked) {
        return error_set(err, ERR_UNSUPPORTED,
            "%s: the key has a password. write it without one, for this program alone: openssl "
            "pkey",
            path);
    }
    return good || error_set(err, ERR_FORMAT, "%s: it contains no %s. write it as PEM", path,
                       key ? "private key" : "certificate");
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Add base64url without padding (RFC 4648, 5). */
static void add_coded(struct buf *out, struct span bytes)
{
    size_t start = out->size;
    base64_write(out, bytes);
    for (size_t i = start; i < out->size; i++) {
        uint8_t c = out->data[i];
        out->data[i] = c == '+' ? '-' : c == '/' ? '_' : c;
    }
    while (out->size > start && out->data[out->size - 1] == '=') {
        out->size--;
    }
}

/* Add a JSON string. ${text} comes from a configuration, so it contains no control characters. */
static void add_string(struct buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            buf_add_byte(out, '\\');
        }
        buf_add_byte(out, (uint8_t)*c);
    }
}

static bool add_head(struct buf *out, struct span certificate, struct error *err)
{
    uint8_t digest[PLAT_HASH_BYTES];
    struct buf head;
    if (!plat_hash_of(certificate, digest, err)) {
        return false;
    }
    buf_init(&head, MAX_TEXT_BYTES);
    buf_add_text(&head, "{\"alg\":\"PS256\",\"typ\":\"JWT\",\"x5t#S256\":\"");
    add_coded(&head, span_make(digest, sizeof(digest)));
    buf_add_text(&head, "\"}");
    add_coded(out, buf_span(&head));
    bool good = !head.failed;
    buf_fini(&head);
    return good || error_set(err, ERR_MEMORY, "out of memory");
}

static bool add_claims(
    struct buf *out, const struct azure_auth *auth, uint64_t now, struct error *err)
{
    struct guid guid;
    char id[GUID_TEXT_SIZE + 1] = "";
    struct buf claims;
    if (!plat_random(guid.bytes, sizeof(guid.bytes), err)) {
        return false;
    }
    guid_write(&guid, id);
    buf_init(&claims, MAX_TEXT_BYTES);
    buf_add_text(&claims, "{\"aud\":\"");
    add_string(&claims, auth->authority);
    buf_printf(&claims, "/%.200s/oauth2/v2.0/token\",\"iss\":\"", auth->tenant);
    add_string(&claims, auth->client_id);
    buf_add_text(&claims, "\",\"sub\":\"");
    add_string(&claims, auth->client_id);
    buf_printf(&claims, "\",\"jti\":\"%.*s\",\"nbf\":", GUID_TEXT_SIZE, id);
    buf_add_u64(&claims, now);
    buf_add_text(&claims, ",\"exp\":");
    buf_add_u64(&claims, now + LASTS_SECONDS);
    buf_add_byte(&claims, '}');
    add_coded(out, buf_span(&claims));
    bool good = !claims.failed;
    buf_fini(&claims);
    return good || error_set(err, ERR_MEMORY, "out of memory");
}

static bool write_signed(const struct azure_auth *auth, uint64_t now, struct span certificate,
    struct span key, struct buf *out, struct error *err)
{
    struct buf signature;
    buf_reset(out);
    if (!add_head(out, certificate, err)) {
        return false;
    }
    buf_add_byte(out, '.');
    if (!add_claims(out, auth, now, err)) {
        return false;
    }
    buf_init(&signature, MAX_TEXT_BYTES);
    bool good = plat_sign_ps256(key, buf_span(out), &signature, err);
    if (good) {
        buf_add_byte(out, '.');
        add_coded(out, buf_span(&signature));
        good = !out->failed || error_set(err, ERR_MEMORY, "out of memory");
    }
    buf_fini(&signature);
    return good;
}

bool azure_assertion_write(
    const struct azure_auth *auth, uint64_t now, struct buf *out, struct error *err)
{
    struct buf certificate;
    struct buf key;
    buf_init(&certificate, MAX_FILE_BYTES);
    buf_init(&key, MAX_FILE_BYTES);
    bool good = load(auth->certificate, "CERTIFICATE", &certificate, err) &&
                load(auth->key ? auth->key : auth->certificate, "PRIVATE KEY", &key, err) &&
                write_signed(auth, now, buf_span(&certificate), buf_span(&key), out, err);
    if (key.size) {
        memset(key.data, 0, key.size);
    }
    buf_fini(&certificate);
    buf_fini(&key);
    return good;
}
