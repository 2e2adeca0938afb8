#ifndef ETWSHIP_SCHEMA_WPP_CONTROL_H
#define ETWSHIP_SCHEMA_WPP_CONTROL_H

#include "base/arena.h"
#include "base/error.h"
#include "base/guid.h"
#include "base/map.h"

/*
 * Control GUIDs of WPP and classic providers, which enable them, and their flags: named bits that
 * group messages (WPP_DEFINE_CONTROL_GUID, "WPP Preprocessor" on learn.microsoft.com). There are
 * three forms: MOF text as tracepdb writes now (mof_control.h), trace message control files as it
 * wrote formerly (tmc.h), and annotations of a PDB, the source of both.
 */
enum { WPP_MAX_CONTROLS = 4096, WPP_MAX_FLAGS = 64, WPP_MAX_CONTROL_FILES = 4096 };

struct wpp_flag {
    struct span name;
    uint64_t bits;
};

struct wpp_control {
    struct wpp_control *next;
    struct guid guid;
    struct span name;                         /* name in the file; may be empty */
    struct wpp_flag flags[WPP_MAX_FLAGS * 2]; /* a bit may have two names */
    size_t flag_count;
};

struct wpp_controls {
    struct arena arena; /* memory of everything */
    struct map guids;   /* to struct wpp_control */
    struct wpp_control *first;
    struct wpp_control *last;
    size_t count;
    size_t max_files; /* limit of files read per folder; initially WPP_MAX_CONTROL_FILES */
    void (*warn)(void *self, const char *text); /* may be NULL */
    void *warn_self;
};

void wpp_controls_init(struct wpp_controls *controls);
void wpp_controls_fini(struct wpp_controls *controls);

/* Find or create the control of ${guid}; ${name} is copied. NULL: memory or the limit is
 * exhausted. */
struct wpp_control *wpp_controls_add(
    struct wpp_controls *controls, const struct guid *guid, struct span name);

/* Add a flag unless it exists; flags beyond the limit are ignored. False if memory ran out. */
bool wpp_controls_add_flag(
    struct wpp_controls *controls, struct wpp_control *control, struct span name, uint64_t bits);

/* The flag ${name}, ignoring case, or NULL. */
const struct wpp_flag *wpp_control_flag(const struct wpp_control *control, struct span name);

/*
 * Read control GUIDs from ${path}: a .mof, .tmc or .pdb file; all such files in a folder and below;
 * or those beside a .tmf file, which has none itself. A file that cannot be read causes a warning;
 * if it is ${path} itself, the result is false with ${err} set.
 */
bool wpp_controls_read(struct wpp_controls *controls, const char *path, struct error *err);

#endif
