/*
 * Schemas from a description in JSON:
 *
 *   {"version": 1,
 *    "attributes": {"name": {"type": "string", "required": true}, …},
 *    "blocks": {"rule": {"nesting": "list", "min": 1, "max": 2, "attributes": {…}, "blocks": {…}}}}
 *
 * An attribute has required, optional, computed, sensitive, writeOnly, and either a type, or a
 * nesting and attributes of its own (protocol 6).
 */
#pragma once

#include "runtimes/terraform/schema/schema.h"

/* The bytes of the wire. */
void describe_schema(const struct value *description, int protocol, struct buf *to);
struct tf_schema *make_schema(const char *description, int protocol);
