#ifndef ETWSHIP_SCHEMA_PDB_H
#define ETWSHIP_SCHEMA_PDB_H

#include "schema/msf.h"

/*
 * The annotations in a program's symbols (PDB): lists of strings that the source code has there with
 * `__annotation`. The WPP preprocessor puts all that it knows into some:
 *
 *   "TMF:", "a5bbbdd9-73f9-3bed-93aa-521a4c96d934 driver // SRC=main.c MJ= MN=",
 *       "#typev main_c31 10 \"%0value=0x%10!x!\" //   LEVEL=TRACE_LEVEL_ERROR FLAGS=F", "{",
 *       "value, ItemLong -- 10", "}"
 *   "TMC:", "d58c126f-b309-11d1-969e-0000f875a5bc", "ControlName", "FLAG_OF_BIT_0", "FLAG_OF_BIT_1"
 *
 * each possibly with one more behind it, "PUBLIC_TMF:", for symbols that others may have. The function
 * of a message is the one that its annotation stands in.
 *
 * "The PDB DBI Stream", "The Module Information Stream" and "CodeView Symbol Records" in the
 * documentation of LLVM (llvm.org/docs/PDB); ANNOTATIONSYM and PROCSYM32 in cvinfo.h of the
 * microsoft-pdb sources.
 */
enum {
    PDB_MAX_STRINGS = 512,    /* of an annotation */
    PDB_MAX_WARNINGS = 20,    /* of one file; then only how many more there were */
    PDB_MAX_NAME_BYTES = 4095 /* of a function; what is beyond is cut */
};

/* All of it lives until the call that gets it returns. */
struct pdb_annotation {
    const char *module;         /* as the linker calls it: `C:\build\main.obj` */
    uint32_t offset;            /* of the record in the module's symbols */
    struct span function;       /* that it stands in; empty: none */
    const struct span *strings; /* the first one is the kind that was asked for */
    size_t count;
};

struct pdb_sink {
    /* False: no more is wanted. */
    bool (*annotation)(void *self, const struct pdb_annotation *annotation);
    void (*warn)(void *self, const char *text); /* one line with its place; may be NULL */
    void *self;
};

/* What there is in a file, to say why something is missing. */
struct pdb_about {
    size_t modules;
    size_t with_symbols;
    size_t annotations; /* of the kind that was asked for */
    size_t damaged;     /* modules and annotations that could not be read */
    bool is_fastlink;   /* link /DEBUG:FASTLINK: the symbols are left in the object files */
    bool is_stripped;   /* private symbols were removed: link /PDBSTRIPPED, pdbcopy -p */
};

/*
 * Hand over the annotations whose first string is ${kind}, in the order of the modules. Damaged modules
 * and records are told with ${origin}, the module and the offset in its symbols, and the rest is read.
 * False with ${err} set, without ${origin} in its text: nothing could be read, or memory ran out.
 */
bool pdb_read(const struct msf_input *input, const char *kind, const char *origin,
    const struct pdb_sink *sink, struct pdb_about *ret_about, struct error *err);

/* The same of the file at ${path}, which is the origin. */
bool pdb_read_file(const char *path, const char *kind, const struct pdb_sink *sink,
    struct pdb_about *ret_about, struct error *err);

/* Which container the file is, by its first bytes; MSF_NONE also if it cannot be read. */
enum msf_kind pdb_file_kind(const char *path);

/* What is missing in a file without annotations, and where it can be found; NULL: nothing is, the
 * program has none. */
const char *pdb_lack(const struct pdb_about *about);

#endif
