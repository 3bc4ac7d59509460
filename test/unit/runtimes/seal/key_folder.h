/* A folder of key files, as a mounted Secret is one, and keys that were made from it. */
#pragma once

#include "runtimes/seal/seal.h"

/* Its path, with the keys k1 and k2, of which k1 seals. */
char *key_folder_new(void);
void key_folder_free(char *path); /* with what is in it */
DEFINE_CLEANUP(char *, key_folder_free)

/* A key of 32 bytes, all of that value, with the mode 0440. Replaces the file. */
void key_folder_add(const char *path, const char *name, int value);
void key_folder_write(const char *path, const char *name, const void *bytes, size_t length,
                      unsigned mode);
void key_folder_remove(const char *path, const char *name);
void key_folder_use(const char *path, const char *name); /* what `current` says */

/* "file:PATH", and more behind it: "", or ",identity". */
struct seal_keys *key_folder_keys(const char *path, const char *more);
