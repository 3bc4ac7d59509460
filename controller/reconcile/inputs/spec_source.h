/*
 * The ConfigMaps and Secrets that a Spec's `resourcesFrom` names, in its namespace, read with the
 * rights of the Spec's ServiceAccount.
 */
#pragma once

#include "controller/reconcile/inputs/source_text.h"
#include "controller/reconcile/run/run.h"

struct spec_source {
    const struct kube_kind *kind;
    const char *name, *key; /* borrowed from the Spec, as is */
    const char *wanted;     /* the digest of the content that is to be applied; NULL: any */
    char *label;            /* `resourcesFrom[0]: ConfigMap "a", key "b"`; for messages */
    bool is_secret;
    bool is_absent;     /* the object is not there */
    bool is_read_later; /* by an operation that is about to begin, not by spec_source_read() */
    /* Of what was read: */
    char *uid, *version;
    char digest[HASH_HEX_SIZE]; /* of the bytes as they are stored */
};

struct spec_sources {
    struct spec_source *items;
    size_t count;
    struct source_size size; /* of all, once it is known */
};

/* Those of a Spec. ERR_INVALID InvalidSpec. */
int spec_sources_read(const struct value *object, struct spec_sources *ret, struct error *error);
void spec_sources_done(struct spec_sources *list);

/*
 * Reads one into the buffer, which is empty, until the deadline (ms, monotonic). `source` gets its
 * uid, version and digest; both is only set if nothing went wrong.
 *
 * ERR_INVALID SourceNotFound: it is not there, or has no such key. ERR_INVALID SourceDigest: it is
 * another content than the Spec wants. ERR_FORBIDDEN AccessDenied. They begin with the label. What
 * may pass, as of kube_do().
 */
int spec_source_read(const struct run *run, struct spec_source *source, int64_t deadline,
                     struct buf *ret, struct error *error);

/* The sources as a Release records them: {kind, name, key, uid, resourceVersion, digest}, where a
 * digest of a Secret is left out, since short contents could be guessed by it. A reference. */
const struct value *spec_sources_value(const struct spec_sources *list);

/* Of all contents, in their order, keyed. */
void spec_sources_digest(const struct spec_sources *list, const struct run *run,
                         char ret[HASH_HEX_SIZE]);
