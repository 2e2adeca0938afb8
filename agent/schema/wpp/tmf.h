#ifndef ETWSHIP_SCHEMA_TMF_H
#define ETWSHIP_SCHEMA_TMF_H

#include "base/arena.h"
#include "base/guid.h"
#include "base/map.h"
#include "schema/wpp/tmf_item.h"

/*
 * Reads trace message formats (TMF), which tracepdb and the WPP preprocessor write about the
 * messages of a program:
 *
 *   // PDB:  driver.pdb
 *   a5bbbdd9-73f9-3bed-93aa-521a4c96d934 driver // SRC=main.c MJ= MN=
 *   #typev main_c31 10 "%0value=0x%10!x! of %11!s!" //   LEVEL=TRACE_LEVEL_ERROR FLAGS=F FUNC=run
 *   {
 *   value, ItemLong -- 10
 *   name, ItemString -- 11
 *   }
 *   #enumv _STATE
 *   {
 *   StateIdle,0x0
 *   StateActive,0x1
 *   }
 *
 * A reader takes lines one by one, from a file or from the annotations of a PDB file. Other lines
 * are ignored, so formats may be embedded in other text. A prefix before `#typev` is ignored, too,
 * and as many bytes of the lines that belong to the message. A malformed format is skipped with a
 * warning that names its place.
 *
 * Source: "Trace Message Format File" on learn.microsoft.com; grammar derived from files of
 * tracepdb.
 */
enum {
    TMF_MAX_ARGUMENTS = 256,
    TMF_MAX_LINE_BYTES = 65536,
    TMF_MAX_NAMES = 4096, /* per list, set or enumeration */
    TMF_MAX_ENUMERATIONS = 65536,
    TMF_MAX_WARNINGS = 20,  /* per text; further ones are only counted */
    TMF_FIRST_ARGUMENT = 10 /* lower numbers are values of the record header */
};

struct tmf_argument {
    struct span expression;      /* as in the source code */
    struct span type;            /* `ItemListByte(Low,APC,DPC)` */
    struct span names;           /* `Low,APC,DPC`; for an enumeration its name */
    struct span values;          /* lines `name,value` of the enumeration; empty: not defined */
    const struct tmf_item *item; /* NULL: unknown size */
    uint16_t number;             /* number in the format */
};

struct tmf_message {
    struct guid guid;
    uint16_t number;
    struct span module;
    struct span source; /* `main.c`; empty: unknown */
    struct span name;   /* `main_c31` */
    uint32_t line;      /* line in the source; 0: unknown */
    size_t text_line;   /* line in the TMF text */
    struct span format; /* text between the quotes, with C escapes */
    struct span level;  /* empty: unknown */
    struct span flags;
    struct span function;
    const struct tmf_argument *arguments; /* in record order */
    size_t argument_count;
    bool is_cut; /* an argument was unreadable; the layout of the record ends before it */
};

/* Values of an enumeration (`#enumv`), which may follow the messages that use it. */
struct tmf_enumeration {
    struct span name;
    struct span values; /* lines `name,value` */
};

/* Deep copy of ${message} in ${arena}. Texts equal to those of ${last} (may be NULL) are shared, so
 * ${last} must live as long. NULL: no memory. */
const struct tmf_message *tmf_message_copy(
    const struct tmf_message *message, const struct tmf_message *last, struct arena *arena);

/* Receives the result. Messages live in the arena, their texts in the lines. */
struct tmf_sink {
    /* Returns false to stop because memory ran out. */
    bool (*message)(void *self, const struct tmf_message *message);
    void (*warn)(void *self, const char *text); /* one line with its place; may be NULL */
    void *self;
};

struct tmf_reader {
    const struct tmf_sink *sink;
    struct arena *arena;
    const char *origin;             /* named in warnings */
    const struct map *enumerations; /* name -> struct tmf_enumeration; may be NULL */
    size_t line;                    /* number of the current line, or the place of its annotation */
    size_t warnings;
    bool has_guid;
    bool failed; /* memory ran out, or the sink stopped */
    struct guid guid;
    struct span module;
    struct span source;
    struct span function; /* for messages without a function */

    struct tmf_message message; /* current message */
    bool has_message;
    bool is_open;    /* its brace is open */
    bool is_skipped; /* the brace of an unreadable item is open */
    size_t prefix;   /* bytes before `#typev` in the line */
    struct tmf_argument arguments[TMF_MAX_ARGUMENTS];
};

/* ${origin} and ${sink} are borrowed until tmf_reader_end; ${arena} keeps the messages. */
void tmf_reader_init(struct tmf_reader *reader, struct arena *arena, const char *origin,
    const struct tmf_sink *sink);

/* Read a line of UTF-8, with or without line end. The text must outlive the messages. */
void tmf_reader_line(struct tmf_reader *reader, struct span line);

/*
 * Read the lines of an annotation in symbols (schema/wpp/pdb.h), independent of lines before and
 * after. The lines have no numbers; all are reported at ${place}. ${function} applies to messages
 * without `FUNC=`. False if memory ran out or the sink stopped.
 */
bool tmf_reader_annotation(struct tmf_reader *reader, const struct span *lines, size_t count,
    size_t place, struct span function);

/* Finish. False if memory ran out; some messages were then not passed on. */
bool tmf_reader_end(struct tmf_reader *reader);

/*
 * Read all lines of a file: UTF-8 or UTF-16 with or without byte order mark, else code page 1252.
 * Converted text lives in ${arena}; UTF-8 is not copied and must outlive the messages. False with
 * ${err} set if memory ran out.
 */
bool tmf_read(struct span bytes, struct arena *arena, const char *origin,
    const struct tmf_sink *sink, struct error *err);

#endif
