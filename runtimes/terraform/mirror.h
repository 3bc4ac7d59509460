/*
 * A folder with providers, laid out as Terraform's filesystem mirrors are, unpacked or packed:
 *
 *   registry.terraform.io/hashicorp/random/3.7.2/linux_amd64/terraform-provider-random_v3.7.2
 *   registry.terraform.io/hashicorp/random/terraform-provider-random_3.7.2_linux_amd64.zip
 */
#pragma once

#include "runtimes/terraform/wanted.h"

/* The newest version that will do; of one that is there in both ways, the unpacked one. Nothing of
 * it is read yet. ERR_NOT_FOUND ProviderNotFound: there is none. */
int mirror_find(const char *folder, const struct wanted *wanted, struct offer *ret,
                struct error *error);
