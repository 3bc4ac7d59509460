/*
 * A hash of a Spec's namespace and name: for the names of objects, labels and files of the Spec.
 */
#pragma once

#define SPEC_HASH_NAME_PREFIX "kusion-"
#define SPEC_HASH_NAME_SIZE   48

/* The prefix, and 40 hexadecimal digits of sha256(namespace "/" name). */
void spec_hash_name(const char *namespace_name, const char *name, char ret[SPEC_HASH_NAME_SIZE]);
