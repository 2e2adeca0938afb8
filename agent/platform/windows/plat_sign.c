#include "platform/plat_sign.h"

#include <windows.h>

#include <bcrypt.h>
#include <stdlib.h>

#include "platform/plat_hash.h"
#include "platform/windows/plat_cng.h"

/* ---- keys ------------------------------------------------------------------------------------ */

enum { TAG_INTEGER = 2, TAG_OCTETS = 4, TAG_SEQUENCE = 0x30, MAX_KEY_BYTES = 4096 };

/* Remove the first value from ${der} (DER, X.690, 8.1). False: its tag is not ${tag}, or it is cut
 * short. */
static bool take(struct span *der, uint8_t tag, struct span *ret_value)
{
    if (der->size < 2 || der->data[0] != tag) {
        return false;
    }
    size_t size = der->data[1];
    size_t head = 2;
    if (size & 0x80) {
        size_t digits = size & 0x7f;
        if (digits == 0 || digits > 2 || der->size < 2 + digits) {
            return false;
        }
        size = 0;
        for (size_t i = 0; i < digits; i++) {
            size = size << 8 | der->data[2 + i];
        }
        head += digits;
    }
    if (size > der->size - head) {
        return false;
    }
    *ret_value = span_make(der->data + head, size);
    *der = span_from(*der, head + size);
    return true;
}

/* Take a number, without leading zeros. */
static bool take_number(struct span *der, struct span *ret_number)
{
    if (!take(der, TAG_INTEGER, ret_number)) {
        return false;
    }
    while (ret_number->size && ret_number->data[0] == 0) {
        *ret_number = span_from(*ret_number, 1);
    }
    return true;
}

enum part { EXPONENT, MODULUS, PRIME_1, PRIME_2, PART_COUNT };

/* Parts of an RSAPrivateKey (RFC 8017, A.1.2), which may be in a PrivateKeyInfo (RFC 5208, 5). */
static bool read_key(struct span der, struct span ret_parts[PART_COUNT])
{
    struct span outer;
    struct span number;
    struct span skipped;
    struct span octets;
    if (!take(&der, TAG_SEQUENCE, &outer) || !take_number(&outer, &number)) {
        return false;
    }
    if (take(&outer, TAG_SEQUENCE, &skipped)) {
        if (!take(&outer, TAG_OCTETS, &octets) || !take(&octets, TAG_SEQUENCE, &outer) ||
            !take_number(&outer, &number)) {
            return false;
        }
    }
    return take_number(&outer, &ret_parts[MODULUS]) && take_number(&outer, &ret_parts[EXPONENT]) &&
           take_number(&outer, &skipped) && take_number(&outer, &ret_parts[PRIME_1]) &&
           take_number(&outer, &ret_parts[PRIME_2]) && ret_parts[MODULUS].size >= 128 &&
           ret_parts[EXPONENT].size && ret_parts[PRIME_1].size && ret_parts[PRIME_2].size;
}

/* Write a BCRYPT_RSAPRIVATE_BLOB (bcrypt.h). Returns its size; 0: it does not fit. */
static ULONG write_blob(const struct span parts[PART_COUNT], uint8_t room[MAX_KEY_BYTES])
{
    BCRYPT_RSAKEY_BLOB head = {.Magic = BCRYPT_RSAPRIVATE_MAGIC,
        .BitLength = (ULONG)parts[MODULUS].size * 8,
        .cbPublicExp = (ULONG)parts[EXPONENT].size,
        .cbModulus = (ULONG)parts[MODULUS].size,
        .cbPrime1 = (ULONG)parts[PRIME_1].size,
        .cbPrime2 = (ULONG)parts[PRIME_2].size};
    size_t at = sizeof(head);
    memcpy(room, &head, sizeof(head));
    for (size_t i = 0; i < PART_COUNT; i++) {
        if (parts[i].size > MAX_KEY_BYTES - at) {
            return 0;
        }
        memcpy(room + at, parts[i].data, parts[i].size);
        at += parts[i].size;
    }
    return (ULONG)at;
}

/* ---- signing --------------------------------------------------------------------------------- */

struct cng {
    NTSTATUS(WINAPI *open)(BCRYPT_ALG_HANDLE *, LPCWSTR, LPCWSTR, ULONG);
    NTSTATUS(WINAPI *close)(BCRYPT_ALG_HANDLE, ULONG);
    NTSTATUS(WINAPI *import)
    (BCRYPT_ALG_HANDLE, BCRYPT_KEY_HANDLE, LPCWSTR, BCRYPT_KEY_HANDLE *, PUCHAR, ULONG, ULONG);
    NTSTATUS(WINAPI *destroy)(BCRYPT_KEY_HANDLE);
    NTSTATUS(WINAPI *sign)
    (BCRYPT_KEY_HANDLE, void *, PUCHAR, ULONG, PUCHAR, ULONG, ULONG *, ULONG);
};

static bool load(struct cng *ret, struct error *err)
{
    const struct plat_cng_function functions[] = {{"BCryptOpenAlgorithmProvider", &ret->open},
        {"BCryptCloseAlgorithmProvider", &ret->close}, {"BCryptImportKeyPair", &ret->import},
        {"BCryptDestroyKey", &ret->destroy}, {"BCryptSignHash", &ret->sign}};
    return plat_cng_find(functions, sizeof(functions) / sizeof(functions[0]), err);
}

static bool sign_hash(const struct cng *cng, BCRYPT_KEY_HANDLE key, struct span text,
    struct buf *out, struct error *err)
{
    static const WCHAR hash_name[] = L"SHA256";
    BCRYPT_PSS_PADDING_INFO padding = {.pszAlgId = hash_name, .cbSalt = PLAT_HASH_BYTES};
    uint8_t digest[PLAT_HASH_BYTES];
    ULONG size = 0;
    if (!plat_hash_of(text, digest, err)) {
        return false;
    }
    if (!buf_reserve(out, MAX_KEY_BYTES)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    NTSTATUS status = cng->sign(key, &padding, digest, sizeof(digest), out->data + out->size,
        MAX_KEY_BYTES, &size, BCRYPT_PAD_PSS);
    if (status < 0) {
        return error_set_os(err, status, "BCryptSignHash failed", "the key cannot sign (0x%08lx)",
            (unsigned long)status);
    }
    out->size += size;
    return true;
}

bool plat_sign_ps256(struct span key, struct span text, struct buf *out, struct error *err)
{
    struct cng cng;
    struct span parts[PART_COUNT];
    uint8_t blob[MAX_KEY_BYTES];
    BCRYPT_ALG_HANDLE algorithm = NULL;
    BCRYPT_KEY_HANDLE handle = NULL;
    if (!load(&cng, err)) {
        return false;
    }
    ULONG size = read_key(key, parts) ? write_blob(parts, blob) : 0;
    if (size == 0) {
        SecureZeroMemory(blob, sizeof(blob));
        return error_set(err, ERR_FORMAT, "this is not a readable private key of RSA");
    }
    NTSTATUS status = cng.open(&algorithm, L"RSA", NULL, 0);
    if (status >= 0) {
        status = cng.import(algorithm, NULL, L"RSAPRIVATEBLOB", &handle, blob, size, 0);
    }
    SecureZeroMemory(blob, sizeof(blob));
    bool good = status >= 0 && sign_hash(&cng, handle, text, out, err);
    if (status < 0) {
        error_set_os(err, status, "CNG does not accept the key", "the key cannot be used (0x%08lx)",
            (unsigned long)status);
    }
    if (handle) {
        cng.destroy(handle);
    }
    if (algorithm) {
        cng.close(algorithm, 0);
    }
    return good;
}
