/* A folder of a test, with what a store keeps in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

char *folder_new(void);          /* its path */
void folder_free(char *path);    /* with all that is in it */
size_t folder_count(const char *path); /* files and folders in it, at any depth */

/* The file below the path whose name begins and ends so, "state." and ".open"; free(), or NULL. */
char *folder_find(const char *path, const char *prefix, const char *suffix);
