/*
 * Every bound on depth, size and count that the engine knows, in one place.
 * Running into one is an error with a message that names it; nothing is ever
 * cut silently.
 */
#ifndef ENGINE_BASE_LIMITS_H
#define ENGINE_BASE_LIMITS_H

/* A document's nesting. The API server takes 10,000 levels; nothing that
 * people write comes near 100, and code that recurses over values relies on
 * this bound for its stack. */
#define LIMIT_DEPTH 256

/* Bytes of one document, as text. An API server's request ends at 3 MiB,
 * lists and what other runtimes hold are larger. */
#define LIMIT_DOCUMENT_BYTES (64u << 20)

/* Values in one document, YAML aliases expanded. */
#define LIMIT_DOCUMENT_VALUES (8u << 20)

/* YAML: how many values aliases may add to those that were written. */
#define LIMIT_YAML_ALIAS_VALUES (1u << 17)

/* Documents in one YAML stream. */
#define LIMIT_YAML_DOCUMENTS 10000

/* Bytes of one string, of one number. */
#define LIMIT_STRING_BYTES (16u << 20)
#define LIMIT_NUMBER_BYTES 1024

/* A Spec's own fields, as JSON. The API server's store ends at 1.5 MiB for all of an object: beside
 * this, its status has to fit, and what kubectl and the API server note in its metadata. */
#define LIMIT_SPEC_BYTES (1u << 20)

/* Resources of one Spec, explicit dependencies of one resource, problems
 * that are reported of one Spec (the rest is counted). */
#define LIMIT_RESOURCES 200000
#define LIMIT_DEPENDS_ON 10000
#define LIMIT_PROBLEMS 64

/* A resource's id. Kubernetes: apiVersion 317, kind 63, two names of 253. */
#define LIMIT_ID_BYTES 1024

/* Field differences that are kept of one resource (the rest is counted). */
#define LIMIT_DIFF_FIELDS 256

/* One chunk of State, in bytes before base64; an object of the API server
 * ends at 1 MiB for an object's data, base64 included. */
#define LIMIT_CHUNK_BYTES (700u << 10)
#define LIMIT_CHUNKS 256

/* Nodes that one walk has in flight. */
#define LIMIT_PARALLELISM 100

#endif
