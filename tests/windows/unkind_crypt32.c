/*
 * crypt32.dll for tests under Wine: Wine's own, but revocation errors also stand at Windows' place.
 * Wine 8 reports only in the whole chain's status that a certificate cannot be looked up. Windows
 * reports it also in that of the simple chain, which libcurl reads (its schannel_verify.c).
 */
#include <windows.h>
/* After windows.h, on which it depends. */
#include <wincrypt.h>

typedef BOOL WINAPI get_chain_fn(HCERTCHAINENGINE, PCCERT_CONTEXT, LPFILETIME, HCERTSTORE,
    PCERT_CHAIN_PARA, DWORD, LPVOID, PCCERT_CHAIN_CONTEXT *);

BOOL WINAPI unkind_get_chain(HCERTCHAINENGINE engine, PCCERT_CONTEXT certificate, LPFILETIME time,
    HCERTSTORE store, PCERT_CHAIN_PARA para, DWORD flags, LPVOID reserved,
    PCCERT_CHAIN_CONTEXT *ret_chain)
{
    HMODULE own = GetModuleHandleA("crypt32_b.dll");
    FARPROC found = own ? GetProcAddress(own, "CertGetCertificateChain") : NULL;
    get_chain_fn *get_chain = (get_chain_fn *)(void (*)(void))found;
    if (!get_chain ||
        !get_chain(engine, certificate, time, store, para, flags, reserved, ret_chain)) {
        return FALSE;
    }
    PCERT_SIMPLE_CHAIN first = (*ret_chain)->cChain ? (*ret_chain)->rgpChain[0] : NULL;
    if (first) {
        first->TrustStatus.dwErrorStatus |= (*ret_chain)->TrustStatus.dwErrorStatus;
    }
    return TRUE;
}

BOOL WINAPI main_of_dll(HINSTANCE instance, DWORD reason, LPVOID reserved)
{
    (void)instance;
    (void)reason;
    (void)reserved;
    return TRUE;
}
