/* Declarations that the files of the store share: store.h. */
#ifndef RUNTIMES_WEBDAV_PRIVATE_H
#define RUNTIMES_WEBDAV_PRIVATE_H

#include "runtimes/chain/objects.h"
#include "runtimes/chain/remote.h"
#include "runtimes/webdav/store.h"

/* ---- listing.c: the answer to a PROPFIND with Depth: 1 ---- */

struct webdav_folder {
    char *name;       /* the last segment of its path, unescaped */
    int64_t modified; /* ms since 1970; 0: unknown */
};

struct webdav_listing {
    struct webdav_folder *folders; /* below the one that was asked about; files are left out */
    size_t count, capacity;
};
void webdav_listing_done(struct webdav_listing *listing);

/* ERR_INTERNAL UnexpectedAnswer. */
int webdav_listing_read(const struct buf *body, struct webdav_listing *ret, struct error *error);

/* ---- objects.c ---- */

/* Parses the place. */
int webdav_objects_new(const char *place, struct objects **ret, struct error *error);

#endif
