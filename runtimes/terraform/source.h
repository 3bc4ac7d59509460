/*
 * Which provider a resource is of: [HOST/]NAMESPACE/NAME, and perhaps a version.
 *
 *   registry.terraform.io/hashicorp/random/3.7.2    hashicorp/random/3.7.2    hashicorp/random
 */
#pragma once

#include "engine/base/buf.h"
#include "engine/base/cleanup.h"
#include "engine/base/error.h"

#define TF_RUNTIME_TYPE "Terraform" /* of such resources */

#define SOURCE_HOST    "registry.terraform.io" /* if none is named */
#define SOURCE_VERSION "0.0.0"

struct source {
    char *address; /* "registry.terraform.io/hashicorp/random" */
    char *shown;   /* without the host, if that is SOURCE_HOST */
    char *name;    /* "random" */
    char *version; /* constraint (version.h); NULL: any */
    char *folder;  /* where its files are, and nowhere else: an absolute path; NULL: it is looked
                      for.  Only of the flag */
};

/* separator: '/', or '@' as in the flag. ERR_INVALID. *ret: source_done(). */
int source_read(const char *text, char separator, struct source *ret, struct error *error);
/* As the flag has it: "hashicorp/random@~> 3.6", or, of one in a folder, "rack/host@1.2.0=/DIR",
 * where the version is that of what is in the folder (SOURCE_VERSION: none is given). ERR_INVALID.
 * *ret: source_done(). */
int source_read_allowed(const char *text, struct source *ret, struct error *error);
void source_copy(struct source *to, const struct source *from);
void source_done(struct source *source); /* accepts one that is all zeroes */

#define SOURCE_LIST 16 /* that a list names; the rest is counted */
/* Adds "hashicorp/random ~> 3.6, hashicorp/tls, and 3 more". */
void source_list(struct buf *to, const struct source *sources, size_t n);
