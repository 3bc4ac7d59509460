/*
 * What the servers of a namespace may take together. Each has a client, and copies of its CAs: who
 * writes a Spec chooses how many there are, and how large these are.
 *
 * Thread-safe.
 */
#pragma once

#include "engine/base/error.h"

#define QUOTA_SERVERS  1000 /* at once */
#define QUOTA_CA_BYTES (4u << 20)

struct rest_quota;

struct rest_quota *rest_quota_new(void);
void rest_quota_free(struct rest_quota *quota); /* when nothing is taken */

/* For one more server. ERR_UNAVAILABLE TooManyServers. */
int rest_quota_take(struct rest_quota *quota, const char *namespace_name, size_t ca_bytes,
                    struct error *error);
void rest_quota_give_back(struct rest_quota *quota, const char *namespace_name, size_t ca_bytes);
