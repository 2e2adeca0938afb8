#include "platform/plat_revocation.h"

#include <windows.h>
/* After windows.h, on which it depends. */
#include <wincrypt.h>

#include "platform/windows/plat_wide.h"

/* Found at run time: crypt32.dll is not one of the "known DLLs", so Windows would first search the
 * program's folder. */
struct crypt32 {
    HCERTSTORE(WINAPI *open_store)(LPCSTR, DWORD, HCRYPTPROV_LEGACY, DWORD, const void *);
    BOOL(WINAPI *close_store)(HCERTSTORE, DWORD);
    BOOL(WINAPI *add)(HCERTSTORE, DWORD, const BYTE *, DWORD, DWORD, PCCERT_CONTEXT *);
    BOOL(WINAPI *free_certificate)(PCCERT_CONTEXT);
    BOOL(WINAPI *get_chain)
    (HCERTCHAINENGINE, PCCERT_CONTEXT, LPFILETIME, HCERTSTORE, PCERT_CHAIN_PARA, DWORD, LPVOID,
        PCCERT_CHAIN_CONTEXT *);
    void(WINAPI *free_chain)(PCCERT_CHAIN_CONTEXT);
};

static bool load(struct crypt32 *ret, struct error *err)
{
    const struct {
        const char *name;
        void *to;
    } wanted[] = {
        {"CertOpenStore", &ret->open_store},
        {"CertCloseStore", &ret->close_store},
        {"CertAddEncodedCertificateToStore", &ret->add},
        {"CertFreeCertificateContext", &ret->free_certificate},
        {"CertGetCertificateChain", &ret->get_chain},
        {"CertFreeCertificateChain", &ret->free_chain},
    };
    HMODULE library = LoadLibraryExW(L"crypt32.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        FARPROC found = library ? GetProcAddress(library, wanted[i].name) : NULL;
        if (!found) {
            return plat_wide_error(err, GetLastError(), wanted[i].name, "is missing");
        }
        memcpy(wanted[i].to, &found, sizeof(found));
    }
    return true;
}

static bool add(const struct crypt32 *api, HCERTSTORE store, struct span der, PCCERT_CONTEXT *ret)
{
    return api->add(
        store, X509_ASN_ENCODING, der.data, (DWORD)der.size, CERT_STORE_ADD_ALWAYS, ret);
}

/* Query the chain that starts with ${certificate}; its issuer is in ${store}. */
static bool ask(const struct crypt32 *api, HCERTSTORE store, PCCERT_CONTEXT certificate,
    struct plat_revocation *ret)
{
    CERT_CHAIN_PARA how = {.cbSize = sizeof(how)};
    PCCERT_CHAIN_CONTEXT chain = NULL;
    if (!api->get_chain(NULL, certificate, NULL, store, &how, CERT_CHAIN_REVOCATION_CHECK_CHAIN,
            NULL, &chain)) {
        return false;
    }
    ret->whole_chain = chain->TrustStatus.dwErrorStatus;
    ret->simple_chain = chain->cChain ? chain->rgpChain[0]->TrustStatus.dwErrorStatus : 0;
    api->free_chain(chain);
    return true;
}

bool plat_revocation_ask(struct span certificate, struct span issuer,
    struct plat_revocation *ret_revocation, struct error *err)
{
    struct crypt32 api;
    PCCERT_CONTEXT leaf = NULL;
    *ret_revocation = (struct plat_revocation){.whole_chain = 0};
    if (!load(&api, err)) {
        return false;
    }
    HCERTSTORE store = api.open_store(CERT_STORE_PROV_MEMORY, 0, 0, 0, NULL);
    bool good = store && add(&api, store, certificate, &leaf) && add(&api, store, issuer, NULL) &&
                ask(&api, store, leaf, ret_revocation);
    DWORD code = GetLastError();
    if (leaf) {
        api.free_certificate(leaf);
    }
    if (store) {
        api.close_store(store, 0);
    }
    return good || plat_wide_error(err, code, "a certificate", "cannot be checked");
}
