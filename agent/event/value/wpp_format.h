#ifndef ETWSHIP_EVENT_WPP_FORMAT_H
#define ETWSHIP_EVENT_WPP_FORMAT_H

#include "base/buf.h"
#include "event/value/value_json.h"

/*
 * The compiled format of a WPP message, and the facts in its trace message format (TMF) beside the
 * layout. Made once per message (schema/wpp/wpp_plan.h), immutable; texts and pieces live in the
 * arena of the schema.
 *
 * Format specifications are those of printf (C11 7.21.6.1, and Microsoft's I, I32, I64, w), after
 * an argument number as in FormatMessage; "Trace Message Prefix" on learn.microsoft.com for the
 * numbers below 10.
 */

/*
 * The text of an argument with the specification `s`, as tracefmt writes it. Times and SIDs differ:
 * tracefmt shows the local time and the account name of its own machine, here they are UTC and
 * `S-1-…`. tracefmt shows no dump inside a text.
 */
enum wpp_style {
    WPP_STYLE_VALUE,  /* as in other messages (value_json_text); a real number as %g */
    WPP_STYLE_STATUS, /* `0xc0000022(STATUS_ACCESS_DENIED)` */
    WPP_STYLE_WIN32,  /* `5(ERROR_ACCESS_DENIED)` */
    WPP_STYLE_CODE,   /* `0x00010102` */
    /* `0x00000002(DPC)`: the name that the value counts to; else the number alone */
    WPP_STYLE_LIST,
    WPP_STYLE_SET,   /* `[a,b]`: the names of the bits that are set, other bits in hex */
    WPP_STYLE_ENUM,  /* the name of the value; else the number */
    WPP_STYLE_FLAGS, /* `A | C(0x5)`: the names of the bits that are set; else `0x5` */
    WPP_STYLE_MAC,   /* `00:11:22:33:44:55` */
    WPP_STYLE_DUMP,  /* `de ad be ef` */
    WPP_STYLE_DELTA, /* units of 100 ns: `102ms`, `5.000s`, from a minute on `day~h:mm:ss` */
    WPP_STYLE_DUE,   /* a FILETIME; below 0 a span from now, as WPP_STYLE_DELTA */
};

/* The insert of a piece, after its literal. */
enum wpp_insert {
    WPP_INSERT_NONE,
    WPP_INSERT_ARGUMENT,
    WPP_INSERT_THREAD,
    WPP_INSERT_TIME,
    WPP_INSERT_KERNEL_TICKS,
    WPP_INSERT_USER_TICKS,
    WPP_INSERT_SEQUENCE,
    WPP_INSERT_PROCESS,
    WPP_INSERT_CPU,
};

enum wpp_flags {
    WPP_FLAG_LEFT = 0x01,  /* - */
    WPP_FLAG_ZERO = 0x02,  /* 0 */
    WPP_FLAG_PLUS = 0x04,  /* + */
    WPP_FLAG_SPACE = 0x08, /* a blank */
    WPP_FLAG_ALT = 0x10,   /* # */
};

/* Limits of widths and precisions; larger ones are cut. */
enum { WPP_MAX_WIDTH = 512, WPP_MAX_PRECISION = 128 };

/* A conversion specification, `%-08.3I64x`. */
struct wpp_spec {
    uint8_t conversion; /* c d i o u x X e E f F g G a A p, or s for anything else */
    uint8_t flags;      /* enum wpp_flags */
    uint8_t bytes;      /* from the length modifier: 1 2 4 8; 0: the item's width */
    int16_t precision;  /* -1: none */
    uint16_t width;
};

struct wpp_piece {
    struct span text; /* JSON-escaped, PUT_PADDING readable bytes after; may be empty */
    /* the insert as written in the format, escaped: used if there is no value */
    struct span written;
    struct wpp_spec spec;
    uint16_t argument; /* index of a top-level field */
    uint8_t insert;    /* enum wpp_insert */
    uint8_t style;     /* enum wpp_style */
};

struct wpp_format {
    struct span module; /* the friendly name of the message GUID */
    struct span source; /* file */
    uint32_t line;      /* 0: not told */
    struct span function;
    struct span level;
    struct span flags;
    struct span text;        /* as the source has it: with inserts, and escapes of C */
    const struct span *args; /* the arguments in the source code, and their item types */
    const struct span *types;
    size_t arg_count;

    const struct wpp_piece *pieces;
    size_t piece_count; /* 0: there is no text */

    /* As JSON, for the `wpp` object: `"module":"…",…,` and `,"args":[…],"types":[…]`, without a
     * list that is too long. */
    struct span json_head;
    struct span json_tail;
};

/* Append the text of ${event}, whose schema has a format, JSON-escaped, without quotes. */
void wpp_format_render(
    const struct value_context *values, const struct event *event, struct buf *out);

#endif
