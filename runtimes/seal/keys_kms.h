/*
 * Keys of a KMS, behind any plugin that speaks Kubernetes' KMS v2 over a Unix socket: those for
 * AWS, Azure, Google, Vault, OpenBao and Alibaba Cloud, say. (proto/kms.proto has the messages.)
 *
 * The plugin wraps and unwraps seeds. It never gets data, and has no part in a save but for a
 * question now and then: its Status is asked before a save, at most once a minute, and every ten
 * seconds while it is not healthy. When Status tells another key id, a new seed is wrapped. What a
 * part keeps is the key id of the Encrypt that wrapped its seed, and the annotations, which are
 * given back as they came.
 *
 * Versions are `v2` and `v2beta1`. A plugin of v1 has no such service, and is refused with a
 * sentence.
 *
 * Errors quote the plugin's own text, as one line of at most 400 bytes. It cannot have a secret of
 * ours: the seed of an Encrypt that failed is dropped, and a Decrypt that failed gave none.
 */
#pragma once

#include "engine/threads/clock.h"
#include "runtimes/seal/source.h"

/* socket: a path. clock: borrowed. ERR_UNAVAILABLE: there can be no thread for its requests. */
int keys_kms_new(const char *socket, const struct clock_source *clock, struct seal_source **ret,
                 struct error *error);
