/*
 * A lock file of Terraform (.terraform.lock.hcl), by which a platform says which providers may run:
 *
 *   provider "registry.terraform.io/hashicorp/random" {
 *     version     = "3.6.0"
 *     constraints = "~> 3.6"
 *     hashes = [
 *       "h1:…",
 *       "zh:…",
 *     ]
 *   }
 *
 * Only what `terraform init` and `terraform providers lock` write is read: such blocks, comments,
 * strings without escapes.
 */
#pragma once

#include <stddef.h>

#include "engine/base/cleanup.h"
#include "engine/base/error.h"

#define LOCK_FILE_PROVIDERS 256

struct locked {
    char *address; /* "registry.terraform.io/hashicorp/random" */
    char *version; /* "3.6.0" */
    char *hashes;  /* a list (package/hash.h), not empty */
};

struct lock_file {
    struct locked items[LOCK_FILE_PROVIDERS];
    size_t count;
};

/* ERR_INVALID InvalidLockFile, with the line. *ret: lock_file_free(). */
int lock_file_read(const char *text, struct lock_file **ret, struct error *error);
void lock_file_free(struct lock_file *file); /* accepts NULL */
DEFINE_CLEANUP(struct lock_file *, lock_file_free)

/* What it says of a provider; NULL: nothing. file: may be NULL. */
const struct locked *lock_file_find(const struct lock_file *file, const char *address);
