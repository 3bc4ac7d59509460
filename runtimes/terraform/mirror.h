/*
 * A folder with providers, laid out as Terraform's filesystem mirrors are (unpacked):
 *
 *   registry.terraform.io/hashicorp/random/3.7.2/linux_amd64/terraform-provider-random_v3.7.2
 */
#ifndef RUNTIMES_TERRAFORM_MIRROR_H
#define RUNTIMES_TERRAFORM_MIRROR_H

#include "runtimes/terraform/source.h"

struct mirror_found {
    char *version;
    char *program; /* absolute path */
};

/* The newest version that matches the source's constraint and the other one (or NULL).
 * ERR_NOT_FOUND ProviderNotFound: there is none. */
int mirror_find(const char *folder, const struct source *source, const char *constraint,
                struct mirror_found *ret, struct error *error);
void mirror_found_done(struct mirror_found *found);

#endif
