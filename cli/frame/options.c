#include "cli/frame/options.h"

#include <string.h>

#include "engine/base/duration.h"
#include "engine/base/str.h"

#define OPTION(name, letter, type, member, argument, help, kind)                            \
    {                                                                                       \
        name, letter, type, offsetof(struct options, member), argument, help, OPTION_##kind \
    }

const struct option option_table[] = {
    /* The cluster. */
    OPTION("namespace", 'n', OPTION_TEXT, namespace_name, "NAMESPACE",
           "namespace; default: that of the context", CLUSTER),
    OPTION("context", 0, OPTION_TEXT, context, "NAME", "context of the kubeconfig", CLUSTER),
    OPTION("kubeconfig", 0, OPTION_TEXT, kubeconfig, "FILE",
           "kubeconfig; default: the files in $KUBECONFIG, else ~/.kube/config", CLUSTER),
    OPTION("as", 0, OPTION_TEXT, as, "USER", "user to act as", CLUSTER),
    OPTION("as-group", 0, OPTION_WORDS, as_groups, "GROUP",
           "group to act as, with --as; may be repeated", CLUSTER),
    OPTION("request-timeout", 0, OPTION_TIME, request_timeout, "TIME",
           "time for one request, such as 30s; default: 60s", CLUSTER),
    /* Every command. */
    OPTION("color", 0, OPTION_TEXT, color, "WHEN",
           "auto (on a terminal, without $NO_COLOR), always or never", COMMON),
    OPTION("help", 'h', OPTION_BOOL, help, NULL, "show the help of the command", COMMON),
    OPTION("output", 'o', OPTION_TEXT, output, "FORMAT", "format of the output", FORMAT),
    /* Of some. */
    OPTION("all-namespaces", 'A', OPTION_BOOL, all_namespaces, NULL, "all namespaces", OWN),
    OPTION("selector", 'l', OPTION_TEXT, selector, "LABELS", "only those with these labels", OWN),
    OPTION("filename", 'f', OPTION_WORDS, files, "FILE",
           "file or folder, - for standard input; may be repeated", OWN),
    OPTION("kustomize", 'k', OPTION_TEXT, kustomize, "FOLDER", "folder of a kustomization", OWN),
    OPTION("recursive", 'R', OPTION_BOOL, recursive, NULL, "read the folders in folders, too", OWN),
    OPTION("name", 0, OPTION_TEXT, name, "NAME",
           "name of the Spec; default: that of the Spec in the input", OWN),
    OPTION("order", 0, OPTION_TEXT, order, "waves|refs|none",
           "what becomes dependsOn: what annotations say (default), what is mounted or named, too, "
           "or nothing",
           OWN),
    OPTION("from", 0, OPTION_TEXT, from, "tfstate", "the input is a state file of Terraform", OWN),
    OPTION("schemas", 0, OPTION_TEXT, schemas, "FILE",
           "what `terraform providers schema -json` prints: what is computed is left out", OWN),
    OPTION("split", 0, OPTION_NUMBER, split, "N", "make N Specs, NAME-1 to NAME-N", OWN),
    OPTION("strict", 0, OPTION_BOOL, strict, NULL,
           "ask the API server, too, which checks it and keeps nothing", OWN),
    OPTION("dry-run", 0, OPTION_TEXT, dry_run, "none|server",
           "server: the API server checks it and keeps nothing", OWN),
    OPTION("watch", 'w', OPTION_BOOL, watch, NULL,
           "follow it: redrawn on a terminal, a line for each change in a pipe", OWN),
    OPTION("pods", 0, OPTION_BOOL, pods, NULL, "show the Pods that are not ready, and why", OWN),
    OPTION("events", 0, OPTION_BOOL, events, NULL, "show the events of the Spec", OWN),
    OPTION("failed", 0, OPTION_BOOL, failed, NULL, "only what is not ready", OWN),
    OPTION("full", 0, OPTION_BOOL, full, NULL, "show long values whole", OWN),
    OPTION("show-unchanged", 0, OPTION_BOOL, show_unchanged, NULL, "show what stays as it is, too",
           OWN),
    OPTION("detailed-exitcode", 0, OPTION_BOOL, detailed_exitcode, NULL,
           "exit with 2 if there are changes", OWN),
    OPTION("to-revision", 0, OPTION_NUMBER, to_revision, "N", "the revision to go back to", OWN),
    OPTION("destroy", 0, OPTION_BOOL, destroy, NULL, "show what a destroy would delete", OWN),
    OPTION("preview", 0, OPTION_BOOL, preview, NULL, "show the plan; nothing is changed", OWN),
    OPTION("yes", 'y', OPTION_BOOL, yes, NULL, "do not ask", OWN),
    OPTION("all", 0, OPTION_BOOL, all, NULL, "all that wait for approval in the namespace", OWN),
    OPTION("withdraw", 0, OPTION_BOOL, withdraw, NULL,
           "withdraw the request that waits for approval", OWN),
    OPTION("digest", 0, OPTION_TEXT, digest, "DIGEST", "the plan that is meant", OWN),
    OPTION("reason", 0, OPTION_TEXT, reason, "TEXT", "why, for people", OWN),
    OPTION("timeout", 0, OPTION_TIME, timeout, "TIME", "time to wait, such as 5m", OWN),
    OPTION("for", 0, OPTION_TEXT, for_what, "ready|finished|approval", "what to wait for", OWN),
    OPTION("service-account", 0, OPTION_TEXT, service_account, "NAME",
           "ServiceAccount of a Spec that is made from manifests", OWN),
    OPTION("field-manager", 0, OPTION_TEXT, field_manager, "NAME",
           "name under which the API server records the fields; default: kubectl-kusion", OWN),
    OPTION("force-conflicts", 0, OPTION_BOOL, force_conflicts, NULL,
           "take over fields that other managers have", OWN),
    OPTION("limit", 0, OPTION_NUMBER, limit, "N", "the latest N only", OWN),
    OPTION("previews", 0, OPTION_BOOL, previews, NULL, "previews, too", OWN),
    OPTION("plan", 0, OPTION_BOOL, plan, NULL, "the plan of each operation, too", OWN),
    OPTION("to", 0, OPTION_TEXT, to_id, "ID|FORMAT",
           "of a graph: only this resource and what it waits for; else: spec, manifests or kusion",
           OWN),
};
const size_t n_options = ARRAY_SIZE(option_table);

