/*
 * A provider that is looked for, with all constraints on its version: of the Spec, of the flag
 * --terraform-provider, of the lock file.
 */
#pragma once

#include "runtimes/terraform/package/unpack.h"
#include "runtimes/terraform/source.h"

#define WANTED_CONSTRAINTS 3

/* Borrowed. */
struct wanted {
    const struct source *source;                 /* its version does not count */
    const char *constraints[WANTED_CONSTRAINTS]; /* version.h; NULL: none */
    const struct source *allowed; /* the flag's; its folder is the only place to look. Or NULL */
};

/* Whether that version will do: it meets all constraints, and has a suffix (4.0.0-beta1) only if
 * one of them names it. */
bool wanted_matches(const struct wanted *wanted, const char *version);
/* Of two versions that will do, whether the first is newer. best: NULL: none yet. */
bool wanted_is_newer(const char *version, const char *best);

/* ERR_NOT_FOUND ProviderNotFound: "`where` has no provider X for linux_amd64 that matches …". */
int wanted_not_found(const struct wanted *wanted, const char *where, struct error *error);

/* The platform's name in mirrors and registries: "linux_amd64". */
#define PLATFORM_OS "linux"
#if defined(__x86_64__)
#define PLATFORM_ARCH "amd64"
#elif defined(__aarch64__)
#define PLATFORM_ARCH "arm64"
#else
#error "this platform has no name in mirrors yet"
#endif
#define PLATFORM PLATFORM_OS "_" PLATFORM_ARCH

/* A package that a source has. */
struct offer {
    char *version;
    char *folder;             /* with its files; an absolute path */
    enum package_links links; /* of the folder */
    char *archive;            /* or a zip; an absolute path */
    char *url;                /* or the address of one */
    char *zh;                 /* SHA-256 of the archive, which it has to have; or NULL */
    char *hashes;             /* a list (package/hash.h) of which it has to have one; or NULL */
};
void offer_done(struct offer *offer);
