/*
 * Options of all commands, with kubectl's names and meaning where kubectl has them. An option means
 * the same in each command; a command names those that it takes (command.h).
 *
 * Forms: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, -n=VALUE; of those without a value --name,
 * --name=false and -Aw for -A -w. Options stand anywhere; -- ends them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

#define OPTION_WORDS_MAX 64

struct option_words {
    const char *items[OPTION_WORDS_MAX];
    size_t count;
};

struct options {
    /* How the cluster is reached: all commands that ask it. */
    const char *namespace_name, *context, *kubeconfig, *as;
    struct option_words as_groups;
    int64_t request_timeout; /* ms; 0: none is given */
    /* What is asked for, and how it is shown. */
    bool all_namespaces;
    const char *selector;
    const char *output; /* "json"; NULL: text for people */
    const char *color;  /* auto, always or never */
    bool help;
    /* Input. */
    struct option_words files;
    const char *kustomize;
    bool recursive;
    /* Of what is made or checked without a cluster. */
    const char *name, *order, *from, *schemas;
    bool strict;
    int64_t split;
    /* Of some commands; 0, false and NULL: not given. */
    bool watch, pods, events, failed, full, show_unchanged, detailed_exitcode, destroy, preview,
        yes, all, withdraw, force_conflicts, previews, plan;
    int64_t to_revision, limit;
    int64_t timeout; /* ms */
    const char *for_what, *digest, *reason, *service_account, *dry_run, *to_id, *field_manager;
};

enum option_type { OPTION_BOOL, OPTION_TEXT, OPTION_WORDS, OPTION_NUMBER, OPTION_TIME };

struct option {
    const char *name;
    char letter; /* 0: none */
    enum option_type type;
    size_t offset;        /* in struct options */
    const char *argument; /* as the help shows it: "DIGEST"; NULL for OPTION_BOOL */
    const char *help;
    enum { OPTION_OWN, OPTION_COMMON, OPTION_CLUSTER, OPTION_FORMAT } kind; /* who takes it */
};

extern const struct option option_table[];
extern const size_t n_options;

const struct option *option_find(const char *name, size_t length);
const struct option *option_find_letter(char letter);

/* value: NULL of an OPTION_BOOL without one. ERR_INVALID InvalidOption. */
int option_set(struct options *options, const struct option *option, const char *value,
               struct error *error);
