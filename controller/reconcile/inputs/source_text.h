/*
 * What stands in a source of resources (`resourcesFrom`): a text, plain or gzipped, in YAML or
 * JSON, of one or more documents. A document is
 *
 *   - an object of Kubernetes, or a List of them, which becomes a resource with the id of its names
 *   - a resource in Kusion's format, with `id` and `type`
 *   - a list of these, or an object whose only member is such a list, `resources`
 *
 * Of a text of which nothing is known yet, source_text_measure() says first how much memory it can
 * take, in constant memory. Texts are of tenants: 1 KiB of gzip may be 1 MiB.
 *
 * A text without a document is refused: it may have been cut. `resources: []` says that there are
 * none.
 *
 * What comes from a Secret is sensitive: all of a resource's attributes and extensions, but for an
 * object's apiVersion, kind and metadata, which its id has as well. Messages have none of its text.
 *
 * Pure, and used by one thread.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/base/strmap.h"
#include "engine/value/value.h"

/* Bytes: of a source as it is stored, and unzipped; of all sources of a Spec, unzipped. */
#define SOURCE_BYTES       (1u << 20)
#define SOURCE_TEXT_BYTES  (32u << 20)
#define SOURCES_TEXT_BYTES (64u << 20)

struct source_size {
    size_t text;   /* bytes, unzipped */
    size_t memory; /* bytes that reading it takes at most, about: the text, and its values */
};

/* Adds to *ret. ERR_TOO_LARGE TooLarge: more than SOURCE_BYTES, SOURCE_TEXT_BYTES, or, in *ret,
 * SOURCES_TEXT_BYTES. ERR_INVALID InvalidSource: gzip that is not whole. */
int source_text_measure(const void *bytes, size_t length, struct source_size *ret,
                        struct error *error);

/* Resources of several texts, in their order. */
struct source_resources {
    struct value_builder *list; /* an array that is open */
    struct strmap ids;          /* to the place of each, for messages */
    struct arena arena;
    size_t count, memory; /* bytes of the documents that the list shares */
};

void source_resources_init(struct source_resources *resources);
void source_resources_done(struct source_resources *resources);

/* Those of the Spec itself come first; they are checked when the Spec is parsed. */
void source_resources_add_own(struct source_resources *resources, const struct value *list);
/* label: `ConfigMap "a", key "b"`; for messages. ERR_INVALID InvalidSource, with label, line, and
 * what is wrong; of an id that is there already, with both places. ERR_TOO_LARGE. After an error
 * nothing more can be added. */
int source_resources_add(struct source_resources *resources, const char *label, bool is_secret,
                         const void *bytes, size_t length, struct error *error);
/* *ret: the list, a reference. */
int source_resources_finish(struct source_resources *resources, const struct value **ret,
                            struct error *error);
