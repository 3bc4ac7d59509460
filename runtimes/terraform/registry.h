/*
 * A registry of providers, as Terraform's documents describe its protocol:
 *
 *   https://HOST/.well-known/terraform.json      {"providers.v1": "/v1/providers/"}
 *   …/hashicorp/random/versions
 *       {"versions": [{"version", "protocols", "platforms"}]}
 *   …/hashicorp/random/3.7.2/download/linux/amd64
 *       {"os", "arch", "filename", "download_url", "shasums_url", "shasum", "protocols"}
 *
 * The archive's SHA-256 has to be the same in the last answer and in the list of shasums_url. The
 * list's signature is not verified: that a registry is the right one is known by its certificate.
 */
#pragma once

#include "runtimes/terraform/remote.h"
#include "runtimes/terraform/wanted.h"

/* The newest version that will do, for this platform and with a protocol that we speak.
 * ERR_NOT_FOUND ProviderNotFound: it has none; the errors of remote.h. */
int registry_find(struct remote *remote, const struct wanted *wanted, struct cancel *cancel,
                  struct offer *ret, struct error *error);
