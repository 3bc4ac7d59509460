/*
 * All bounds of the engine on depth, size and count. Exceeding a bound is an error whose message
 * names the bound; nothing is cut silently.
 */
#pragma once

/* Nesting depth of a document. The API server accepts 10,000 levels; documents that people write
 * stay below 100. Recursive code relies on this bound for its stack. */
#define LIMIT_DEPTH 256

/* Bytes of one document, as text. The API server limits a request to 3 MiB; lists and data of other
 * runtimes are larger. */
#define LIMIT_DOCUMENT_BYTES (64u << 20)

/* Values in one document, YAML aliases expanded. */
#define LIMIT_DOCUMENT_VALUES (8u << 20)

/* YAML: how many values aliases may add to those that were written. */
#define LIMIT_YAML_ALIAS_VALUES (1u << 17)

/* YAML: anchors in one document. Each takes twenty times the memory of a small value. */
#define LIMIT_YAML_ANCHORS 10000

/* Documents in one YAML stream. */
#define LIMIT_YAML_DOCUMENTS 10000

/* Bytes of one string, of one number. */
#define LIMIT_STRING_BYTES (16u << 20)
#define LIMIT_NUMBER_BYTES 1024

/* Bytes of a Spec's fields, as JSON. etcd limits an object to 1.5 MiB, which must also hold the
 * Spec's status and metadata. */
#define LIMIT_SPEC_BYTES (1u << 20)

/* Bytes that the references of one resource may put into it, 1 for each value and those of keys and
 * text. The API server limits a request to 3 MiB. */
#define LIMIT_REFERRED_BYTES (4u << 20)

/* Bytes of the paths at which a Spec has references, all together: where one is to a secret, State
 * has its path. */
#define LIMIT_PLACE_BYTES (4u << 20)

/* Resources of one Spec, explicit dependencies of one resource, and reported problems of one Spec
 * (further ones are counted). */
#define LIMIT_RESOURCES 200000
#define LIMIT_DEPENDS_ON 10000
#define LIMIT_AWAITED 64 /* Specs that one waits for, as in the API's schema */
#define LIMIT_PROBLEMS 64

/* Objects of `healthChecks` of one Spec, as in the API's schema. */
#define LIMIT_HEALTH_CHECKS 256

/* Bytes of a resource's id. For Kubernetes: apiVersion 317, kind 63, two names of 253. */
#define LIMIT_ID_BYTES 1024

/* Field differences that are kept for one resource (further ones are counted), bytes of their paths
 * and values, and of one value (a longer one is cut). */
#define LIMIT_DIFF_FIELDS 256
#define LIMIT_DIFF_BYTES  (256u << 10)
#define LIMIT_DIFF_VALUE  256
/* Of a plan that a person is to read, no field is left out and no value cut, up to so many bytes
 * and fields of all its resources (further ones are counted). */
#define LIMIT_DIFF_PLAN        (4u << 20)
#define LIMIT_DIFF_PLAN_FIELDS 16384

/* Bytes of one chunk of State, before base64. The API server limits an object's data to 1 MiB,
 * base64 included. */
#define LIMIT_CHUNK_BYTES (700u << 10)
#define LIMIT_CHUNKS 256

/* Nodes that one walk visits at once. */
#define LIMIT_PARALLELISM 100
