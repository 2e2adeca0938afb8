/* import_pfx.exe FILE: put the certificate of a PKCS#12 file without a password, and its key, into
 * CurrentUser\MY, as the dialogues of Windows do, and print its thumbprint. */
#include <stdio.h>
#include <windows.h>
/* After windows.h, on which it depends. */
#include <wincrypt.h>

int main(int argc, char **argv)
{
    static BYTE data[64 * 1024];
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    CRYPT_DATA_BLOB blob = {
        .cbData = file ? (DWORD)fread(data, 1, sizeof(data), file) : 0, .pbData = data};
    HCERTSTORE imported = PFXImportCertStore(&blob, L"", CRYPT_EXPORTABLE | CRYPT_USER_KEYSET);
    HCERTSTORE own = CertOpenStore(
        CERT_STORE_PROV_SYSTEM_W, 0, 0, CERT_SYSTEM_STORE_CURRENT_USER, L"MY");
    PCCERT_CONTEXT found = imported && own ? CertEnumCertificatesInStore(imported, NULL) : NULL;
    BYTE hash[20];
    DWORD size = sizeof(hash);
    if (!found ||
        !CertAddCertificateContextToStore(own, found, CERT_STORE_ADD_REPLACE_EXISTING, NULL) ||
        !CertGetCertificateContextProperty(found, CERT_HASH_PROP_ID, hash, &size)) {
        fprintf(stderr, "error 0x%08lx\n", GetLastError());
        return 1;
    }
    for (DWORD i = 0; i < size; i++) {
        printf("%02X", hash[i]);
    }
    CertCloseStore(own, 0);
    return 0;
}
