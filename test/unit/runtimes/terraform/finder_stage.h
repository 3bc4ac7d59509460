/* A registry and a network mirror, and a finder that asks them. */
#pragma once

#include "runtimes/terraform/finder.h"
#include "test/unit/runtimes/terraform/script.h"

#define STAGE_LONG 20000 /* ms */

/* A hash of which there is no copy. */
#define NO_COPY "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

/* The registry's host is "127.0.0.1:PORT", and the network mirror is on it. */
struct stage {
    struct script script;
    char *host, *mirror, *ca, *cache;
    char h1[64], zh[80];
    const char *hosts[1];
    struct finder_config config; /* of the next finder */
    struct finder *finder;
    struct known *known; /* what the Spec has used; or NULL */
    const char *allowed; /* the flag's constraint; or NULL */
    const char *folder;  /* that the flag names; or NULL */
};

void stage_init(struct stage *stage);
void stage_done(struct stage *stage);
/* Another finder. */
void stage_restart(struct stage *stage);

/* Finds HOST/KIND/random/VERSION. */
int stage_find(struct stage *stage, const char *kind, const char *version, struct found *ret,
               struct error *error);
/* How many requests had this in their path. */
unsigned stage_requests(const struct stage *stage, const char *with);
/* Whether what was under way left nothing. */
bool stage_is_tidy(const struct stage *stage);
/* It is the package of the registry. */
void stage_expect(const struct stage *stage, const struct found *found, const char *note);

/* ---- Files ---- */

/* A file of the script's. */
void stage_copy(const struct stage *stage, const char *name, const char *to);
/* Those that the path is in. */
void make_folders(const char *path);
void spoil(const char *path);
