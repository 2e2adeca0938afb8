#ifndef ETWSHIP_TESTS_SUPPORT_TEMP_FOLDER_H
#define ETWSHIP_TESTS_SUPPORT_TEMP_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* A folder for one test program, where the system keeps such. Its path has slashes everywhere. */
enum { TEMP_FOLDER_BYTES = 128 };

/* Make a new folder with ${name} in its name. 0, or -1 as cmocka's set-up wants. */
int temp_folder_make(char folder[TEMP_FOLDER_BYTES], const char *name);

/* Remove it with all that is in it. 0, or -1. */
int temp_folder_remove(const char *folder);

/* Make it the folder that relative paths begin in. */
bool temp_folder_enter(const char *folder);

/* Remove the empty folder ${path}. */
bool temp_folder_remove_empty(const char *path);

/* Make ${path} a symbolic link to ${target}. False where that takes a right that few have. */
bool temp_file_link(const char *target, const char *path);

/* Make ${path} a copy of the program at ${from}, which can be run as well. */
bool temp_file_copy_program(const char *from, const char *path);

/* Cut or lengthen a file that is there to ${bytes}. */
bool temp_file_cut(const char *path, uint64_t bytes);

/* Does ${path} name anything? */
bool temp_file_is_there(const char *path);

/* Let every user read the file, or only its owner. */
bool temp_file_share(const char *path, bool everybody);

/* Is this Wine? It does some things with open files otherwise than Windows. */
bool temp_system_is_wine(void);

/* The number of this process, as others see it. */
uint64_t temp_process_id(void);

#endif
