#ifndef ETWSHIP_TESTS_SUPPORT_SDDL_H
#define ETWSHIP_TESTS_SUPPORT_SDDL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Security descriptors from their text form, SDDL ([MS-DTYP] 2.5.1), as `icacls /save` and Get-Acl
 * write it, for tables of tests: O:, G: and D: with SIDs by letters or as S-1-…, rights by letters
 * or as 0x…, entries of the types A, D, OA, OD, AU, XA, XD, NO_ACCESS_CONTROL for a list that is
 * not there, and ??NN (own to this) for an entry of type NN, hexadecimal. Of a condition no more is
 * kept than that there is one. S: and the group are left out.
 */
enum { SDDL_MAX_BYTES = 4096 };

/* Bytes of the self-relative descriptor in ${out}; 0 if ${text} is no SDDL as above. */
size_t sddl_encode(const char *text, uint8_t out[SDDL_MAX_BYTES]);

/* Bytes of the SID that ${text} begins with (letters or S-1-…), 0 if there is none; ${ret_end} may
 * be NULL. */
size_t sddl_encode_sid(const char *text, uint8_t *out, const char **ret_end);

#endif
