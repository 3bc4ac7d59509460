/*
 * The two hashes that Terraform knows of a provider's package, as its lock files have them:
 *
 *   h1:<Base64>        of the package's files, whether they are in an archive or in a folder
 *   zh:<hexadecimal>   SHA-256 of its archive
 *
 * h1 is the SHA-256 of one line for each file, "SHA256  PATH\n", sorted by path. Folders do not
 * count.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/hash.h"

#define PACKAGE_H1_SIZE 48 /* "h1:", 44 characters, NUL */

struct package_hash; /* one h1 in the making */

struct package_hash *package_hash_new(void);
/* The SHA-256 of a file, as hexadecimal. The path has no newline. */
void package_hash_add(struct package_hash *hash, const char *path,
                      const char sha256[HASH_HEX_SIZE]);
void package_hash_finish(struct package_hash *hash, char ret[PACKAGE_H1_SIZE]);
void package_hash_free(struct package_hash *hash); /* accepts NULL */

/* Whether the text is an h1 or a zh. */
bool package_hash_is_valid(const char *text);

/* Whether one of the hashes of a list, blanks or commas between them, is that h1 or, if zh is not
 * NULL, that zh (hexadecimal, without "zh:"). A NULL list has none. */
bool package_hash_is_listed(const char *list, const char *h1, const char *zh);
