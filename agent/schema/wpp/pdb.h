#ifndef ETWSHIP_SCHEMA_PDB_H
#define ETWSHIP_SCHEMA_PDB_H

#include "schema/wpp/msf.h"

/*
 * Reads annotations from a program's symbols (PDB): lists of strings that the source code defines
 * with `__annotation`. The WPP preprocessor stores everything it knows in some of them:
 *
 *   "TMF:", "a5bbbdd9-73f9-3bed-93aa-521a4c96d934 driver // SRC=main.c MJ= MN=",
 *       "#typev main_c31 10 \"%0value=0x%10!x!\" //   LEVEL=TRACE_LEVEL_ERROR FLAGS=F", "{",
 *       "value, ItemLong -- 10", "}"
 *   "TMC:", "d58c126f-b309-11d1-969e-0000f875a5bc", "ControlName", "FLAG_OF_BIT_0", "FLAG_OF_BIT_1"
 *
 * "PUBLIC_TMF:" may follow each of them, for symbols that may be published. The function of a
 * message is the one that contains its annotation.
 *
 * Source: "The PDB DBI Stream", "The Module Information Stream" and "CodeView Symbol Records" in
 * the documentation of LLVM (llvm.org/docs/PDB); ANNOTATIONSYM and PROCSYM32 in cvinfo.h of the
 * microsoft-pdb sources.
 */
enum {
    PDB_MAX_STRINGS = 512,    /* per annotation */
    PDB_MAX_WARNINGS = 20,    /* per file; further ones are only counted */
    PDB_MAX_NAME_BYTES = 4095 /* of a function; longer names are cut */
};

/* Valid only during the callback. */
struct pdb_annotation {
    const char *module;         /* linker's name: `C:\build\main.obj` */
    uint32_t offset;            /* of the record in the module's symbols */
    struct span function;       /* enclosing function; empty: none */
    const struct span *strings; /* the first is the requested kind */
    size_t count;
};

struct pdb_sink {
    /* Returns false to stop. */
    bool (*annotation)(void *self, const struct pdb_annotation *annotation);
    void (*warn)(void *self, const char *text); /* one line with its place; may be NULL */
    void *self;
};

/* Statistics of a file, to explain why something is missing. */
struct pdb_about {
    size_t modules;
    size_t with_symbols;
    size_t annotations; /* of the requested kind */
    size_t damaged;     /* unreadable modules and annotations */
    bool is_fastlink;   /* link /DEBUG:FASTLINK: the symbols stayed in the object files */
    bool is_stripped;   /* private symbols were removed: link /PDBSTRIPPED, pdbcopy -p */
};

/*
 * Report the annotations with ${kind} as first string, in the order of the modules. Damaged modules
 * and records cause a warning with ${origin}, module and offset in the module's symbols; reading
 * continues. False with ${err} set (without ${origin} in its text) if nothing could be read or
 * memory ran out.
 */
bool pdb_read(const struct msf_input *input, const char *kind, const char *origin,
    const struct pdb_sink *sink, struct pdb_about *ret_about, struct error *err);

/* Like pdb_read() for the file at ${path}, which is also the origin. */
bool pdb_read_file(const char *path, const char *kind, const struct pdb_sink *sink,
    struct pdb_about *ret_about, struct error *err);

/* Container format of the file by its first bytes; MSF_NONE also if it cannot be read. */
enum msf_kind pdb_file_kind(const char *path);

/* Explains what a file without annotations lacks and where to find it. NULL: nothing is missing,
 * the program simply has none. */
const char *pdb_lack(const struct pdb_about *about);

#endif
