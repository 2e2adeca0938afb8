#ifndef ETWSHIP_TESTS_SUPPORT_PDB_PUT_H
#define ETWSHIP_TESTS_SUPPORT_PDB_PUT_H

#include "base/buf.h"

/*
 * PDB files with annotations and little else: "The MSF File Format", "The PDB DBI Stream" and "The
 * Module Information Stream" in the documentation of LLVM.
 */

/* A container of ${count} streams, whose blocks stand in the file in the opposite order. A stream
 * with a NULL pointer does not exist. */
void pdb_put_msf(struct buf *out, uint32_t block_size, const struct span *streams, size_t count);

struct pdb_put_module {
    const char *name;
    struct span symbols; /* with the signature; NULL: it has no stream */
    uint32_t claimed;    /* bytes that the list of modules tells of them; 0: their size */
    uint16_t stream;     /* that it tells; 0: the one of these symbols */
};

struct pdb_put_options {
    uint32_t block_size; /* 0: 512 */
    bool is_fastlink;
    bool is_stripped;
};

enum { PDB_PUT_MAX_MODULES = 16, PDB_PUT_FIRST_MODULE = 5 /* its stream */ };

void pdb_put(struct buf *out, const struct pdb_put_options *options,
    const struct pdb_put_module *modules, size_t count);

/* What the symbols of a module begin with. */
void pdb_put_signature(struct buf *symbols);

/* Records: a function, an annotation of ${count} strings, any other of that kind. */
void pdb_put_function(struct buf *symbols, const char *name);
void pdb_put_annotation(struct buf *symbols, const char *const *strings, size_t count);
void pdb_put_record(struct buf *symbols, uint16_t kind, struct span data);

#endif
