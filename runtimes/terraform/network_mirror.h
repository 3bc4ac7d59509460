/*
 * A network mirror of providers, as Terraform's documents describe its protocol:
 *
 *   BASE/registry.terraform.io/hashicorp/random/index.json   {"versions": {"3.7.2": {}}}
 *   BASE/registry.terraform.io/hashicorp/random/3.7.2.json
 *       {"archives": {"linux_amd64": {"url": "x.zip", "hashes": ["h1:…", "zh:…"]}}}
 */
#pragma once

#include "runtimes/terraform/remote.h"
#include "runtimes/terraform/wanted.h"

/* The newest version that will do. base: with or without a slash at its end. ERR_NOT_FOUND
 * ProviderNotFound: it has none; the errors of remote.h. */
int network_mirror_find(struct remote *remote, const char *base, const struct wanted *wanted,
                        struct cancel *cancel, struct offer *ret, struct error *error);
