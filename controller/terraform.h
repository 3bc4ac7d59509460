/*
 * What the flags say about the Terraform runtime.
 */
#pragma once

#include "controller/flags.h"
#include "runtimes/terraform/runtime.h"

struct terraform_settings {
    char *mirror; /* an absolute path; NULL: none */
    char *folder;
    char *cache;  /* an absolute path; NULL: in the folder */
    char *ca_pem; /* NULL: the system's */
    struct lock_file *locked; /* NULL: none */
    struct source allowed[FLAGS_VALUES];
    struct tf_runtime_config config;
};

/* ERR_INVALID: a flag is invalid. terraform_done() also after an error. */
int terraform_init(struct terraform_settings *settings, const struct flags *flags,
                   struct error *error);
void terraform_done(struct terraform_settings *settings);

/* Bytes that the container may have, by the files of cgroups below `root`; 0: there is no limit. */
int64_t terraform_container_memory(const char *root);