const struct option *option_find(const char *name, size_t length)
{
    for (size_t i = 0; i < n_options; i++)
        if (strlen(option_table[i].name) == length &&
            memcmp(option_table[i].name, name, length) == 0)
            return &option_table[i];
    return NULL;
}

const struct option *option_find_letter(char letter)
{
    for (size_t i = 0; i < n_options; i++)
        if (letter && option_table[i].letter == letter)
            return &option_table[i];
    return NULL;
}

#define invalid(error, ...) err_set(error, ERR_INVALID, "InvalidOption", __VA_ARGS__)

/* kubectl's --request-timeout takes a number of seconds, too. */
static int read_time(const char *name, const char *value, int64_t *ret, struct error *error)
{
    int64_t seconds, time = duration_parse(value);

    if (str_to_int64(value, &seconds) && seconds >= 0 && seconds < INT32_MAX)
        time = seconds * 1000;
    if (time < 0)
        return invalid(error, "--%s: \"%s\" is no time, such as 30s or 5m", name, value);
    *ret = time;
    return 0;
}

static int add_word(const struct option *option, const char *value, struct option_words *words,
                    struct error *error)
{
    if (words->count == OPTION_WORDS_MAX)
        return invalid(error, "--%s: given more than %d times", option->name, OPTION_WORDS_MAX);
    words->items[words->count++] = value;
    return 0;
}

int option_set(struct options *options, const struct option *option, const char *value,
               struct error *error)
{
    void *member = (char *)options + option->offset;

    switch (option->type) {
    case OPTION_BOOL:
        if (value && !str_equal(value, "true") && !str_equal(value, "false"))
            return invalid(error, "--%s: \"%s\" is neither true nor false", option->name, value);
        *(bool *)member = !value || str_equal(value, "true");
        return 0;
    case OPTION_TEXT:
        *(const char **)member = value;
        return 0;
    case OPTION_WORDS:
        return add_word(option, value, member, error);
    case OPTION_NUMBER:
        if (str_to_int64(value, member) && *(int64_t *)member > 0)
            return 0;
        return invalid(error, "--%s: \"%s\" is no number from 1", option->name, value);
    case OPTION_TIME:
        return read_time(option->name, value, member, error);
    }
    return 0;
}
