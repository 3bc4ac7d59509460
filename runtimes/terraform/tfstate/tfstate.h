/*
 * Terraform's state files (terraform.tfstate, version 4): objects are taken over from one, and
 * State is written as one. Pure functions.
 *
 *   {"version": 4, "terraform_version", "serial", "lineage", "outputs", "resources": [
 *     {"module", "mode": "managed", "type", "name", "provider": "provider[\"HOST/NS/NAME\"]",
 *      "instances": [{"index_key", "status": "tainted", "deposed", "schema_version", "attributes",
 *                     "sensitive_attributes", "private": BASE64, "identity",
 * "identity_schema_version", "dependencies", …}]}]}
 *
 * Everything in a state file may be secret, but for its addresses. So messages have addresses,
 * places and versions, and nothing else of it.
 */
#pragma once

#include "engine/runtime.h"

/* Bytes of what is found in one file, as values in memory. */
#define TFSTATE_FOUND_BYTES (8u << 20)

/*
 * What a file has of the targets that State has no record of (runtime_foreign.find). Of each that
 * it has:
 *
 *   {"address", "provider", "type", "schemaVersion", "private", "state", "sensitive": [POINTER…],
 *    "identity", "identitySchemaVersion"}
 *
 * or {"error": MESSAGE}: it has it, and it cannot be taken over; or it cannot be told whether it
 * has it. A target that is no member is not in the file: it is new.
 */
int tfstate_find(struct runtime *runtime, const char *text, size_t length,
                 const struct runtime_target *targets, size_t n, const struct value **ret,
                 struct error *error);

/* The file of these records (runtime_foreign.write). */
int tfstate_write(struct runtime *runtime, const struct record *const *records, size_t n,
                  const struct runtime_mark *mark, struct buf *ret, struct error *error);
